/* Saves spools to the job database, then removes them. */
#ifndef SONDE_MERGE_SUBMIT_H
#define SONDE_MERGE_SUBMIT_H

#include "merge/merge.h"
#include "store/store.h"

struct submitted {
    char job_id[128];
    uint64_t processes, threads;
    struct run_gaps gaps;
    bool running;   /* some processes had not exited */
    bool is_alive;  /* submit_dir: some processes are still running and writing; the spool is saved as it is, and kept */
    bool is_foreign; /* with DENIED: recorded by another user than the owner of the file */
    int lock_error; /* with AGAIN: errno if the lock cannot be tested; 0 if its sonde run is still writing */
};

/* First half of submit_spool: merges. Opening the store only afterwards keeps the peak memory of the two halves from
 * adding up. */
enum err submit_merge(struct merged *merged, const char *spool_path, struct submitted *result);

/* Second half: saves, removes the spool unless keep, and always clears merged. */
enum err submit_save_clear(struct store *store, struct merged *merged, const char *spool_path, bool keep);

/* Removes the files of a spool, and its directory if that is empty then. */
void submit_remove(const char *path);

/* Merges and saves one spool, then removes it, its .lost file and its empty directory unless keep. On failure nothing
 * is removed. */
enum err submit_spool(struct store *store, const char *spool_path, bool keep, struct submitted *result);

/* Submits every *.spool below dir (dir may also be a spool file). Calls each for every one; continues after errors and
 * returns the first. A spool whose sonde run was killed but whose processes are still running is saved and kept, to be
 * saved again when they have exited. AGAIN: sonde run is still writing, or the lock cannot be tested. ABSENT: there is
 * none. DENIED: not readable, or it states another user than the file's owner (unless that is root). */
enum err submit_dir(struct store *store, const char *dir, bool keep,
                    void (*each)(void *context, const char *path, enum err err, const struct submitted *result),
                    void *context);

#endif
