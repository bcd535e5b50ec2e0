/* sonde export: the records of a job as CSV or JSON, for other programs. */
#include "cli/command_store.h"
#include "cli/export_extrap.h"

#include "report/export.h"
#include "report/export_series.h"

#include <stdlib.h>
#include <string.h>

enum export_what { WHAT_PROCESSES, WHAT_THREADS, WHAT_SERIES, WHAT_EVENTS, WHAT_JOBS };

struct export_settings {
    int what, format; /* enum export_what; enum row_writer_format */
    const char *output, *set, *node;
    bool callpath;
};

#define FORMAT_EXTRAP (ROW_WRITER_JSONL + 1)

static const char *shown_output(const struct export_settings *settings)
{
    return settings->output ? settings->output : "standard output";
}

static int check_result(const struct command_call *call, struct store *store, enum err err)
{
    switch (err) {
    case OK:
    case GONE: /* the reader has closed the pipe */
        return EXIT_GOOD;
    case ABSENT:
        return command_fail(call, "cannot write to %s: no such directory", shown_output(call->settings));
    case FULL:
    case DENIED:
    case NOMEM:
        return command_fail(call, "cannot write to %s: %s", shown_output(call->settings), err_text(err));
    default:
        return command_fail(call, "cannot export to %s: %s (%s)", shown_output(call->settings), err_text(err),
                            store_message(store));
    }
}

static int write_rows(const struct command_call *call, struct store *store, const struct store_job *job)
{
    const struct export_settings *settings = call->settings;
    enum row_writer_format format = (enum row_writer_format)settings->format;
    struct output stream;
    enum err err = output_open(&stream, settings->output);
    if (!err)
        switch (settings->what) {
        case WHAT_THREADS: err = export_threads(store, job, &stream, format); break;
        case WHAT_EVENTS: err = export_events(store, job, &stream, format); break;
        case WHAT_JOBS: err = export_jobs(store, job, &stream, format); break;
        default: err = export_processes(store, job, &stream, format); break;
        }
    int status = check_result(call, store, err);
    output_close(&stream);
    return status;
}

/* Applies our options to the sink. */
static enum err set_up(const struct sink *sink, void *state, const struct export_settings *settings)
{
    enum err err = setting_defaults(sink->settings, state);
    if (!err && settings->output)
        err = setting_apply(sink->settings, state, "path", settings->output);
    if (!err && settings->format == ROW_WRITER_CSV && settings->set)
        err = setting_apply(sink->settings, state, "set", settings->set);
    if (!err && settings->format == ROW_WRITER_JSONL)
        err = setting_apply(sink->settings, state, "lines", "yes");
    return err ? err : sink->open(state);
}

static int write_series(const struct command_call *call, struct store *store, const struct store_job *job)
{
    const struct export_settings *settings = call->settings;
    const struct sink *sink = sink_find(settings->format == ROW_WRITER_CSV ? "csv" : "json");
    size_t found = 0;
    void *state = calloc(1, sink->state_size);
    enum err err = state ? set_up(sink, state, settings) : NOMEM;
    if (err) {
        free(state);
        return check_result(call, store, err);
    }
    struct export_choice choice = { .job = job, .node = settings->node, .set = settings->set };
    err = export_series(store, &choice, sink, state, &found);
    int status = check_result(call, store, err ? err : sink->flush(state, 0));
    if (!err && found == 0 && settings->node)
        status = command_fail(call, "no data of node %s%s%s in the job database; agents and collectors with the sink "
                                    "'store' save it there", settings->node, settings->set ? ", set " : "",
                              settings->set ? settings->set : "");
    else if (!err && found == 0 && settings->set)
        status = command_fail(call, "job %s has no set %s; leave out --set to export all sets", job->job_id,
                              settings->set);
    sink->close(state);
    free(state);
    return status;
}

static int write_job(const struct command_call *call, struct store *store)
{
    const struct export_settings *settings = call->settings;
    struct store_job job;
    if (settings->node)
        return write_series(call, store, NULL);
    if (settings->what == WHAT_JOBS && call->count == 0)
        return write_rows(call, store, NULL);
    if (!command_store_job(call, store, call->operands[0], &job))
        return EXIT_FAILED;
    int status = settings->what == WHAT_SERIES ? write_series(call, store, &job) : write_rows(call, store, &job);
    store_job_clear(&job);
    return status;
}

/* Options that would be ignored silently. NULL: none. */
static const char *ignored_option(const struct export_settings *settings)
{
    bool extrap = settings->format == FORMAT_EXTRAP;
    if (settings->callpath && !extrap)
        return "--callpath requires --format extrap";
    if (extrap && (settings->what != WHAT_PROCESSES || settings->set || settings->node))
        return "--format extrap exports program metrics; it cannot be combined with --what, --set or --node";
    if (settings->set && settings->what != WHAT_SERIES)
        return "--set requires --what series";
    return NULL;
}

static int export_run(const struct command_call *call)
{
    const struct export_settings *settings = call->settings;
    struct store *store;
    const char *wrong = ignored_option(settings);
    if (wrong)
        return command_usage_error(call, "%s", wrong);
    if (settings->format == FORMAT_EXTRAP)
        return export_extrap(call, settings->output, settings->callpath);
    if (call->count > 1)
        return command_usage_error(call, "several jobs are only possible with --format extrap");
    if (settings->node && (settings->what != WHAT_SERIES || call->count))
        return command_usage_error(call, "--node requires --what series and no job");
    if (!command_store_open(call, STORE_READ, &store))
        return EXIT_FAILED;
    int status = write_job(call, store);
    store_close(&store);
    return status;
}

#define AT(field) .offset = offsetof(struct export_settings, field)
static const struct option export_options[] = {
    { .letter = 'w', .name = "what", .argument = "TABLE", .type = OPTION_CHOICE, AT(what), .initial = "processes",
      .choices = OPTION_CHOICES(WHAT_JOBS, "processes", "threads", "series", "events", "jobs"), .help = "Table to export" },
    { .letter = 'f', .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format), .initial = "csv",
      .choices = OPTION_CHOICES(FORMAT_EXTRAP, "csv", "json", "jsonl", "extrap"),
      .help = "Output format; jsonl is one object per line, extrap is input for Extra-P's scaling models" },
    { .letter = 'o', .name = "output", .argument = "FILE", .type = OPTION_TEXT, AT(output),
      .help = "Write to FILE instead of standard output" },
    { .name = "set", .argument = "SET", .type = OPTION_TEXT, AT(set),
      .help = "With --what series: only this metric set; as CSV with one row per sample and one column per metric" },
    { .name = "node", .argument = "HOST", .type = OPTION_TEXT, AT(node),
      .help = "With --what series: the series of this node, instead of those of a job" },
    { .letter = 'c', .name = "callpath", .type = OPTION_FLAG, AT(callpath),
      .help = "With --format extrap: with call paths and kinds of metrics" },
    OPTION_END,
};

static const struct command_fact export_examples[] = {
    { "sonde export > processes.csv", "the processes of the last job" },
    { "sonde export -w threads -f json 1234 | jq length", "the number of threads of job 1234" },
    { "sonde export -w series --set tree -o timeline.csv", "CPU and memory of the last job over time" },
    { "sonde export -w series --node n17 --set meminfo", "the memory of node n17, as saved by a collector" },
    { "sonde export -w jobs -o jobs.csv", "all jobs, one row each" },
    { "sonde export -f extrap 17 18 19 > model.jsonl", "three jobs of different sizes, for Extra-P" },
    { "sonde export -f extrap -c ~/.tauproxy", "the same for all profiles of tau below a directory" },
    { 0 },
};

const struct command command_export = {
    .name = "export",
    .about = "export the records of a job as CSV or JSON",
    .usage = "[OPTIONS] [JOB]...",
    .description =
        "Exports what was recorded of JOB: a job id, or a unique prefix of one. Default: the last job (for the table jobs: all "
        "jobs). The tables are:\n\n"
        "  processes   one row per process image, parents first; host and user come\n"
        "              last; user is empty unless it is the one who started the run\n"
        "  threads     one row per thread\n"
        "  series      what was sampled while the job ran, one row per value\n"
        "  events      perf events, one row per process and event (without tid), and\n"
        "              one per thread where a process had several\n"
        "  jobs        one row per job, with the sums over its processes\n\n"
        "Times are in ns since 1970. Other columns have papiex's names and units: usertime in us, rssmax in KB, rchar in bytes. "
        "Missing values are empty fields in CSV and missing keys in JSON.\n\n"
        "CSV follows RFC 4180, in UTF-8. Arguments are quoted for the shell; bytes that are not UTF-8 are written as \\xNN. "
        "JSON keeps such bytes: a string that is not UTF-8 has a second key, ending in _base64.\n\n"
        "--format extrap exports the program metrics (MPI calls, system calls, the programs' own counters) of several jobs, or "
        "of tau profiles if a file or directory is given: one line of JSON per job and metric. The size of a job is the number "
        "of its MPI ranks, else the value of its tag 'ranks', else its cores. Failed and unfinished jobs are left out with a "
        "warning; metrics missing from a job are written as 0. Default: all jobs with the same name as the last one.",
    .options = export_options,
    .settings_size = sizeof(struct export_settings),
    .shares = COMMAND_DB,
    .operands_max = -1,
    .operand = "JOB",
    .examples = export_examples,
    .see_also = "list ps report",
    .run = export_run,
};
