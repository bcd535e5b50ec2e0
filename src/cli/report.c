/* sonde report: a one-page summary of a job with recommendations, or JSON. */
#include "cli/command_store.h"

#include "report/report.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define OUTPUT_MAX (16u << 20)

struct report_settings {
    bool json;
};

static int print(const struct command_call *call, const struct facts *facts)
{
    const struct report_settings *settings = call->settings;
    struct report *report = malloc(sizeof *report); /* too large for a stack frame */
    if (!report)
        return command_fail(call, "out of memory");
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    report_init(report, facts);
    if (settings->json)
        report_json(report, &out);
    else
        report_print(report, &out, &terminal);
    int status = command_print(call, &out);
    buf_clear(&out);
    free(report);
    return status;
}

static int report_run(const struct command_call *call)
{
    struct store *store;
    struct store_job job;
    struct facts *facts;
    int status = EXIT_FAILED;
    if (!command_store_open(call, STORE_READ, &store))
        return status;
    if (command_store_job(call, store, call->count ? call->operands[0] : NULL, &job)) {
        if (facts_read(&facts, store, &job))
            command_fail(call, "cannot read the job: %s", store_message(store));
        else
            status = print(call, facts);
        facts_free(&facts);
        store_job_clear(&job);
    }
    store_close(&store);
    return status;
}

static const struct option options[] = {
    { .name = "json", .type = OPTION_FLAG, .offset = offsetof(struct report_settings, json),
      .help = "Print one JSON object with raw values; units are part of the names, missing values are left out" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde report", "the last job" },
    { "sonde report 4711", "job 4711; a unique prefix of the id is enough" },
    { "sonde report --json | jq '.advice[].sentence'", "only the recommendations" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "NO_COLOR", "Disables colour if not empty. Output to a pipe or file is never coloured." },
    { "LC_ALL, LC_CTYPE, LANG", "If the locale is not UTF-8, bars and timelines are drawn in ASCII." },
    { "TZ", "Time zone of the printed times." },
    { 0 },
};

const struct command command_report = {
    .name = "report",
    .about = "show a one-page summary of a job, with recommendations",
    .usage = "[OPTIONS] [JOB]",
    .description =
        "Shows what ran, for how long and where; how much of the allocated cores and memory it used, and its I/O; the "
        "timeline of CPU and memory; what it waited for; the most expensive executables, processes and threads; what is "
        "missing; and then recommendations, each with the number that led to it and what to do. Default: the last job. The "
        "page is 80 columns wide.\n\n"
        "CPU usage is the kernel's total for all processes that were waited for, or what was recorded if that is more, divided "
        "by the elapsed time and the cores that affinity and cgroups allow. Memory is the peak of all processes together, in "
        "which shared pages count once, or that of the largest process if it is higher; the source is shown. "
        "Bytes 'read' and 'written' went through system calls, "
        "including pipes and terminals; those 'from disk' and 'to disk' were transferred from and to storage. In the tables, "
        "CPU time is that of the process without its children; 'wall' is its elapsed time, summed up for executables. 'Other "
        "processes' is the load on the node outside the job.",
    .options = options,
    .settings_size = sizeof(struct report_settings),
    .shares = COMMAND_DB,
    .operands_max = 1,
    .operand = "JOB",
    .examples = examples,
    .environment = environment,
    .see_also = "run ps list export",
    .run = report_run,
};
