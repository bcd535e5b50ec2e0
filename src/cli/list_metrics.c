/* sonde list-metrics: lists the program metrics with their types and descriptions. */
#include "cli/metric_source.h"

#include <stddef.h>

struct list_metrics_options {
    struct metric_source_settings source;
    int format; /* enum metric_format */
};

static int show(const struct command_call *call, struct metric_list *list, char *const *names)
{
    const struct list_metrics_options *settings = call->settings;
    int status = metric_source_print(call, list, METRIC_DESCRIPTIONS, settings->format);
    if (status != EXIT_GOOD)
        return status;
    return list->count || *names ? metric_source_missing(call, list, names, false) : metric_source_none(call, &settings->source);
}

static int list_metrics_run(const struct command_call *call)
{
    const struct list_metrics_options *settings = call->settings;
    return metric_source_show(call, &settings->source, (struct metric_query){ .is_list = true }, show);
}

#define AT(field) .offset = offsetof(struct list_metrics_options, field)
static const struct option options[] = {
    { .letter = 'f', .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format), .initial = "md",
      .choices = METRIC_FORMATS, .help = "Output format, as in tau_metric_client" },
    METRIC_SOURCE_OPTIONS(struct list_metrics_options),
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde list-metrics", "all program metrics on this node" },
    { "sonde list-metrics -f json 'mpi_*' | jq -r .[].name", "names that start with mpi_" },
    { 0 },
};

const struct command command_list_metrics = {
    .name = "list-metrics",
    .about = "list the metrics that programs publish",
    .usage = "[OPTIONS] [NAME...]",
    .description =
        "Lists the counters and gauges that programs on this node publish through libsonde or tau's client library, with their "
        "types and descriptions. NAME selects some of them: a metric with its labels, the part before the labels, or a pattern "
        "with * and ?.",
    .options = options,
    .settings_size = sizeof(struct list_metrics_options),
    .operands_max = -1,
    .operand = "NAME",
    .examples = examples,
    .environment = metric_source_environment,
    .see_also = "get track agent",
    .run = list_metrics_run,
};
