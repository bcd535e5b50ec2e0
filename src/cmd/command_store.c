/* Opens the store for a command, finds the job that was asked for; says what to do when that fails. */
#include "cmd/command_store.h"

#include <stdlib.h>

/* What to do about a store that does not open. */
static const char *remedy(enum err err)
{
    switch (err) {
    case DENIED: return "Choose another with --db or SONDE_DB, or ask for the permission.";
    case CORRUPT: return "Move it away, or name another with --db or SONDE_DB.";
    case USAGE: return "Use that newer sonde, or name another database with --db or SONDE_DB.";
    case FULL: return "Make room, then try again.";
    case AGAIN: return "Another program holds it; try again when that has ended.";
    default: return "Name another with --db or SONDE_DB.";
    }
}

static void explain_store(const struct command_call *call, enum err err, const char *path, const char *message)
{
    if (err == ABSENT)
        command_fail(call, "no job yet: 'sonde run -- CMD' makes the first one (there is no database %s)", path);
    else
        command_fail(call, "cannot open the job database %s: %s. %s", path, message ? message : err_text(err), remedy(err));
}

bool command_store_open(const struct command_call *call, enum store_mode mode, struct store **store)
{
    char path[4096], *message = NULL;
    const char *db = call->globals->db;
    *store = NULL;
    if (!db && store_default_path(path, sizeof path)) {
        command_fail(call, "no place for the job database: HOME is not set. Name one with --db or SONDE_DB.");
        return false;
    }
    enum err err = store_open(store, db, mode, &message);
    if (err)
        explain_store(call, err, db ? db : path, message);
    free(message);
    if (err)
        store_close(store);
    return !err;
}

bool command_store_job(const struct command_call *call, struct store *store, const char *job_id, struct store_job *job)
{
    enum err err = store_job(store, job_id, job);
    if (!err)
        return true;
    if (err == ABSENT && job_id)
        command_fail(call, "there is no job %s; 'sonde list' shows those that are there", job_id);
    else if (err == ABSENT)
        command_fail(call, "no job yet: 'sonde run -- CMD' makes the first one");
    else if (err == USAGE)
        command_fail(call, "several jobs begin with %s; write more of the id ('sonde list' shows them)", job_id);
    else
        command_fail(call, "cannot read the job: %s", store_message(store));
    return false;
}
