/* sonde ps: the processes of a job as a tree, or as JSON. */
#include "cli/command_store.h"

#include "base/clock.h"
#include "report/process_threads.h"
#include "report/ps.h"
#include "report/ps_json.h"

#include <stdlib.h>
#include <unistd.h>

#define ARGS_SHOWN 1024 /* maximum bytes of arguments on a line */

struct ps_settings {
    uint64_t min_cpu_ns, depth;
    int sort;
    bool threads, args, all, json;
};

static int check_result(const struct command_call *call, struct store *store, enum err err, const char *what)
{
    if (!err || err == GONE)
        return EXIT_GOOD;
    if (err == FULL || err == IO || err == NOMEM)
        return command_fail(call, "cannot %s: %s", what, err_text(err));
    return command_fail(call, "cannot %s: %s", what, store_message(store));
}

static enum err read_tree(struct tree *tree, const struct ps_settings *settings, struct store *store, int64_t job)
{
    enum err err = store_processes(store, job, tree_add, tree);
    if (!err && settings->threads)
        err = store_threads(store, job, tree_add_thread, tree);
    if (!err && !settings->all)
        err = tree_fold(tree);
    if (!err)
        tree_hide(tree, settings->min_cpu_ns / NS_PER_US);
    if (!err && settings->sort != TREE_BY_START)
        err = tree_sort(tree, (enum tree_order)settings->sort);
    return err;
}

static int show_tree(const struct command_call *call, struct store *store, int64_t job)
{
    const struct ps_settings *settings = call->settings;
    struct ps_view view = {
        .terminal = terminal_of(STDOUT_FILENO), .depth = settings->depth, .args = settings->args, .threads = settings->threads,
    };
    struct tree tree;
    struct output stream;
    tree_init(&tree, settings->args ? SIZE_MAX : ARGS_SHOWN);
    output_open(&stream, NULL);
    enum err err = read_tree(&tree, settings, store, job);
    int status = check_result(call, store, err, "read the processes");
    if (!err) {
        err = ps_print(&tree, &view, &stream);
        status = check_result(call, store, err ? err : output_flush(&stream), "write the output");
    }
    output_close(&stream);
    tree_clear(&tree);
    return status;
}

struct json_output {
    struct output stream;
    struct json json;
    struct store_runs runs;
    bool *is_shown; /* by position in the job; NULL: all */
    size_t at;
};

static enum err write_with_threads(void *context, uint32_t number, const struct process *process,
                                   const struct thread *threads, size_t count)
{
    struct json_output *output = context;
    if (output->is_shown && !output->is_shown[output->at++])
        return OK;
    ps_json_process(&output->json, number, process, store_runs_find(&output->runs, number), threads, count);
    return output_write_if_large(&output->stream);
}

static enum err write_process(void *context, uint32_t number, const struct process *process)
{
    return write_with_threads(context, number, process, NULL, 0);
}

/* Selects the processes that --min-cpu and --depth leave, in the order in which the store returns them. */
static enum err choose_shown(struct json_output *output, const struct ps_settings *settings, struct store *store, int64_t job)
{
    struct tree tree;
    if (!settings->min_cpu_ns && !settings->depth)
        return OK;
    tree_init(&tree, 0);
    enum err err = store_processes(store, job, tree_add, &tree);
    if (!err && !(output->is_shown = calloc(tree.count + 1, sizeof *output->is_shown)))
        err = NOMEM;
    if (!err) {
        tree_hide(&tree, settings->min_cpu_ns / NS_PER_US);
        for (uint32_t n = tree_first(&tree); n != TREE_NONE;
             n = tree_next(&tree, n, !settings->depth || tree.nodes[n].depth + 1 < settings->depth))
            output->is_shown[n] = true;
    }
    tree_clear(&tree);
    return err;
}

static int show_json(const struct command_call *call, struct store *store, int64_t job)
{
    const struct ps_settings *settings = call->settings;
    struct json_output output = { 0 };
    output_open(&output.stream, NULL);
    json_init(&output.json, &output.stream.out);
    json_begin_array(&output.json);
    enum err err = store_runs_read(&output.runs, store, job);
    if (!err)
        err = choose_shown(&output, settings, store, job);
    if (!err)
        err = settings->threads ? process_threads_each(store, job, write_with_threads, &output)
                                : store_processes(store, job, write_process, &output);
    json_end_array(&output.json);
    json_end(&output.json);
    int status = check_result(call, store, err ? err : output_flush(&output.stream), "print the processes");
    store_runs_clear(&output.runs);
    free(output.is_shown);
    output_close(&output.stream);
    return status;
}

static int ps_run(const struct command_call *call)
{
    const struct ps_settings *settings = call->settings;
    struct store *store;
    struct store_job job;
    int status = EXIT_FAILED;
    if (settings->json && settings->sort != TREE_BY_START)
        return command_usage_error(call, "--sort cannot be combined with --json, which prints parents first; use jq 'sort_by'");
    if (!command_store_open(call, STORE_READ, &store))
        return status;
    if (command_store_job(call, store, call->operands[0], &job)) {
        status = settings->json ? show_json(call, store, job.row) : show_tree(call, store, job.row);
        store_job_clear(&job);
    }
    store_close(&store);
    return status;
}

#define AT(field) .offset = offsetof(struct ps_settings, field)
static const struct option ps_options[] = {
    { .letter = 'c', .name = "min-cpu", .argument = "TIME", .type = OPTION_DURATION, AT(min_cpu_ns),
      .help = "Hide processes that used less CPU time, including their descendants" },
    { .letter = 'd', .name = "depth", .argument = "N", .type = OPTION_U64, AT(depth), .min = 1,
      .help = "Show N levels of the tree, and the number of processes below" },
    { .letter = 't', .name = "threads", .type = OPTION_FLAG, AT(threads),
      .help = "Show the threads of multi-threaded processes" },
    { .letter = 'a', .name = "args", .type = OPTION_FLAG, AT(args), .help = "Do not truncate arguments" },
    { .letter = 's', .name = "sort", .argument = "KEY", .type = OPTION_CHOICE, AT(sort), .initial = "start",
      .choices = OPTION_CHOICES(TREE_BY_IO, "start", "cpu", "time", "memory", "io"),
      .help = "Sort key for siblings; earliest or largest first" },
    { .letter = 'A', .name = "all", .type = OPTION_FLAG, AT(all), .help = "Show every process, without grouping" },
    { .name = "json", .type = OPTION_FLAG, AT(json),
      .help = "Print JSON: an array with one object per process, parents first; ignores --args and --all, not with --sort" },
    OPTION_END,
};

static const struct command_fact ps_examples[] = {
    { "sonde ps", "the processes of the last job" },
    { "sonde ps --min-cpu 1s --sort cpu", "processes that used at least a second, largest first" },
    { "sonde ps -t 1234", "the processes and threads of job 1234" },
    { "sonde ps --json | jq '.[] | select(.exit_signal == 9) | .pid'", "the processes that were killed" },
    { 0 },
};

static const struct command_fact ps_environment[] = {
    { "COLUMNS", "Output width if it is not a terminal. Default: 80." },
    { "NO_COLOR", "Disables colour if not empty." },
    { 0 },
};

const struct command command_ps = {
    .name = "ps",
    .about = "show the processes of a job as a tree",
    .usage = "[OPTIONS] [JOB]",
    .description =
        "Shows every process of JOB below its parent. JOB is a job id or a unique prefix of one. Default: the last job.\n\n"
        "The columns are: the process id; TOTAL, CPU time of the process and its descendants; CPU, its own CPU time; TIME, "
        "its elapsed time; MEM, its peak memory; READ and WRITE, bytes transferred by system calls; EXIT, set if its exit "
        "status was not 0, it was terminated by a signal, was still running when the job ended, or its end was not recorded; "
        "and the command. Missing values are left empty. An arrow marks an executable that replaced another one with exec.\n\n"
        "A star after CPU means that the values include those of children or of earlier executables of the process, which "
        "could not be separated; a tilde that part of the CPU time is estimated. In JSON these are with_others and estimated, "
        "present if true.\n\n"
        "Five or more siblings with the same executable and exit status that used less than a twentieth of the job's CPU time "
        "each, or less than 10 ms, are grouped into one row followed by their number: their values are added, MEM is the "
        "largest. --all shows each of them.",
    .options = ps_options,
    .settings_size = sizeof(struct ps_settings),
    .shares = COMMAND_DB,
    .operands_max = 1,
    .operand = "JOB",
    .examples = ps_examples,
    .environment = ps_environment,
    .see_also = "list report export",
    .run = ps_run,
};
