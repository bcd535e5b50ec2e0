/* Values over the whole node: the sum of a counter, the mean of a gauge over live programs. Every byte that is sent
 * was set. */
#include "compat/tau/reply.h"

#include <string.h>

/* Tau has no histograms, and no names of more than 299 bytes. */
static bool is_for_tau(const struct program_metric *metric)
{
    return metric && metric->kind != PROGRAM_HISTOGRAM && metric->name.size < TAU_TEXT_MAX;
}

/* A gauge has no value if no live program has set it. */
static bool has_value(struct program_metric *metric)
{
    if (!is_for_tau(metric) || metric->kind != PROGRAM_GAUGE)
        return is_for_tau(metric);
    cells_refresh_gauges(metric);
    return metric->values.node->gauge.programs > 0;
}

static bool is_requested(int32_t type, struct program_metric *metric)
{
    return type == TAU_LIST_ALL ? is_for_tau(metric) : has_value(metric);
}

static void write_descriptor(const struct program_metric *metric, char *out)
{
    struct tau_descriptor descriptor = { .type = TAU_NULL }; /* for a removed metric: clients skip it */
    if (metric) {
        descriptor.type = metric->kind == PROGRAM_GAUGE ? TAU_GAUGE : TAU_COUNTER;
        memcpy(descriptor.name, metric->name.text, metric->name.size);
        memcpy(descriptor.doc, metric->doc, strnlen(metric->doc, TAU_TEXT_MAX - 1));
    }
    memcpy(out, &descriptor, sizeof descriptor);
}

/* An empty name means that there is no value. */
static void write_event(struct program_metric *metric, char *out)
{
    struct tau_event event = { .value = 0 };
    if (has_value(metric)) {
        const struct cell *cell = metric->values.node;
        memcpy(event.name, metric->name.text, metric->name.size);
        bool is_gauge = metric->kind == PROGRAM_GAUGE;
        event.value = is_gauge ? cell->gauge.sum / (double)cell->gauge.programs : cell->total;
        event.update_s = (double)cell->changed_ns / 1e9;
    }
    memcpy(out, &event, sizeof event);
}

void tau_reply_begin(struct tau_reply *reply, struct registry *registry, int32_t type, const char *name)
{
    *reply = (struct tau_reply){ .type = type };
    if (type == TAU_GET_ONE) {
        size_t size = strnlen(name, TAU_TEXT_MAX);
        struct program_metric *metric = NULL;
        if (size < TAU_TEXT_MAX)
            metric = metric_table_find(&registry->metrics, (struct bytes){ name, size });
        write_event(metric, (char *)&reply->one);
        reply->left = reply->has_head = true;
        return;
    }
    for (size_t i = 0; i < registry->metrics.metrics.count; i++)
        reply->left += is_requested(type, registry->metrics.metrics.items[i]);
}

/* NULL: some were removed since their number was sent. */
static struct program_metric *next_metric(struct tau_reply *reply, const struct registry *registry)
{
    struct program_metric *const *metrics = registry->metrics.metrics.items;
    size_t count = registry->metrics.metrics.count;
    while (reply->next < count && !is_requested(reply->type, metrics[reply->next]))
        reply->next++;
    return reply->next < count ? metrics[reply->next++] : NULL;
}

static void write_next(struct tau_reply *reply, const struct registry *registry, char *out)
{
    if (reply->type == TAU_LIST_ALL)
        write_descriptor(next_metric(reply, registry), out);
    else if (reply->type == TAU_GET_ALL)
        write_event(next_metric(reply, registry), out);
    else
        memcpy(out, &reply->one, sizeof reply->one);
}

size_t tau_reply_fill(struct tau_reply *reply, struct registry *registry, char *out, size_t capacity)
{
    size_t size = 0, item = reply->type == TAU_LIST_ALL ? sizeof(struct tau_descriptor) : sizeof(struct tau_event);
    if (reply->type == TAU_DESC)
        return 0;
    if (!reply->has_head) {
        memcpy(out, &reply->left, sizeof reply->left);
        size = sizeof reply->left;
        reply->has_head = true;
    }
    for (; reply->left > 0 && size + item <= capacity; reply->left--, size += item)
        write_next(reply, registry, out + size);
    if (size == 0)
        *reply = (struct tau_reply){ 0 };
    return size;
}
