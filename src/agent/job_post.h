/* What sonde job and sonde run tell an agent: the body of POST /job, and the answer.
 *
 * Comes in: {"begin": {"id": TEXT, "other_id": TEXT, "user": TEXT, "uid": N, "pid": N, "cgroup": TEXT, "cores_milli": N,
 * "memory_bytes": N, "start_ns": N, "source": "told"|"run", "pid_start_ns": N, "kept": 1}}, all but id may be left out; a process
 * that began at another time than pid_start_ns is another one, and there is no such job; nor is there one that an agent before
 * this one has kept and whose cgroup has gone; or
 * {"end": {"id": TEXT, "end_ns": N, "source": "told"|"run"}}, or
 * {"ask": {"id": TEXT, "syscalls": "count"|"time"|"no"}}: its system calls shall be counted; begin may have this field too;
 * "read": what was counted of them is wanted.
 *
 * Goes out: {"ok": true, "known": BOOL}, known: the job was there already; or {"ok": false, "error": TEXT}. Where system
 * calls were asked for also "counts": BOOL and, where they are not, "why": TEXT; read: "samples", see
 * api/syscalls_json.h. */
#ifndef SONDE_AGENT_JOB_POST_H
#define SONDE_AGENT_JOB_POST_H

#include "base/buf.h"
#include "jobs/jobs.h"

struct job_teller {
    uint32_t uid;
    bool is_master; /* root, or the agent's own user */
    bool is_here;   /* the kernel has said which process it is: a pid that it tells is one of where it lives, of a run its own */
    uint32_t pid;   /* then its number as we see it; 0: we do not */
};

/* Root and the agent's own user (is_master) may tell anything. Anybody else may tell of what they run themselves: a job
 * with source "run", an id that sonde run has made of the time and the pid, and a process of their own; and may ask for
 * system calls of a job that is theirs.
 * USAGE, DENIED, ABSENT (no such job), GONE (no such process), FULL, NOMEM: the answer says it too. */
enum err job_post(struct jobs *jobs, const struct job_teller *teller, struct bytes body, struct buf *answer);

#endif
