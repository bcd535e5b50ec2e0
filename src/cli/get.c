/* sonde get: the current program metrics, in the formats of tau_metric_client. */
#include "cli/metric_source.h"

#include "report/metric_names.h"

#include <stddef.h>
#include <string.h>

struct get_options {
    struct metric_source_settings source;
    int format; /* enum metric_format */
    bool positive, all, lenient;
};

static void drop_others(struct metric_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].value > 0)
            list->items[kept++] = list->items[i];
    list->count = kept;
}

/* Sorts the list into the order of the requested names, each once. */
static void order(struct metric_list *list, char *const *names)
{
    size_t done = 0;
    for (; *names; names++)
        for (size_t i = done; i < list->count; i++)
            if (metric_names_match(*names, list->items[i].name)) {
                struct metric_item found = list->items[i];
                memmove(&list->items[done + 1], &list->items[done], (i - done) * sizeof found);
                list->items[done++] = found;
            }
}

static int show(const struct command_call *call, struct metric_list *list, char *const *names)
{
    const struct get_options *settings = call->settings;
    int missing = settings->lenient ? EXIT_GOOD : metric_source_missing(call, list, names, true);
    if (settings->positive)
        drop_others(list);
    if (call->count < 64) /* the order is quadratic, and irrelevant for longer lists */
        order(list, names);
    int status = metric_source_print(call, list, settings->all ? METRIC_ALL : METRIC_VALUES, settings->format);
    if (!list->count && !*names && !settings->positive && status == EXIT_GOOD)
        status = metric_source_none(call, &settings->source);
    return status == EXIT_GOOD ? missing : status;
}

static int get_run(const struct command_call *call)
{
    const struct get_options *settings = call->settings;
    return metric_source_show(call, &settings->source, (struct metric_query){ .is_all = settings->all }, show);
}

#define AT(field) .offset = offsetof(struct get_options, field)
static const struct option options[] = {
    { .letter = 'f', .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format), .initial = "md",
      .choices = METRIC_FORMATS, .help = "Output format, as in tau_metric_client" },
    { .letter = 'a', .name = "all", .type = OPTION_FLAG, AT(all),
      .help = "Also print type, unit and description; for gauges the sum, minimum, maximum and mean over processes; for "
              "histograms count, mean, estimated quantiles and buckets" },
    { .name = "positive", .type = OPTION_FLAG, AT(positive), .help = "Print only values > 0" },
    { .name = "lenient", .type = OPTION_FLAG, AT(lenient), .help = "Ignore unknown names" },
    METRIC_SOURCE_OPTIONS(struct get_options),
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde get cells_total", "the sum over all processes on this node, one line per label set" },
    { "sonde get -j 4711 -f json 'cells_total{phase=\"solve\"}'", "for job 4711, as JSON" },
    { "sonde get --tau 'strace_hits_total*'", "system calls under tau's names" },
    { "sonde get --host n7", "all program metrics of node n7" },
    { 0 },
};

const struct command command_get = {
    .name = "get",
    .about = "print the current values of program metrics",
    .usage = "[OPTIONS] [NAME...]",
    .description =
        "Prints the counters and gauges that programs on this node publish through libsonde or tau's client library: their "
        "values and the times of the last update. NAME is a metric with its labels, the part before the labels, or a pattern "
        "with * and ?; without NAME all are printed. Quotes around label values, which the shell removes, are optional.\n\n"
        "Counters are summed over all processes, including those that have exited; gauges over running processes; the value of "
        "a histogram is the sum of its observations, shown with count, mean and quantiles. Users see the totals of the node "
        "and of their own jobs, root sees all jobs.",
    .options = options,
    .settings_size = sizeof(struct get_options),
    .operands_max = -1,
    .operand = "NAME",
    .examples = examples,
    .environment = metric_source_environment,
    .see_also = "list-metrics track agent",
    .run = get_run,
};
