/* Detects unprobed processes: those of the job that do not have the probe loaded (static or set-uid executables,
 * another libc, a cleaned environment, another root).
 *
 * Why it matters: the probe records the programs that a process executes. For an unprobed process only /proc/PID can
 * tell, and only while it lives. So as long as there are unprobed processes, sonde run must wake up at every exec
 * event to read /proc. Otherwise it sleeps, since waking up for each exec would slow the job down.
 *
 * There are two ways to find out:
 *   1. Notices. Before a process executes a program that will not load the probe, the probe writes a struct
 *      probe_notice to a FIFO (probe/process/unprobed.c). This is immediate, and covers nearly all cases.
 *   2. Candidates. Each process that calls exec is a candidate, since the notice may be missing (exec past libc,
 *      another root). If the probe's record of the new image appears in the spool, the process has the probe. If none
 *      has appeared after PATIENCE_NS and the process is still alive, it is unprobed. A forked copy of an unprobed
 *      process is a candidate too: it is resolved together with its parent.
 *
 * A wrong guess costs time, but no data: the records of both sources are merged later (src/merge). */
#ifndef SONDE_RUN_UNPROBED_H
#define SONDE_RUN_UNPROBED_H

#include "run/members.h"
#include "spool/probe_env.h"

#define UNPROBED_CANDIDATES_MAX 1024
#define UNPROBED_NOTICES_MAX 256

/* A process that called exec, or was forked by an unprobed one: is the probe loaded? */
struct unprobed_candidate {
    uint32_t pid, copy_of; /* copy_of: forked by this process, without exec since; 0: has called exec */
    uint64_t since_ns;
    uint64_t before_ns; /* time of its previous exec */
};

struct unprobed {
    int notices_fd;   /* -1: this run does not use the probe, all processes are unprobed */
    int spool_fd;  /* borrowed */
    char path[4096 + 8];
    uint64_t at;   /* where the next reading of the spool starts */
    uint64_t end;  /* where it ends: see unprobed_mark_spool_end */
    uint64_t old_end; /* the end of the reading before */
    struct unprobed_candidate candidates[UNPROBED_CANDIDATES_MAX];
    size_t count;
    struct probe_notice notices[UNPROBED_NOTICES_MAX]; /* read from the FIFO, not applied yet */
    size_t notice_count;
};

/* Creates the FIFO at path. Borrows spool_fd, which must be readable. */
enum err unprobed_open(struct unprobed *unprobed, const char *path, int spool_fd);
void unprobed_close(struct unprobed *unprobed);

/* Call before kernel events are read: the exec of each image that is in the spool by now is then among the events,
 * so its candidate exists. A complete exec record is written even before the exec event; so records since the
 * previous mark are read again for new candidates. */
void unprobed_mark_spool_end(struct unprobed *unprobed);

/* The sender of a notice was created before it: read notices first, then fork events, then apply the notices.
 * Notices of unknown processes are kept, unless all fork events have been read (all_known). */
void unprobed_read_notices(struct unprobed *unprobed);
void unprobed_apply_notices(struct unprobed *unprobed, struct run_members *members, bool all_known);

/* A member has called exec: it may have the probe now, or no longer. is_copy: it was forked by an unprobed process
 * instead. */
void unprobed_add_candidate(struct unprobed *unprobed, struct run_members *members, struct run_member *member,
                            uint64_t time_ns, bool is_copy);

/* Reads the spool up to the mark and resolves candidates. found: called for each process that turns out to be
 * unprobed. */
void unprobed_check_spool(struct unprobed *unprobed, struct run_members *members, uint64_t now_ns,
               void (*found)(void *context, struct run_member *member), void *context);

#endif
