/* POST /job, sent by sonde job and sonde run. Keys: api/schema.h.
 * Request: {"begin": {"id": STRING, "other_id", "user", "uid": N, "pid": N, "cgroup", "cores_milli": N, "memory_bytes":
 * N, "start_ns": N, "source": "told"|"run", "pid_start_ns": N}}; only id is required. If the process started at another
 * time than pid_start_ns, it is another process, and the job is rejected. Or {"end": {"id": STRING, "end_ns": N,
 * "source": "told"|"run"}}. Or {"ask": {"id": STRING, "syscalls": "count"|"time"|"no"|"read"}}: starts or stops counting
 * its system calls, or reads the counts; begin may have this key, too.
 * Response: {"ok": true, "known": BOOL}, known: the job existed already; or {"ok": false, "error": STRING}. If system
 * calls were requested, also "counts": BOOL and, if false, "why": STRING; for "read" also "samples", see
 * api/syscalls_json.h. */
#ifndef SONDE_AGENT_JOB_POST_H
#define SONDE_AGENT_JOB_POST_H

#include "base/buf.h"
#include "jobs/jobs.h"

struct job_requester {
    uint32_t uid;
    bool is_privileged; /* root, or the agent's own user */
    bool has_pid;       /* the kernel reported its pid; a pid in the request is relative to the requester's namespace */
    uint32_t pid;       /* then its pid as seen by the agent; 0: not visible */
    uint64_t saved_ns;  /* the requests are from agent/saved_jobs.c, and the jobs ran at this time; 0: they are not */
    bool has_rebooted;  /* and the node was rebooted since */
};

/* Privileged requesters may declare any job. Others may declare only themselves as a run: source "run", and an id generated
 * by sonde run from start time and pid of the requesting process; and they may request system calls of their own jobs.
 * USAGE, DENIED, ABSENT (no such job), GONE (no such process), FULL, NOMEM: the response has a message. */
enum err job_post(struct jobs *jobs, const struct job_requester *requester, struct bytes body, struct buf *answer);

#endif
