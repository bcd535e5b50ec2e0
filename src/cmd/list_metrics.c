/* sonde list-metrics: which metrics programs tell, with their types and what they mean. */
#include "cmd/metric_source.h"

#include "show/metric_names.h"
#include "show/metric_print.h"

#include <stddef.h>
#include <unistd.h>

struct settings {
    struct metric_source_settings source;
    int format; /* enum metric_format */
};

/* Names that mean none of them. */
static int tell_missing(const struct command_call *call, const struct metric_list *list, char *const *names)
{
    int status = EXIT_GOOD;
    if (!list->count && !*names)
        return metric_source_none(call, &((const struct settings *)call->settings)->source);
    for (; *names; names++) {
        size_t i = 0;
        while (i < list->count && !metric_names_fit(*names, list->items[i].name))
            i++;
        if (i == list->count)
            status = command_fail(call, "there is no metric %s; 'sonde list-metrics' shows all", *names);
    }
    return status;
}

static int print(const struct command_call *call, const struct metric_list *list, char *const *names)
{
    const struct settings *settings = call->settings;
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    buf_init(&out, COMMAND_ANSWER_MAX);
    metric_print(&out, list, METRIC_DESCRIPTIONS, (enum metric_format)settings->format, &terminal);
    int status = buf_err(&out) ? command_fail(call, "the answer is too large") : command_print(call, &out);
    buf_clear(&out);
    return status == EXIT_GOOD ? tell_missing(call, list, names) : status;
}

static int list_metrics_run(const struct command_call *call)
{
    const struct settings *settings = call->settings;
    int wrong = metric_source_check(call, &settings->source);
    if (wrong)
        return wrong;
    char **names = metric_names_quoted(call->operands, call->count);
    struct metric_query query = { .is_list = true, .names = call->count ? (const char *const *)names : NULL };
    struct metric_source source;
    struct metric_list list;
    struct buf why;
    if (!names)
        return command_fail(call, "out of memory");
    buf_init(&why, 8192);
    metric_list_init(&list);
    metric_source_init(&source, &settings->source);
    enum err err = metric_source_ask(&source, &query, &list, &why);
    int status = err ? command_fail(call, "%s", why.size ? buf_text(&why) : err_text(err)) : print(call, &list, names);
    metric_source_clear(&source);
    metric_list_clear(&list);
    metric_names_free(&names);
    buf_clear(&why);
    return status;
}

#define AT(field) .offset = offsetof(struct settings, field)
static const struct option options[] = {
    { .letter = 'f', .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format), .initial = "md",
      .choices = METRIC_FORMATS, .help = "How to print: for people, or as tau_metric_client's JSON, YAML or text" },
    METRIC_SOURCE_OPTIONS(struct settings),
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde list-metrics", "all that programs on this node count" },
    { "sonde list-metrics -f json 'mpi_*' | jq -r .[].name", "the names that begin with mpi_" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "the folder of the agent's socket, in place of the usual one" },
    { 0 },
};

const struct command command_list_metrics = {
    .name = "list-metrics",
    .about = "show which metrics programs tell",
    .usage = "[OPTIONS] [NAME...]",
    .description =
        "Lists the counters and gauges that programs on this node tell through libsonde or tau's client library, with their "
        "types and descriptions. NAME chooses some of them: a metric with its labels, what stands before the labels, or a "
        "pattern with * and ?.",
    .options = options,
    .settings_size = sizeof(struct settings),
    .operands_max = -1,
    .operand = "NAME",
    .examples = examples,
    .environment = environment,
    .see_also = "get track agent",
    .run = list_metrics_run,
};
