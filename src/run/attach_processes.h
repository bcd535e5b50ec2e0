/* The processes of an attachment, from when they are first seen until they end or are released: identity, parent,
 * resource usage and exit status, written to the spool as records. Driven by the tracer, in its process, or by
 * events and ticks if eBPF counts. */
#ifndef SONDE_RUN_ATTACH_PROCESSES_H
#define SONDE_RUN_ATTACH_PROCESSES_H

#include "proc/children.h"
#include "proc/proc_connector.h"
#include "syscalls/tracer.h"
#include "run/proc_snapshot.h"
#include "run/spool_writer.h"

/* Zero-initialise all but the first two. */
struct attach_processes {
    struct proc_snapshot_reader *reader; /* borrowed */
    struct spool_writer *writer;        /* borrowed; flushed by each of the functions below */
    struct attach_process *list;
    size_t count, capacity;
    bool has_events;      /* forks, execs and exits are reported through the functions below */
    bool has_taskstats; /* and usage, from taskstats */
};

void attach_processes_clear(struct attach_processes *processes);

/* Callbacks for the tracer; borrows processes. */
struct tracer_listener attach_processes_tracer(struct attach_processes *processes);

/* pids: the processes that exist now; those of the first call are older than the attachment. A process that is no
 * longer listed has ended; its status is known to the kernel since Linux 6.15. */
void attach_processes_tick(struct attach_processes *processes, const struct pidlist *pids);

/* Kernel events, where available; attach_processes_events_done after a batch of them. attach_processes_forked
 * returns true for a monitored process that is younger than the attachment, or a thread of one. */
bool attach_processes_forked(struct attach_processes *processes, const struct proc_connector_event *event);
void attach_processes_execed(struct attach_processes *processes, const struct proc_connector_event *event);
void attach_processes_exited(struct attach_processes *processes, const struct proc_connector_event *event);
/* of a process older than the attachment */
void attach_processes_taskstats(struct attach_processes *processes, const struct taskstats_record *record);
void attach_processes_events_done(struct attach_processes *processes);

/* Records the usage of the remaining processes; the last call. */
void attach_processes_finish(struct attach_processes *processes);

/* Exit status, as from wait4, of a zombie or, with its pidfd, of a reaped process. False: unknown. */
bool attach_processes_status(const struct attach_processes *processes, pid_t pid, int pidfd, int *status);

#endif
