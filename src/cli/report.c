/* sonde report: one job on one page, with advice; or as JSON. */
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
      .help = "Print one JSON object with the raw numbers; units stand in the names, what is not known is left out" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde report", "the job that was filed last" },
    { "sonde report 4711", "the job 4711; a beginning of the id that fits only one is enough" },
    { "sonde report --json | jq '.advice[].sentence'", "the advice alone" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "NO_COLOR", "When set and not empty, no colour is used. There is none either when the output is no terminal." },
    { "LC_ALL, LC_CTYPE, LANG", "Where the locale is not UTF-8, bars and curves are drawn in plain ASCII." },
    { "TZ", "The time zone in which times are shown." },
    { 0 },
};

const struct command command_report = {
    .name = "report",
    .about = "show what a job did, on one page, with advice",
    .usage = "[OPTIONS] [JOB]",
    .description =
        "Shows what ran, for how long and on what; how much of the cores and the memory that were allowed it used, "
        "and what it read and wrote; CPU and memory over time; what it waited for; the executables, processes and "
        "threads that cost most; what is not known; and then what could be better, with the number that led to it "
        "and what to do. Without JOB, the job that was filed last. The page is 80 columns wide.\n\n"
        "CPU use is the kernel's own total for all processes that were waited for, or what was seen if that is more, "
        "divided by the time and by the cores that affinity and cgroups allow. Memory is the largest sampled sum of "
        "the resident memory of all processes; pages that processes share count for each of them. Bytes 'read' and "
        "'written' passed through system calls, pipes and terminals included; those 'from disk' and 'to disk' were "
        "fetched from and sent to storage. In the tables CPU time is a process's own, without its "
        "children's; 'wall' is how long it lived, for executables the sum. 'Others' is what kept the machine busy "
        "beside the job.",
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
