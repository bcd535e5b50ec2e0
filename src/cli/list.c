/* sonde list: the jobs in the job database, filtered and sorted, as a table or as JSON. */
#include "cli/command_store.h"

#include "base/clock.h"
#include "report/list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ON_A_TERMINAL 50 /* default limit on a terminal */
#define OUTPUT_MAX (1u << 30)

struct list_settings {
    const char *user, *name, *host;
    const char **tags;
    uint64_t since_ns, until_ns, limit;
    int sort;
    bool reverse, all, json, ids;
};

/* The output, in one of three formats. */
struct list_output {
    const struct list_settings *settings;
    struct buf out;
    struct json json;
    struct list list;
    size_t count;
    bool shortened; /* only the first ON_A_TERMINAL jobs are printed */
};

static enum err take_job(void *context, const struct store_job *job)
{
    struct list_output *output = context;
    output->count++;
    if (output->shortened && output->count > ON_A_TERMINAL)
        return OK; /* only counted, to know that there are more */
    if (output->settings->ids)
        buf_printf(&output->out, "%s\n", job->job_id);
    else if (output->settings->json)
        list_job_json(&output->json, job, output->list.now_ns);
    else
        list_add(&output->list, job);
    return buf_err(&output->out);
}

/* The job database has tags as "key:value"; users may also type key=value, as for sonde run. */
static void normalize_tags(const char **tags)
{
    for (; tags && *tags; tags++) {
        char *equals = strchr(*tags, '='), *colon = strchr(*tags, ':');
        if (equals && (!colon || equals < colon))
            *equals = ':';
    }
}

static bool is_shortened(const struct list_settings *settings, bool is_terminal)
{
    return is_terminal && !settings->limit && !settings->all && !settings->json && !settings->ids;
}

static struct store_filter filter_of(const struct list_settings *settings, bool shortened)
{
    return (struct store_filter){
        .user = settings->user,
        .name = settings->name,
        .host = settings->host,
        .tags = settings->tags,
        .since_ns = settings->since_ns,
        .until_ns = settings->until_ns,
        .order = (enum store_order)settings->sort,
        .reverse = settings->reverse,
        .brief = true,
        .limit = settings->all ? 0 : shortened ? ON_A_TERMINAL + 1 : (size_t)settings->limit,
    };
}

static int print_table(const struct command_call *call, struct list_output *output)
{
    if (output->count == 0) {
        buf_add_text(&output->out, "No matching jobs.\n");
        return command_print(call, &output->out);
    }
    list_print(&output->list, &output->out);
    if (output->shortened && output->count > ON_A_TERMINAL)
        buf_add_text(&output->out, "More jobs match: use --all to show them, or --since, --name etc. to narrow the list.\n");
    return command_print(call, &output->out);
}

static int print_output(const struct command_call *call, struct list_output *output)
{
    if (output->settings->json) {
        json_end_array(&output->json);
        json_end(&output->json);
    }
    if (output->settings->json || output->settings->ids)
        return command_print(call, &output->out);
    return print_table(call, output);
}

static int list_run(const struct command_call *call)
{
    const struct list_settings *settings = call->settings;
    struct list_output output = { .settings = settings };
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct store *store;
    int status = EXIT_FAILED;
    if (!command_store_open(call, STORE_READ, &store))
        return status;
    normalize_tags(settings->tags);
    buf_init(&output.out, OUTPUT_MAX);
    list_init(&output.list, terminal, clock_realtime_ns());
    json_init(&output.json, &output.out);
    if (settings->json)
        json_begin_array(&output.json);
    output.shortened = is_shortened(settings, terminal.is_terminal);
    struct store_filter filter = filter_of(settings, output.shortened);
    if (store_jobs(store, &filter, take_job, &output))
        command_fail(call, "cannot read the jobs: %s", store_message(store));
    else
        status = print_output(call, &output);
    list_clear(&output.list);
    buf_clear(&output.out);
    store_close(&store);
    return status;
}

#define AT(field) .offset = offsetof(struct list_settings, field)
static const struct option list_options[] = {
    { .letter = 'u', .name = "user", .argument = "USER", .type = OPTION_TEXT, AT(user), .help = "Only jobs of USER" },
    { .letter = 'n', .name = "name", .argument = "GLOB", .type = OPTION_TEXT, AT(name),
      .help = "Only jobs whose name matches GLOB, such as 'ocean*'" },
    { .letter = 't', .name = "tag", .argument = "KEY[=VALUE]", .type = OPTION_LIST, AT(tags),
      .help = "Only jobs with this tag; may be repeated, and all must match" },
    { .name = "host", .argument = "HOST", .type = OPTION_TEXT, AT(host), .help = "Only jobs that ran on HOST" },
    { .letter = 's', .name = "since", .argument = "TIME", .type = OPTION_TIME, AT(since_ns),
      .help = "Only jobs that ran at or after TIME: '2 hours ago', yesterday, 2026-11-15, '2026-11-15 08:30'; a bare number is "
              "seconds ago" },
    { .name = "until", .argument = "TIME", .type = OPTION_TIME, AT(until_ns), .help = "Only jobs that started before TIME" },
    { .name = "sort", .argument = "KEY", .type = OPTION_CHOICE, AT(sort), .initial = "start",
      .choices = OPTION_CHOICES(BY_USER, "start", "duration", "cpu", "memory", "processes", "name", "user"),
      .help = "Sort key; newest or largest first" },
    { .letter = 'r', .name = "reverse", .type = OPTION_FLAG, AT(reverse), .help = "Reverse the sort order" },
    { .letter = 'l', .name = "limit", .argument = "N", .type = OPTION_U64, AT(limit), .min = 1,
      .help = "Show at most N jobs. Default: 50 on a terminal, otherwise all" },
    { .letter = 'a', .name = "all", .type = OPTION_FLAG, AT(all), .help = "Show all matching jobs, also on a terminal" },
    { .name = "json", .type = OPTION_FLAG, AT(json), .help = "Print JSON: an array with one object per job" },
    { .name = "ids", .type = OPTION_FLAG, AT(ids), .hidden = true, .help = "Print the job ids alone" },
    OPTION_END,
};

static const struct command_fact list_examples[] = {
    { "sonde list", "the newest jobs" },
    { "sonde list --since yesterday --sort cpu", "most CPU time since yesterday" },
    { "sonde list -n 'ocean*' -t exp=42", "the jobs of an experiment" },
    { "sonde list --json | jq '.[] | select(.exit_code != 0) | .job'", "the jobs that failed" },
    { 0 },
};

static const struct command_fact list_environment[] = {
    { "COLUMNS", "Output width if it is not a terminal. Default: 80." },
    { "NO_COLOR", "Disables colour if not empty." },
    { 0 },
};

const struct command command_list = {
    .name = "list",
    .about = "list recorded jobs",
    .usage = "[OPTIONS]",
    .description =
        "Prints one line per job: id, name, user, start time, elapsed time (TIME), CPU time of all its processes (CPU), average "
        "number of cores used of those allocated (CORES), peak memory (MEM), number of processes (PROCS) and exit status. "
        "Missing values are left empty.\n\n"
        "The table fits the terminal: columns are left out on a narrow one, and hosts, tags and the command are added on a wide "
        "one. If the output is not a terminal, it is 80 columns wide, or $COLUMNS.\n\n"
        "STATUS is ok, the exit status, the signal that terminated the command, \"interrupted\" if sonde run was killed before "
        "the command exited, or \"?\" if unknown, for example after sonde attach has detached.",
    .options = list_options,
    .settings_size = sizeof(struct list_settings),
    .shares = COMMAND_DB,
    .examples = list_examples,
    .environment = list_environment,
    .see_also = "report ps export run",
    .run = list_run,
};
