/* From a spool to the store, or to the agent of this node. */
#include "cli/command_save.h"

#include "net/http_client.h"
#include "net/json.h"
#include "base/log.h"
#include "base/install_paths.h"
#include "base/shell.h"
#include "cli/command_store.h"
#include "merge/submit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX 4096

/* As one can paste it: folders have blanks and quotes in their names, too. */
static void tell_kept(const char *spool)
{
    struct buf word;
    buf_init(&word, 4 * PATH_MAX);
    shell_add_words(&word, bytes_of(spool));
    log_error("the spool is kept; file it later: sonde submit %s", buf_text(&word));
    buf_clear(&word);
}

static void tell_filed(const struct submitted *submitted, bool quiet)
{
    const struct run_gaps *gaps = &submitted->gaps;
    if (gaps->records_lost || gaps->bytes_damaged)
        log_warn("job %s has gaps: %llu records are lost, because they could not be written. If the disk of the spool is "
                 "full, give another folder with -o DIR.", submitted->job_id, (unsigned long long)gaps->records_lost);
    if (!quiet && isatty(STDERR_FILENO))
        log_warn("job %s is filed: see it with 'sonde report'", submitted->job_id);
}

static bool is_for_agent(const struct command_call *call)
{
    const char *db = call->globals->db ? call->globals->db : getenv("SONDE_DB");
    return db && strcmp(db, STORE_AGENT) == 0;
}

/* To the agent of this node, which sends it to its collector. The file goes with its name: the agent may have another /tmp. */
static void hand_over(const char *spool, bool quiet, bool keep)
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
    enum err err = ask_handing(fd, "/run", (struct bytes){ body.data, body.size }, &answer, &status);
    if (fd >= 0)
        close(fd);
    if (!err && status == 200 && !keep)
        submit_remove(spool);
    if (err || status != 200) {
        log_error("the agent of this node does not take the job: %s", err ? err_text(err) : buf_text(&answer));
        tell_kept(spool);
    } else if (!quiet && isatty(STDERR_FILENO)) {
        log_warn("the job is handed over to the agent, which sends it to its collector");
    }
    buf_clear(&body);
    buf_clear(&answer);
}

void command_file_spool(const struct command_call *call, const char *spool, bool quiet, bool keep)
{
    struct store *store;
    struct merged merged;
    struct submitted submitted;
    if (is_for_agent(call)) {
        hand_over(spool, quiet, keep);
        return;
    }
    self_forget_code(); /* that of the watching, before merging and filing need room */
    enum err err = submit_merge(&merged, spool, &submitted);
    if (err) {
        log_error("cannot read back the spool: %s", err_text(err));
        tell_kept(spool);
        return;
    }
    if (!command_store_open(call, STORE_WRITE, &store)) {
        merge_clear(&merged);
        tell_kept(spool);
        return;
    }
    err = submit_file_clear(store, &merged, spool, keep);
    if (!err) {
        tell_filed(&submitted, quiet);
    } else {
        log_error("cannot file the job: %s", store_message(store));
        tell_kept(spool);
    }
    store_close(&store);
}
