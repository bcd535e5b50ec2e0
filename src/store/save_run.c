/* Files a run: everything in one transaction that takes the write lock at its beginning. What can be computed before the
 * lock is held is computed before. */
#include "store/store.h"

#include "store/saving.h"
#include "store/migrate.h"

#include <stdlib.h>

/* A newer Sonde may have migrated the store since it was opened. */
static enum err check_version(struct filing *filing)
{
    int version;
    enum err err = migrate_version(filing->store, &version);
    if (err != OK || version == migration_count)
        return err;
    return db_say(filing->store, USAGE, "the store %s was changed by another version of Sonde in the meantime. Try again",
                  filing->store->path);
}

static enum err write_all(struct filing *filing)
{
    int64_t old_job = 0;
    enum err err = check_version(filing);
    if (err == OK)
        err = file_run_remove(filing, &old_job);
    if (err == OK)
        err = file_run(filing);
    if (err == OK)
        err = file_processes(filing);
    if (err == OK)
        err = file_threads(filing);
    if (err == OK)
        err = file_events(filing);
    if (err == OK)
        err = file_series(filing);
    if (err == OK)
        err = file_job(filing, filing->job);
    if (err == OK && old_job && old_job != filing->job)
        err = file_job(filing, old_job);
    return err;
}

/* What was written into the log by then is given back, so that a full disk is not fuller than before. */
static void roll_back(struct store *store, enum err err)
{
    db_roll_back(store);
    if (err == FULL)
        db_checkpoint(store);
}

static enum err transact(struct filing *filing)
{
    enum err err = db_write_begin(filing->store);
    if (err != OK)
        return err;
    err = write_all(filing);
    if (err == OK)
        err = db_exec(filing->store, "write", "COMMIT");
    if (err != OK)
        roll_back(filing->store, err);
    else if (filing->store->wal_frames >= DB_LOG_FRAMES_MAX)
        db_checkpoint(filing->store);
    return err;
}

enum err store_file(struct store *store, const struct run *run)
{
    struct filing filing = { .store = store, .run = run };
    if (store->mode != STORE_WRITE)
        return db_say(store, USAGE, "the store %s was opened for reading only", store->path);
    if (!run->id.size)
        return db_say(store, USAGE, "cannot file a run that has no id");
    enum err err = summary_executables_of_run(&filing.executables, run);
    if (err == OK) {
        summary_of_run(&filing.summary, run);
        filing.executable_rows = calloc(filing.executables.count + 1, sizeof *filing.executable_rows);
        err = filing.executable_rows ? transact(&filing) : NOMEM;
    }
    if (err == NOMEM)
        db_say(store, NOMEM, "cannot file a run of %zu processes: out of memory", run->process_count);
    free(filing.executable_rows);
    summary_executables_clear(&filing.executables);
    return err;
}
