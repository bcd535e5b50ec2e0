/* Saves a spool to the job database, or sends it to the agent of this node. */
#include "cli/command_save.h"

#include "api/agent_client.h"
#include "api/schema.h"
#include "base/code_pages.h"
#include "net/json.h"
#include "base/log.h"
#include "base/shell.h"
#include "cli/command_store.h"
#include "merge/submit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX 4096

/* Quoted so that it can be pasted into a shell: directory names may contain spaces and quotes. */
static void log_kept_spool(const char *spool)
{
    struct buf word;
    buf_init(&word, 4 * PATH_MAX);
    shell_add_args(&word, bytes_of(spool));
    log_error("the spool is kept; save it later with: sonde submit %s", buf_text(&word));
    buf_clear(&word);
}

static void log_saved(const struct submitted *submitted, bool quiet)
{
    const struct run_gaps *gaps = &submitted->gaps;
    if (gaps->records_lost || gaps->bytes_damaged)
        log_warn("job %s is incomplete: %llu records could not be written and are lost. If the disk of the spool is full, "
                 "choose another directory with -o DIR.", submitted->job_id, (unsigned long long)gaps->records_lost);
    if (!quiet && isatty(STDERR_FILENO))
        log_warn("job %s saved; view it with 'sonde report'", submitted->job_id);
}

static bool is_for_agent(const struct command_call *call)
{
    const char *db = call->globals->db ? call->globals->db : getenv("SONDE_DB");
    return db && strcmp(db, STORE_AGENT) == 0;
}

/* Sends the open file along with its name, since the agent may have a different /tmp. It forwards the job to its
 * collector. */
static void send_to_agent(const char *spool, bool quiet, bool keep)
{
    struct buf body, answer;
    struct json json;
    int status = 0;
    buf_init(&body, 2 * PATH_MAX);
    buf_init(&answer, ANSWER_MAX);
    json_init(&json, &body);
    json_begin_object(&json);
    json_field_text(&json, "spool", spool);
    json_end_object(&json);
    json_end(&json);
    int fd = open(spool, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    enum err err = agent_client_post_fd(fd, API_PATH_RUN, (struct bytes){ body.data, body.size }, &answer, &status);
    if (fd >= 0)
        close(fd);
    if (!err && status == 200 && !keep)
        submit_remove(spool);
    if (err || status != 200) {
        log_error("the agent of this node rejected the job: %s", err ? err_text(err) : buf_text(&answer));
        log_kept_spool(spool);
    } else if (!quiet && isatty(STDERR_FILENO)) {
        log_warn("job passed to the agent, which forwards it to its collector");
    }
    buf_clear(&body);
    buf_clear(&answer);
}

void command_save_spool(const struct command_call *call, const char *spool, bool quiet, bool keep)
{
    struct store *store;
    struct merged merged;
    struct submitted submitted;
    if (is_for_agent(call)) {
        send_to_agent(spool, quiet, keep);
        return;
    }
    code_pages_release(); /* frees the code that recorded the job, before merging and saving need the memory */
    enum err err = submit_merge(&merged, spool, &submitted);
    if (err) {
        log_error("cannot read the spool: %s", err_text(err));
        log_kept_spool(spool);
        return;
    }
    if (!command_store_open(call, STORE_WRITE, &store)) {
        merge_clear(&merged);
        log_kept_spool(spool);
        return;
    }
    err = submit_save_clear(store, &merged, spool, keep);
    if (!err) {
        log_saved(&submitted, quiet);
    } else {
        log_error("cannot save the job: %s", store_message(store));
        log_kept_spool(spool);
    }
    store_close(&store);
}
