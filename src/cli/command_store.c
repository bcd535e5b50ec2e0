/* Opens the store for a command, finds the job that was asked for; says what to do when that fails. */
#include "cli/command_store.h"

#include "store/driver.h"

#include <stdlib.h>

/* The store's own message says what to do; a store that is not there yet needs only a first job. */
static void explain(const struct command_call *call, enum store_mode mode, enum err err, const char *message)
{
    char path[4096] = "";
    const char *db = call->globals->db;
    if (!db && store_default_path(path, sizeof path) == OK)
        db = path;
    bool is_url = db && driver_is_url(db); /* which may hold a password: its message does not */
    if (err == ABSENT && mode == STORE_READ && !is_url)
        command_fail(call, "no job yet: 'sonde run -- CMD' makes the first one (there is none in %s)", db ? db : "the store");
    else if (message)
        command_fail(call, "%s", message);
    else
        command_fail(call, "cannot %s the store %s: %s", mode == STORE_READ ? "open" : "make", db && !is_url ? db : "",
                     err_text(err));
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
        command_fail(call, "the id of the job is empty; 'sonde list' shows those that are there, and without one it is the last");
    else if (err == ABSENT && job_id)
        command_fail(call, "there is no job %s; 'sonde list' shows those that are there", job_id);
    else if (err == ABSENT)
        command_fail(call, "no job yet: 'sonde run -- CMD' makes the first one");
    else if (err == USAGE)
        command_fail(call, "several jobs begin with %s; write more of the id ('sonde list' shows them)", job_id);
    else
        command_fail(call, "cannot read the job: %s", store_message(store));
    return false;
}
