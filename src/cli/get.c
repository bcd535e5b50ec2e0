/* sonde get: what programs count, now, in the formats of tau_metric_client. */
#include "cli/metric_source.h"

#include "report/metric_names.h"

#include <stddef.h>
#include <string.h>

struct settings {
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

/* In the order in which they were asked for, each once. */
static void order(struct metric_list *list, char *const *names)
{
    size_t done = 0;
    for (; *names; names++)
        for (size_t i = done; i < list->count; i++)
            if (metric_names_fit(*names, list->items[i].name)) {
                struct metric_item found = list->items[i];
                memmove(&list->items[done + 1], &list->items[done], (i - done) * sizeof found);
                list->items[done++] = found;
            }
}

static int show(const struct command_call *call, struct metric_list *list, char *const *names)
{
    const struct settings *settings = call->settings;
    int missing = settings->lenient ? EXIT_GOOD : metric_source_missing(call, list, names, true);
    if (settings->positive)
        drop_others(list);
    if (call->count < 64) /* beyond that nobody looks at the order */
        order(list, names);
    int status = metric_source_print(call, list, settings->all ? METRIC_ALL : METRIC_VALUES, settings->format);
    if (!list->count && !*names && !settings->positive && status == EXIT_GOOD)
        status = metric_source_none(call, &settings->source);
    return status == EXIT_GOOD ? missing : status;
}

static int get_run(const struct command_call *call)
{
    const struct settings *settings = call->settings;
    return metric_source_show(call, &settings->source, (struct metric_query){ .is_all = settings->all }, show);
}

#define AT(field) .offset = offsetof(struct settings, field)
static const struct option options[] = {
    { .letter = 'f', .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format), .initial = "md",
      .choices = METRIC_FORMATS, .help = "How to print: for people, or as tau_metric_client's JSON, YAML or text" },
    { .letter = 'a', .name = "all", .type = OPTION_FLAG, AT(all),
      .help = "Print all that is known: type, unit, description; of gauges the sum, least, greatest and mean over programs; of "
              "histograms count, mean, estimated quantiles and buckets" },
    { .name = "positive", .type = OPTION_FLAG, AT(positive), .help = "Only values that are greater than 0" },
    { .name = "lenient", .type = OPTION_FLAG, AT(lenient), .help = "Say nothing of names that are not there" },
    METRIC_SOURCE_OPTIONS(struct settings),
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde get cells_total", "the sum over all programs on this node, one line per set of labels" },
    { "sonde get -j 4711 -f json 'cells_total{phase=\"solve\"}'", "of job 4711, as JSON" },
    { "sonde get --tau 'strace_hits_total*'", "system calls under tau's names" },
    { "sonde get --host n7", "all metrics of the agent of node n7" },
    { 0 },
};

const struct command command_get = {
    .name = "get",
    .about = "print what programs count, now",
    .usage = "[OPTIONS] [NAME...]",
    .description =
        "Prints the counters and gauges that programs on this node tell through libsonde or tau's client library: the value "
        "of each and when it was told. NAME is a metric with its labels, what stands before the labels, or a pattern with * "
        "and ?; without one all are printed. Quotes around the values of labels, which shells take away, may be left out.\n\n"
        "Counters are summed over programs, also those that have ended; a gauge is the sum over those that are alive; "
        "the value of a histogram is the sum of what was observed, beside which count, mean and quantiles are shown. Users "
        "see the sums over the node and their own jobs, root sees all.",
    .options = options,
    .settings_size = sizeof(struct settings),
    .operands_max = -1,
    .operand = "NAME",
    .examples = examples,
    .environment = metric_source_environment,
    .see_also = "list-metrics track agent",
    .run = get_run,
};
