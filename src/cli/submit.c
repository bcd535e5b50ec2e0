/* sonde submit: saves spools that are left over because sonde run was killed or could not reach the job database. */
#include "cli/command_store.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/utf8.h"
#include "merge/submit.h"
#include "report/terminal.h"
#include "run/run_segments.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINE_MAX_BYTES 16384
#define PROGRESS_NS (100 * NS_PER_MS)

struct submit_settings {
    bool keep;
};

struct submission {
    const struct command_call *call;
    struct store *store;
    bool keep, shows_progress;
    uint64_t shown_ns;
    size_t saved, failed;
    uint64_t processes;
};

static const char *ending(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static const char *ending_es(uint64_t count)
{
    return count == 1 ? "" : "es";
}

static void clear_progress(const struct submission *s)
{
    if (s->shows_progress && s->shown_ns)
        fputs("\r\033[K", stderr);
}

static void show_progress(struct submission *s)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (!s->shows_progress || now_ns - s->shown_ns < PROGRESS_NS)
        return;
    s->shown_ns = now_ns;
    fprintf(stderr, "\r\033[Ksaving: %s spool%s, %s processes so far", format_count(s->saved).s, ending(s->saved),
            format_count(s->processes).s);
    fflush(stderr);
}

static void add_gaps(struct buf *line, const struct submitted *result)
{
    const struct run_gaps *gaps = &result->gaps;
    if (gaps->bytes_damaged)
        buf_printf(line, "; %s damaged and skipped", format_bytes(gaps->bytes_damaged).s);
    if (gaps->records_lost)
        buf_printf(line, "; %s record%s could not be written", format_count(gaps->records_lost).s,
                   ending(gaps->records_lost));
    if (gaps->events_lost)
        buf_printf(line, "; %s kernel event%s lost", format_count(gaps->events_lost).s, ending(gaps->events_lost));
    if (result->running && !result->is_alive)
        buf_add_text(line, "; some processes were still running");
    if (result->is_alive)
        buf_add_text(line, "; some processes are still running: submit it again when they have exited");
}

static void print_saved(const struct submission *s, const char *path, const struct submitted *result)
{
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    utf8_add_fit(&line, bytes_of(result->job_id), sizeof result->job_id, true);
    buf_printf(&line, ": %s process%s, %s thread%s", format_count(result->processes).s, ending_es(result->processes),
               format_count(result->threads).s, ending(result->threads));
    add_gaps(&line, result);
    if (s->keep || result->is_alive) {
        buf_add_text(&line, "; kept ");
        utf8_add_fit(&line, bytes_of(path), PATH_MAX, true);
    }
    buf_add_char(&line, '\n');
    command_print(s->call, &line);
    buf_clear(&line);
}

static void print_failed(struct submission *s, const char *path, enum err err, const struct submitted *result)
{
    if (err == AGAIN && result->lock_error)
        command_fail(s->call, "skipped %s: cannot find out whether it is still being written (locking it: %s). If its "
                              "sonde run has exited, copy it to a local disk and submit the copy", path,
                     strerror(result->lock_error));
    else if (err == AGAIN)
        command_fail(s->call, "skipped %s: it is still being written; try again when its sonde run has exited", path);
    else if (err == CORRUPT)
        command_fail(s->call, "skipped %s: it is not a spool, or the description of its run is missing", path);
    else if (result->is_foreign)
        command_fail(s->call, "skipped %s: its run is another user's than the owner of the file", path);
    else if (err == ABSENT || err == DENIED || err == NOMEM)
        command_fail(s->call, "cannot read %s: %s", path, err_text(err));
    else
        command_fail(s->call, "cannot save %s: %s. The spool is kept; fix the problem and try again.", path,
                     store_message(s->store));
}

static void on_spool(void *context, const char *path, enum err err, const struct submitted *result)
{
    struct submission *s = context;
    clear_progress(s);
    if (err) {
        s->failed++;
        print_failed(s, path, err, result);
    } else {
        s->saved++;
        s->processes += result->processes;
        print_saved(s, path, result);
    }
    show_progress(s);
}

/* The default of sonde run. */
static void default_dir(char dir[PATH_MAX])
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp || tmp[0] != '/')
        tmp = "/tmp";
    snprintf(dir, PATH_MAX, "%s/sonde-%u/spool", tmp, (unsigned)geteuid());
}

static int submit_left_over(struct submission *s)
{
    char dir[PATH_MAX];
    default_dir(dir);
    enum err err = submit_dir(s->store, dir, s->keep, on_spool, s);
    if (err == ABSENT && !s->failed) {
        struct buf line;
        buf_init(&line, LINE_MAX_BYTES);
        buf_printf(&line, "Nothing to submit: no spools in %s.\n", dir);
        int status = command_print(s->call, &line);
        buf_clear(&line);
        return status;
    }
    if (err && !s->failed)
        command_fail(s->call, "cannot read %s: %s", dir, err_text(err));
    return err ? EXIT_FAILED : EXIT_GOOD;
}

static int submit_named(struct submission *s)
{
    int status = EXIT_GOOD;
    for (int i = 0; i < s->call->count; i++) {
        size_t failed = s->failed;
        enum err err = submit_dir(s->store, s->call->operands[i], s->keep, on_spool, s);
        if (!err)
            continue;
        status = EXIT_FAILED;
        if (s->failed > failed)
            continue;
        if (err == ABSENT && access(s->call->operands[i], F_OK) == 0)
            command_fail(s->call, "no spools (*.spool) in %s", s->call->operands[i]);
        else
            command_fail(s->call, "cannot read %s: %s", s->call->operands[i], err_text(err));
    }
    return status;
}

/* The database may exceed the file size limit of this process. Where the limit cannot be raised, SQLite reports an
 * error instead of a signal ending us. */
static void lift_file_size(void)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static int submit_run(const struct command_call *call)
{
    const struct submit_settings *settings = call->settings;
    struct submission s = { .call = call, .keep = settings->keep, .shows_progress = isatty(STDERR_FILENO) };
    lift_file_size();
    if (!command_store_open(call, STORE_WRITE, &s.store))
        return EXIT_FAILED;
    run_segments_recover();
    int status = call->count ? submit_named(&s) : submit_left_over(&s);
    clear_progress(&s);
    store_close(&s.store);
    return status;
}

static const struct option submit_options[] = {
    { .letter = 'k', .name = "keep", .type = OPTION_FLAG, .offset = offsetof(struct submit_settings, keep),
      .help = "Keep the spools; submitting one again replaces its run" },
    OPTION_END,
};

static const struct command_fact submit_examples[] = {
    { "sonde submit", "save everything left over on this node" },
    { "sonde submit /scratch/job42/spool", "save what 'sonde run -o /scratch/job42/spool' left" },
    { "sonde submit -k node*/", "save spools gathered from several nodes, and keep them" },
    { 0 },
};

static const struct command_fact submit_environment[] = {
    { "TMPDIR", "Default location of spools: $TMPDIR/sonde-UID/spool, or below /tmp if it is not set." },
    { 0 },
};

const struct command command_submit = {
    .name = "submit",
    .about = "save the spools of interrupted runs",
    .usage = "[OPTIONS] [DIR]...",
    .description =
        "sonde run writes its records to a spool; when the command exits, the spool is saved in the job database and removed. "
        "If sonde run was killed, the node crashed or the database could not be written, the spool is kept, and sonde submit "
        "saves what it contains.\n\n"
        "DIR is a directory that is searched recursively for *.spool files, or such a file. Default: everything that this user's "
        "runs have left on this node. A spool whose sonde run is still active is skipped, and so is one that cannot be locked, "
        "as on some network file systems. A spool is removed once the database has it; submitting one twice does no harm. If "
        "sonde run was killed but its processes continue, they keep writing: the spool is saved as it is, and kept until sonde "
        "submit finds none of them running on this node.",
    .options = submit_options,
    .settings_size = sizeof(struct submit_settings),
    .shares = COMMAND_DB,
    .operands_min = 0,
    .operands_max = -1,
    .operand = "DIR",
    .examples = submit_examples,
    .environment = submit_environment,
    .see_also = "run list report",
    .run = submit_run,
};
