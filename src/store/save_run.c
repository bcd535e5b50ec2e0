/* Saves a run in one transaction that takes the write lock at its start. What can be computed before is computed
 * before. */
#include "store/store.h"

#include "store/save.h"
#include "store/migrate.h"

#include <stdlib.h>

/* A newer version of Sonde may have migrated the database since it was opened. */
static enum err check_version(struct saving *saving)
{
    int version;
    enum err err = migrate_version(saving->store, &version);
    if (err != OK || version == migration_count)
        return err;
    return db_error(saving->store, USAGE, "the job database %s was upgraded by another version of Sonde meanwhile; try again",
                    saving->store->path);
}

static enum err write_all(struct saving *saving)
{
    int64_t old_job = 0;
    enum err err = check_version(saving);
    if (err == OK)
        err = save_run_row_remove(saving, &old_job);
    if (err == OK)
        err = save_run_row_with_job(saving);
    if (err == OK)
        err = save_processes(saving);
    if (err == OK)
        err = save_threads(saving);
    if (err == OK)
        err = save_events(saving);
    if (err == OK)
        err = save_series(saving);
    if (err == OK)
        err = save_job(saving, saving->job);
    if (err == OK && old_job && old_job != saving->job)
        err = save_job(saving, old_job);
    return err;
}

/* Returns the space that the write-ahead log took, so that a full disk is not left fuller than before. */
static void roll_back(struct store *store, enum err err)
{
    db_roll_back(store);
    if (err == FULL)
        db_checkpoint(store);
}

static enum err transact(struct saving *saving)
{
    enum err err = db_write_begin(saving->store);
    if (err != OK)
        return err;
    err = write_all(saving);
    if (err == OK)
        err = db_exec(saving->store, "write", "COMMIT");
    if (err != OK)
        roll_back(saving->store, err);
    else if (saving->store->wal_frames >= DB_LOG_FRAMES_MAX)
        db_checkpoint(saving->store);
    return err;
}

enum err store_save_run(struct store *store, const struct run *run)
{
    struct saving saving = { .store = store, .run = run };
    if (store->mode != STORE_WRITE)
        return db_error(store, USAGE, "the job database %s was opened read-only", store->path);
    if (!run->id.size)
        return db_error(store, USAGE, "cannot save a run without an id");
    enum err err = summary_executables_of_run(&saving.executables, run);
    if (err == OK) {
        summary_of_run(&saving.summary, run);
        saving.executable_rows = calloc(saving.executables.count + 1, sizeof *saving.executable_rows);
        err = saving.executable_rows ? transact(&saving) : NOMEM;
    }
    if (err == NOMEM)
        db_error(store, NOMEM, "cannot save a run of %zu processes: out of memory", run->process_count);
    free(saving.executable_rows);
    summary_executables_clear(&saving.executables);
    return err;
}
