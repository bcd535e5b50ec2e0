/* Where the spool of a run stands: a folder that only its user can look into, a file that only the user can write. */
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
    char bell[PATH_MAX + 8];        /* where the probe rings; not made here */
    int fd;                         /* of the spool, for appending */
    bool made_dir;
    bool held;                      /* as spool_hold does it */
};

/* A name for a run that no other run, on whatever host, has had: "<host>.<time>-<pid>-<random>". */
void spool_dir_run_id(const char *host, char run_id[RUN_ID_MAX]);

/* What went wrong when it could not be made, and what to do about it, as parts of a sentence. */
const char *spool_dir_reason(enum err err);
const char *spool_dir_remedy(enum err err);

/* Makes folder and files. out_dir: where the user wants it, made with those above it; NULL:
 * ${TMPDIR:-/tmp}/sonde-UID/spool/<run>, whose parts must be the user's own and nobody else's to write to. On failure nothing
 * is left but what is above out_dir, and path_at_fault names what could not be made, is not safe (DENIED) or is no folder
 * (USAGE). */
enum err spool_dir_make(struct spool_dir *spool, const char *out_dir, const char *run_id, char path_at_fault[PATH_MAX]);

/* Removes the files and, when we made it, the folder. */
void spool_dir_remove(struct spool_dir *spool);

#endif
