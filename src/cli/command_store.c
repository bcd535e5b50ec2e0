/* Opens the job database for a command and finds the requested job; errors come with a suggested fix. */
#include "cli/command_store.h"

#include "store/driver.h"

#include <stdlib.h>

/* The store's own message has the details; a database that does not exist yet only needs a first job. */
static void explain(const struct command_call *call, enum store_mode mode, enum err err, const char *message)
{
    char path[4096] = "";
    const char *db = call->globals->db;
    if (!db && store_default_path(path, sizeof path) == OK)
        db = path;
    bool is_url = db && driver_is_url(db); /* may contain a password, so it is not printed */
    if (err == ABSENT && mode == STORE_READ && !is_url)
        command_fail(call, "no jobs recorded yet in %s; record one with 'sonde run -- COMMAND'",
                     db ? db : "the job database");
    else if (message)
        command_fail(call, "%s", message);
    else
        command_fail(call, "cannot %s the job database %s: %s", mode == STORE_READ ? "open" : "create",
                     db && !is_url ? db : "", err_text(err));
}

bool command_store_open(const struct command_call *call, enum store_mode mode, struct store **store)
{
    char *message = NULL;
    enum err err = store_open(store, call->globals->db, mode, &message);
    if (err) {
        explain(call, mode, err, message);
        store_close(store);
    }
    free(message);
    return !err;
}

bool command_store_job(const struct command_call *call, struct store *store, const char *job_id, struct store_job *job)
{
    enum err err = job_id && !*job_id ? ABSENT : store_job(store, job_id, job);
    if (!err)
        return true;
    if (err == ABSENT && job_id && !*job_id)
        command_fail(call, "the job id is empty; 'sonde list' shows all jobs, and without an id the last one is used");
    else if (err == ABSENT && job_id)
        command_fail(call, "no job %s; 'sonde list' shows all jobs", job_id);
    else if (err == ABSENT)
        command_fail(call, "no jobs recorded yet; record one with 'sonde run -- COMMAND'");
    else if (err == USAGE)
        command_fail(call, "%s ('sonde list' shows all jobs)", store_message(store));
    else
        command_fail(call, "cannot read the job: %s", store_message(store));
    return false;
}
