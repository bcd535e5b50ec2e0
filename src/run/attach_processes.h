/* The processes of an attachment, from when they are first seen to when they end or are let go: who they are, whose children,
 * what they have used meanwhile, how they ended. What becomes of them goes into the spool as records. Told either by the tracer,
 * in its process, or by ticks, where the kernel counts and tells nobody of processes. */
#ifndef SONDE_RUN_ATTACH_PROCESSES_H
#define SONDE_RUN_ATTACH_PROCESSES_H

#include "proc/children.h"
#include "proc/proc_connector.h"
#include "syscalls/tracer.h"
#include "run/proc_snapshot.h"
#include "run/spool_writer.h"

/* Zeroed, but for the first two. */
struct attach_processes {
    struct proc_snapshot_reader *reader; /* borrowed */
    struct spool_writer *writer;        /* borrowed; flushed after each of the calls below */
    struct attach_process *list;
    size_t count, room;
    bool has_events;      /* of beginnings and ends, by the three calls below */
    bool has_taskstats; /* and what they used, of which taskstats tell */
};

void attach_processes_clear(struct attach_processes *processes);

/* For the tracer; borrows lives. */
struct tracer_listener attach_processes_tracer(struct attach_processes *processes);

/* The processes that are there now, those of the first time being older than the attachment. Who was there before and is not any
 * more has ended: how is asked of the kernel, which knows it from Linux 6.15 on. */
void attach_processes_tick(struct attach_processes *processes, const struct pidlist *pids);

/* The kernel's events, where they are heard: somebody was made, has executed something, has ended; and when all that there were
 * have been told. made: true when it is a process that is ours and younger than the attachment, or a thread of one. */
bool attach_processes_forked(struct attach_processes *processes, const struct proc_connector_event *event);
void attach_processes_execed(struct attach_processes *processes, const struct proc_connector_event *event);
void attach_processes_exited(struct attach_processes *processes, const struct proc_connector_event *event);
void attach_processes_taskstats(struct attach_processes *processes, const struct taskstats_record *record); /* of one that was there before */
void attach_processes_events_done(struct attach_processes *processes);

/* What those that live on have used; nothing comes behind it. */
void attach_processes_finish(struct attach_processes *processes);

/* How a process ended that is being waited for or, by its pidfd, was. False: not known. Status as from wait4. */
bool attach_processes_status(const struct attach_processes *processes, pid_t pid, int pidfd, int *status);

#endif
