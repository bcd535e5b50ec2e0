/* What /proc has about a running process: for processes without the probe. */
#ifndef SONDE_RUN_PROC_SNAPSHOT_H
#define SONDE_RUN_PROC_SNAPSHOT_H

#include "base/buf.h"
#include "model/counters.h"

/* One process. Strings belong to the reader and are valid until its next call. What could not be read is empty or
 * unknown. */
struct proc_snapshot {
    bool stat_known; /* ppid, pgid, sid, start_ticks, threads, name */
    bool uid_known;
    bool is_zombie;     /* ended, but not reaped */
    bool is_leaderless; /* the main thread has ended, others are running */
    uint32_t pid, ppid, pgid, sid, uid, threads;
    uint64_t start_ticks;
    struct bytes path, args, cwd, name; /* args: NUL after each */
    struct counters stat_counters;      /* from the stat line alone */
};

struct proc_snapshot_reader {
    int proc_fd;
    bool real; /* the /proc of this node, not a captured one */
    struct buf stat, path, args, cwd, status;
};

/* root: prefix of /proc, "" for the real one. */
enum err proc_snapshot_open(struct proc_snapshot_reader *reader, const char *root);
void proc_snapshot_close(struct proc_snapshot_reader *reader);

/* Identity: stat, exe, cmdline, cwd and owner. known_uid: its expected user, UINT32_MAX: unknown; avoids reading the
 * expensive status file. GONE: no such process. */
enum err proc_snapshot_read(struct proc_snapshot_reader *reader, uint32_t pid, uint32_t known_uid,
                            struct proc_snapshot *snapshot);

/* What it executes, without the stat line: cmdline, exe, cwd, owner, group and session. Half as expensive as
 * proc_snapshot_read. */
enum err proc_snapshot_read_image(struct proc_snapshot_reader *reader, uint32_t pid, uint32_t known_uid,
                                  struct proc_snapshot *snapshot);

/* Its user for records: RECORD_UID_UNKNOWN if it could not be read. */
uint32_t proc_snapshot_uid(const struct proc_snapshot *snapshot);

/* The stat line alone: parent, state, threads. GONE: no such process. */
enum err proc_snapshot_read_stat(struct proc_snapshot_reader *reader, uint32_t pid, struct proc_snapshot *snapshot);

/* Exit status, as from wait4, of a process that has not been reaped. GONE: no such process; AGAIN: it has not ended;
 * DENIED: not visible to this user. */
enum err proc_snapshot_read_zombie(struct proc_snapshot_reader *reader, uint32_t pid, int *status);

/* What a running process has used so far. whole: none of its threads has ended, so that sums over its threads (I/O,
 * context switches) are those of the process. */
void proc_snapshot_counters(struct proc_snapshot_reader *reader, uint32_t pid, bool whole, struct counters *counters);

/* Calls `each` for every process of the node. */
enum err proc_snapshot_each(struct proc_snapshot_reader *reader,
                            void (*each)(void *context, const struct proc_snapshot *snapshot), void *context);

/* Parses the contents of a stat file. CORRUPT: not one. */
enum err proc_snapshot_parse_stat(struct bytes line, struct proc_snapshot *snapshot);

#endif
