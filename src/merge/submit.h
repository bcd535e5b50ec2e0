/* From the spool into the store, and only then away with the spool. */
#ifndef SONDE_MERGE_SUBMIT_H
#define SONDE_MERGE_SUBMIT_H

#include "merge/merge.h"
#include "store/store.h"

struct submitted {
    char job_id[128];
    uint64_t processes, threads;
    struct run_gaps gaps;
    bool running; /* some processes had not ended */
    bool is_alive; /* submit_dir: some still live and write; the spool is filed as it is, and kept */
    int lock_error; /* errno: with AGAIN, why it cannot be told whether its sonde run still writes; 0: it does */
};

/* The first half of submit_spool: merges. Memory of both halves does not add up when the store is opened between them. */
enum err submit_merge(struct merged *merged, const char *spool_path, struct submitted *result);

/* The second half: files, removes the spool, and clears merged in any case. */
enum err submit_file_clear(struct store *store, struct merged *merged, const char *spool_path, bool keep);

/* The files of a spool, and its folder when that is empty then. */
void submit_remove(const char *path);

/* Merges and files one spool. Removes it, its .lost file and its empty folder afterwards unless keep. On failure
 * nothing is removed. */
enum err submit_spool(struct store *store, const char *spool_path, bool keep, struct submitted *result);

/* Every *.spool below dir (dir itself may be a spool file). each is told of each; the first error is returned, but all
 * are tried. One whose sonde run was killed, and whose processes go on, is filed and kept, to be filed anew when they have
 * ended. AGAIN: its sonde run still writes, or that cannot be told. ABSENT when there is none. */
enum err submit_dir(struct store *store, const char *dir, bool keep,
                    void (*each)(void *context, const char *path, enum err err, const struct submitted *result),
                    void *context);

#endif
