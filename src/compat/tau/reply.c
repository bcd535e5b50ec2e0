/* Values over the whole node: the sum of a counter, the mean of a gauge over live programs. Every byte that is sent
 * was set. */
#include "compat/tau/reply.h"

#include <string.h>

/* Tau has no histograms, and no names of more than 299 bytes. */
static bool is_for_tau(const struct program_metric *metric)
{
    return metric && metric->kind != PROGRAM_HISTOGRAM && metric->name.size < TAU_TEXT_MAX;
}

/* tau's proxy lists what our probes count under tau's names only. */
static bool is_listed(const struct registry *registry, const struct program_metric *metric)
{
    return is_for_tau(metric) && !(registry->hides_aliased && metric->values.node->aliases);
}

/* A gauge has no value if no live program has set it. */
static bool has_value(struct program_metric *metric)
{
    if (!is_for_tau(metric) || metric->kind != PROGRAM_GAUGE)
        return is_for_tau(metric);
    cells_refresh_gauges(metric);
    return metric->values.node->gauge.programs > 0;
}

static bool is_requested(const struct registry *registry, int32_t type, struct program_metric *metric)
{
    return is_listed(registry, metric) && (type == TAU_LIST_ALL || has_value(metric));
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

void tau_reply_begin(struct tau_reply *reply, int32_t type, const char *name)
{
    size_t size = type == TAU_GET_ONE ? strnlen(name, TAU_TEXT_MAX) : 0;
    *reply = (struct tau_reply){ .type = type };
    if (size < TAU_TEXT_MAX)
        memcpy(reply->name, name, size);
}

/* The number of items comes first, except for a query for one. Returns its size. */
static size_t write_head(struct tau_reply *reply, const struct registry *registry, char *out)
{
    reply->has_head = true;
    reply->left = reply->type == TAU_GET_ONE;
    if (reply->type == TAU_GET_ONE)
        return 0;
    for (size_t i = 0; i < registry->metrics.metrics.count; i++)
        reply->left += is_requested(registry, reply->type, registry->metrics.metrics.items[i]);
    memcpy(out, &reply->left, sizeof reply->left);
    return sizeof reply->left;
}

/* NULL: some were removed since their number was sent. */
static struct program_metric *next_metric(struct tau_reply *reply, const struct registry *registry)
{
    struct program_metric *const *metrics = registry->metrics.metrics.items;
    size_t count = registry->metrics.metrics.count;
    while (reply->next < count && !is_requested(registry, reply->type, metrics[reply->next]))
        reply->next++;
    return reply->next < count ? metrics[reply->next++] : NULL;
}

static void write_next(struct tau_reply *reply, struct registry *registry, char *out)
{
    if (reply->type == TAU_LIST_ALL)
        write_descriptor(next_metric(reply, registry), out);
    else if (reply->type == TAU_GET_ALL)
        write_event(next_metric(reply, registry), out);
    else
        write_event(metric_table_find(&registry->metrics, bytes_of(reply->name)), out);
}

size_t tau_reply_fill(struct tau_reply *reply, struct registry *registry, char *out, size_t capacity)
{
    size_t size = 0, item = reply->type == TAU_LIST_ALL ? sizeof(struct tau_descriptor) : sizeof(struct tau_event);
    if (reply->type == TAU_DESC)
        return 0;
    if (!reply->has_head)
        size = write_head(reply, registry, out);
    for (; reply->left > 0 && size + item <= capacity; reply->left--, size += item)
        write_next(reply, registry, out + size);
    if (size == 0)
        *reply = (struct tau_reply){ 0 };
    return size;
}
