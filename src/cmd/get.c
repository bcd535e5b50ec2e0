/* sonde get: what programs count, now, in the formats of tau_metric_client. */
#include "cmd/metric_source.h"

#include "show/metric_names.h"
#include "show/metric_print.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

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

static bool is_there(const struct metric_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (metric_names_fit(name, list->items[i].name))
            return true;
    return false;
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

static int print(const struct command_call *call, const struct metric_list *list, char *const *names)
{
    const struct settings *settings = call->settings;
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    buf_init(&out, COMMAND_ANSWER_MAX);
    metric_print(&out, list, settings->all ? METRIC_ALL : METRIC_VALUES, (enum metric_format)settings->format, &terminal);
    int status = buf_err(&out) ? command_fail(call, "the answer is too large") : command_print(call, &out);
    buf_clear(&out);
    if (!list->count && !*names && !settings->positive && status == EXIT_GOOD)
        status = metric_source_none(call, &settings->source);
    for (; *names && !settings->lenient; names++)
        if (!is_there(list, *names))
            status = command_fail(call, "there is no metric %s; 'sonde list-metrics' shows all", *names);
    return status;
}

static int get_run(const struct command_call *call)
{
    const struct settings *settings = call->settings;
    int wrong = metric_source_check(call, &settings->source);
    if (wrong)
        return wrong;
    char **names = metric_names_quoted(call->operands, call->count);
    struct metric_query query = { .names = call->count ? (const char *const *)names : NULL };
    struct metric_source source;
    struct metric_list list;
    struct buf why;
    if (!names)
        return command_fail(call, "out of memory");
    buf_init(&why, 8192);
    metric_list_init(&list);
    metric_source_init(&source, &settings->source);
    enum err err = metric_source_ask(&source, &query, &list, &why);
    if (!err && settings->positive)
        drop_others(&list);
    if (!err && call->count < 64) /* beyond that nobody looks at the order */
        order(&list, names);
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

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "the folder of the agent's socket, in place of the usual one" },
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
    .environment = environment,
    .see_also = "list-metrics track agent",
    .run = get_run,
};
