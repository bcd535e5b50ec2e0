/* sonde export: what the store has of a job, as CSV or JSON, for other programs. */
#include "cli/command_store.h"
#include "cli/export_extrap.h"

#include "report/export.h"
#include "report/export_series.h"

#include <stdlib.h>
#include <string.h>

enum export_what { WHAT_PROCESSES, WHAT_THREADS, WHAT_SERIES, WHAT_EVENTS, WHAT_JOBS };

struct export_settings {
    int what, format; /* enum export_what; enum rows_format */
    const char *output, *set, *node;
    bool callpath;
};

#define FORMAT_EXTRAP 3 /* behind those of rows_format */

static const char *shown_output(const struct export_settings *settings)
{
    return settings->output ? settings->output : "standard output";
}

static int tell(const struct command_call *call, struct store *store, enum err err)
{
    switch (err) {
    case OK:
    case GONE: /* the reader had enough */
        return EXIT_GOOD;
    case ABSENT:
        return command_fail(call, "cannot write to %s: its folder does not exist", shown_output(call->settings));
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
    enum rows_format format = (enum rows_format)settings->format;
    struct stream stream;
    enum err err = stream_open(&stream, settings->output);
    if (!err)
        switch (settings->what) {
        case WHAT_THREADS: err = export_threads(store, job, &stream, format); break;
        case WHAT_EVENTS: err = export_events(store, job, &stream, format); break;
        case WHAT_JOBS: err = export_jobs(store, job, &stream, format); break;
        default: err = export_processes(store, job, &stream, format); break;
        }
    int status = tell(call, store, err);
    stream_close(&stream);
    return status;
}

/* The sink's settings from our options. */
static enum err set_up(const struct sink *sink, void *state, const struct export_settings *settings)
{
    enum err err = setting_defaults(sink->settings, state);
    if (!err && settings->output)
        err = setting_apply(sink->settings, state, "path", settings->output);
    if (!err && settings->format == ROWS_CSV && settings->set)
        err = setting_apply(sink->settings, state, "set", settings->set);
    if (!err && settings->format == ROWS_JSONL)
        err = setting_apply(sink->settings, state, "lines", "yes");
    return err ? err : sink->open(state);
}

static int write_series(const struct command_call *call, struct store *store, const struct store_job *job)
{
    const struct export_settings *settings = call->settings;
    const struct sink *sink = sink_find(settings->format == ROWS_CSV ? "csv" : "json");
    size_t found = 0;
    void *state = calloc(1, sink->state_size);
    enum err err = state ? set_up(sink, state, settings) : NOMEM;
    if (err) {
        free(state);
        return tell(call, store, err);
    }
    struct export_choice choice = { .job = job, .node = settings->node, .set = settings->set };
    err = export_series(store, &choice, sink, state, &found);
    int status = tell(call, store, err ? err : sink->flush(state, 0));
    if (!err && found == 0 && settings->node)
        status = command_fail(call, "there is nothing of the node %s%s%s in the store; an agent or a collector with the sink"
                              " store files it", settings->node, settings->set ? ", set " : "",
                              settings->set ? settings->set : "");
    else if (!err && found == 0 && settings->set)
        status = command_fail(call, "job %s has no set %s; without --set, all sets are written", job->job_id, settings->set);
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

/* Options that would be left aside without a word. NULL: none. */
static const char *misfit(const struct export_settings *settings)
{
    bool extrap = settings->format == FORMAT_EXTRAP;
    if (settings->callpath && !extrap)
        return "--callpath is for Extra-P: add --format extrap";
    if (extrap && (settings->what != WHAT_PROCESSES || settings->set || settings->node))
        return "--format extrap writes what programs told, without --what, --set and --node";
    if (settings->set && settings->what != WHAT_SERIES)
        return "--set chooses among the series: add --what series";
    return NULL;
}

static int export_run(const struct command_call *call)
{
    const struct export_settings *settings = call->settings;
    struct store *store;
    const char *wrong = misfit(settings);
    if (wrong)
        return command_misused(call, "%s", wrong);
    if (settings->format == FORMAT_EXTRAP)
        return export_extrap(call, settings->output, settings->callpath);
    if (call->count > 1)
        return command_misused(call, "several jobs are for --format extrap alone");
    if (settings->node && (settings->what != WHAT_SERIES || call->count))
        return command_misused(call, "--node is for the series of a node: add --what series, and no job");
    if (!command_store_open(call, STORE_READ, &store))
        return EXIT_FAILED;
    int status = write_job(call, store);
    store_close(&store);
    return status;
}

#define AT(field) .offset = offsetof(struct export_settings, field)
static const struct option export_options[] = {
    { .letter = 'w', .name = "what", .argument = "TABLE", .type = OPTION_CHOICE, AT(what), .initial = "processes",
      .choices = "processes threads series events jobs", .help = "What to write" },
    { .letter = 'f', .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format), .initial = "csv",
      .choices = "csv json jsonl extrap",
      .help = "How to write it; jsonl is an object per line, extrap is for models of jobs that differ in size" },
    { .letter = 'o', .name = "output", .argument = "FILE", .type = OPTION_TEXT, AT(output),
      .help = "Write to FILE in place of standard output" },
    { .name = "set", .argument = "SET", .type = OPTION_TEXT, AT(set),
      .help = "Of the series, only those of this set; in CSV with one row per sample and one column per metric" },
    { .name = "node", .argument = "HOST", .type = OPTION_TEXT, AT(node),
      .help = "The series of this node itself, in place of those of a job; with --what series" },
    { .letter = 'c', .name = "callpath", .type = OPTION_FLAG, AT(callpath),
      .help = "For Extra-P (--format extrap), with callpaths and kinds of metrics" },
    OPTION_END,
};

static const struct command_fact export_examples[] = {
    { "sonde export > processes.csv", "the processes of the last job" },
    { "sonde export -w threads -f json 1234 | jq length", "how many threads job 1234 had" },
    { "sonde export -w series --set tree -o shape.csv", "CPU and memory of the last job over time" },
    { "sonde export -w series --node n17 --set meminfo", "the memory of node n17, as a collector filed it" },
    { "sonde export -w jobs -o jobs.csv", "all jobs, one row each" },
    { "sonde export -f extrap 17 18 19 > model.jsonl", "three jobs of different sizes, for Extra-P" },
    { "sonde export -f extrap -c ~/.tauproxy", "the same of all profiles of tau below a folder" },
    { 0 },
};

const struct command command_export = {
    .name = "export",
    .about = "write a job's numbers as CSV or JSON",
    .usage = "[OPTIONS] [JOB]...",
    .description =
        "Writes what was recorded of JOB: a job id, or a unique beginning of one; without it, the last job (of the jobs: all "
        "of them). The tables are:\n\n"
        "  processes   one row per process image, parents first; host and user stand\n"
        "              behind the numbers, the user where it is who started the run\n"
        "  threads     one row per thread\n"
        "  series      what was sampled while the job ran, one row per value\n"
        "  events      perf events, one row per process and event (without tid), and\n"
        "              one per thread where a process had several\n"
        "  jobs        one row per job, with the sums over its processes\n\n"
        "Times are in ns since 1970. The other numbers have papiex's names and units: usertime in us, rssmax in KB, rchar in "
        "bytes. What is not known is an empty field in CSV, and a key that is not there in JSON.\n\n"
        "CSV is that of RFC 4180, in UTF-8. Arguments are quoted as a shell would want them; bytes that are not UTF-8 are "
        "written as \\xNN. JSON keeps such bytes exactly: a text that is not UTF-8 comes with a second key, ending in "
        "_base64.\n\n"
        "With --format extrap, what programs told (MPI calls, system calls, their own counters) is written of several jobs, or "
        "of profiles of tau's where a file or a folder is named: a line of JSON per job and metric. The size of a job is the "
        "number of its MPI ranks, else that in its tag 'ranks', else its cores. Jobs that failed or have not ended are left "
        "out, which is said; what one job has told and another has not is 0 there. Without JOB, the jobs with the name of the "
        "last one are taken.",
    .options = export_options,
    .settings_size = sizeof(struct export_settings),
    .shares = COMMAND_DB,
    .operands_max = -1,
    .operand = "JOB",
    .examples = export_examples,
    .see_also = "list ps report",
    .run = export_run,
};
