/* What /proc can tell of a process that runs now: for those that the probe may not be in. */
#ifndef SONDE_RUN_PROC_SNAPSHOT_H
#define SONDE_RUN_PROC_SNAPSHOT_H

#include "base/buf.h"
#include "model/counters.h"

/* One process as read. The texts live in the reader and are borrowed until its next call. What could not be read is
 * empty or not known. */
struct unseen {
    bool stat_known; /* ppid, pgid, sid, start_ticks, threads, name */
    bool uid_known;
    bool zombie;     /* ended, but nobody has waited for it */
    bool leaderless; /* its first thread has ended, and others go on */
    uint32_t pid, ppid, pgid, sid, uid, threads;
    uint64_t start_ticks;
    struct bytes path, args, cwd, name; /* args: NUL after each */
    struct counters stat_counters;      /* what the stat line alone tells of the process */
};

struct unseen_reader {
    int proc_fd;
    bool real; /* the /proc of this machine, not a captured one */
    struct buf stat, path, args, cwd, status;
};

/* root: of /proc, "" for the real one. */
enum err unseen_open(struct unseen_reader *reader, const char *root);
void unseen_close(struct unseen_reader *reader);

/* Identity: stat, exe, cmdline, cwd and owner. known_uid: what is believed of its user, UINT32_MAX: nothing; spares
 * reading the costly status file. GONE when the process is not there. */
enum err unseen_read(struct unseen_reader *reader, uint32_t pid, uint32_t known_uid, struct unseen *unseen);

/* What it executed, without the stat line: cmdline, exe, cwd, owner, group and session. Half as dear as unseen_read. */
enum err unseen_read_image(struct unseen_reader *reader, uint32_t pid, uint32_t known_uid, struct unseen *unseen);

/* Its user as records tell it: RECORD_UID_UNKNOWN where it could not be read. */
uint32_t unseen_uid(const struct unseen *unseen);

/* The stat line alone: parents, state, threads. GONE when the process is not there. */
enum err unseen_read_stat(struct unseen_reader *reader, uint32_t pid, struct unseen *unseen);

/* How a process ended that nobody has waited for yet: status as from wait4. GONE: it is not there; AGAIN: it has not ended;
 * DENIED: it is not ours to know. */
enum err unseen_read_zombie(struct unseen_reader *reader, uint32_t pid, int *status);

/* All that a process which still runs has used so far. whole: no thread of it has ended, so that what only threads tell
 * (I/O, context switches) is the process's too. */
void unseen_counters(struct unseen_reader *reader, uint32_t pid, bool whole, struct counters *counters);

/* Calls each for every process of the machine. */
enum err unseen_each(struct unseen_reader *reader, void (*each)(void *context, const struct unseen *unseen), void *context);

/* Fills from the bytes of a stat file: CORRUPT when they are not one. */
enum err unseen_parse_stat(struct bytes line, struct unseen *unseen);

#endif
