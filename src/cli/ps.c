/* sonde ps: the processes of a job as a tree, or as JSON. */
#include "cli/command_store.h"

#include "base/clock.h"
#include "report/command_line.h"
#include "report/ps.h"
#include "report/ps_json.h"

#include <unistd.h>

#define ARGS_SHOWN 1024 /* bytes of arguments that a line could show */

struct ps_settings {
    uint64_t min_cpu_ns, depth;
    int sort;
    bool threads, args, all, json;
};

static int tell(const struct command_call *call, struct store *store, enum err err, const char *what)
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
    struct stream stream;
    tree_init(&tree, settings->args ? SIZE_MAX : ARGS_SHOWN);
    stream_open(&stream, NULL);
    enum err err = read_tree(&tree, settings, store, job);
    int status = tell(call, store, err, "read the processes");
    if (!err) {
        err = ps_print(&tree, &view, &stream);
        status = tell(call, store, err ? err : stream_flush(&stream), "write the output");
    }
    stream_close(&stream);
    tree_clear(&tree);
    return status;
}

struct json_output {
    struct stream stream;
    struct json json;
    struct store_runs runs;
};

static enum err write_with_threads(void *context, uint32_t number, const struct process *process,
                                   const struct thread *threads, size_t count)
{
    struct json_output *output = context;
    ps_json_process(&output->json, number, process, store_runs_find(&output->runs, number), threads, count);
    return stream_pass(&output->stream);
}

static enum err write_process(void *context, uint32_t number, const struct process *process)
{
    return write_with_threads(context, number, process, NULL, 0);
}

static int show_json(const struct command_call *call, struct store *store, int64_t job)
{
    const struct ps_settings *settings = call->settings;
    struct json_output output;
    stream_open(&output.stream, NULL);
    json_init(&output.json, &output.stream.out);
    json_begin_array(&output.json);
    enum err err = store_runs_read(&output.runs, store, job);
    if (!err)
        err = settings->threads ? joined_processes(store, job, write_with_threads, &output)
                                : store_processes(store, job, write_process, &output);
    json_end_array(&output.json);
    json_end(&output.json);
    int status = tell(call, store, err ? err : stream_flush(&output.stream), "show the processes");
    store_runs_clear(&output.runs);
    stream_close(&output.stream);
    return status;
}

static int ps_run(const struct command_call *call)
{
    const struct ps_settings *settings = call->settings;
    struct store *store;
    struct store_job job;
    int status = EXIT_FAILED;
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
      .help = "Hide processes that used less CPU time than this, with all below them" },
    { .letter = 'd', .name = "depth", .argument = "N", .type = OPTION_U64, AT(depth), .min = 1,
      .help = "Show N levels of the tree, and how many processes are below" },
    { .letter = 't', .name = "threads", .type = OPTION_FLAG, AT(threads),
      .help = "Show the threads of processes that had several" },
    { .letter = 'a', .name = "args", .type = OPTION_FLAG, AT(args), .help = "Show whole arguments, however long the line" },
    { .letter = 's', .name = "sort", .argument = "KEY", .type = OPTION_CHOICE, AT(sort), .initial = "start",
      .choices = "start cpu time memory io", .help = "Order of siblings; the earliest or largest comes first" },
    { .letter = 'A', .name = "all", .type = OPTION_FLAG, AT(all), .help = "Show every process: fold nothing" },
    { .name = "json", .type = OPTION_FLAG, AT(json),
      .help = "Print JSON: an array with an object per process, all of them, parents first" },
    OPTION_END,
};

static const struct command_fact ps_examples[] = {
    { "sonde ps", "the processes of the last job" },
    { "sonde ps --min-cpu 1s --sort cpu", "those that used a second or more, the largest first" },
    { "sonde ps -t 1234", "the processes and threads of job 1234" },
    { "sonde ps --json | jq '.[] | select(.exit_signal == 9) | .pid'", "who was killed" },
    { 0 },
};

static const struct command_fact ps_environment[] = {
    { "COLUMNS", "How wide the output may be where it is not a terminal; 80 when it is not set." },
    { "NO_COLOR", "When it is set, nothing is coloured." },
    { 0 },
};

const struct command command_ps = {
    .name = "ps",
    .about = "show the processes of a job as a tree",
    .usage = "[OPTIONS] [JOB]",
    .description =
        "Shows every process of JOB below the one that started it. JOB is a job id or a unique beginning of one; without "
        "it, the last job is shown.\n\n"
        "The columns are: the process id; TOTAL, CPU time of the process with all below it; CPU, its own; TIME, how long it "
        "lived; MEM, the most memory it held; READ and WRITE, the bytes it moved by system calls; EXIT, where one ended "
        "with another status than 0, by a signal, was still alive when the job ended, or was lost from sight; and the "
        "command. What is not known is left empty. An arrow marks a program that took over its process by exec.\n\n"
        "A star behind CPU says that the numbers of the process hold those of children or of earlier programs in it, which "
        "nobody could tell apart; a tilde that part of its CPU time is an estimated share. In JSON these are with_others and "
        "estimated, true where it is so.\n\n"
        "Five or more siblings that run the same program, ended alike and used less than a twentieth of the job's CPU time "
        "each, or less than 10 ms, are folded into one row, with their number behind it: their numbers are added, MEM is "
        "that of the largest. --all shows every one.",
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
