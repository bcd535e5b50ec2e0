/* Creates the spool of a run: a directory that only its user can access, and a file that only the user can write. */
#ifndef SONDE_RUN_SPOOL_DIR_H
#define SONDE_RUN_SPOOL_DIR_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>

#define RUN_ID_MAX 256

struct spool_dir {
    char dir[PATH_MAX];             /* absolute */
    char spool[PATH_MAX];           /* dir/<run id>.spool */
    char lost[PATH_MAX + 8];        /* the count of records that could not be written */
    char notices[PATH_MAX + 8];        /* FIFO for notices of the probe; not created here */
    int fd;                         /* of the spool, for appending */
    bool created_dir;
    bool is_locked;                 /* spool_hold() holds the lock by which the probe recognises our pid namespace */
};

/* A globally unique name for a run: "<host>.<time>-<pid>-<random>". */
void spool_dir_run_id(const char *host, char run_id[RUN_ID_MAX]);

/* Why it could not be created, and what to do, as parts of a sentence. */
const char *spool_dir_reason(enum err err);
const char *spool_dir_fix(enum err err);

/* Creates directory and files. out_dir: chosen by the user, created with its parents; NULL:
 * ${TMPDIR:-/tmp}/sonde-UID/spool/<run>, each part of which must belong to the user and not be writable by others.
 * On failure everything but the parents of out_dir is removed, and failed_path is what could not be created, is not
 * safe (DENIED) or not a directory (USAGE). */
enum err spool_dir_create(struct spool_dir *spool, const char *out_dir, const char *run_id, char failed_path[PATH_MAX]);

/* Removes the files and, if we created it, the directory. */
void spool_dir_remove(struct spool_dir *spool);

#endif
