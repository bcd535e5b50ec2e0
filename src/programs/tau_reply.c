/* Of each metric the value over the whole node: a counter's sum, a gauge's mean over the programs that are alive. Every byte
 * that goes out was set. */
#include "programs/tau_reply.h"

#include <string.h>

/* Tau has no histograms, and no names of more than 299 bytes. */
static bool is_for_tau(const struct program_metric *metric)
{
    return metric && metric->kind != PROGRAM_HISTOGRAM && metric->name_size < TAU_TEXT_MAX;
}

static void write_descriptor(const struct program_metric *metric, char *out)
{
    struct tau_descriptor descriptor = { .type = metric && metric->kind == PROGRAM_GAUGE ? TAU_GAUGE : TAU_COUNTER };
    if (metric) {
        memcpy(descriptor.name, metric->name, metric->name_size);
        memcpy(descriptor.doc, metric->doc, strnlen(metric->doc, TAU_TEXT_MAX - 1));
    }
    memcpy(out, &descriptor, sizeof descriptor);
}

/* 0 at the time 0: no program that is alive has set it. */
static void write_event(struct program_metric *metric, char *out)
{
    struct tau_event event = { .value = 0 };
    if (is_for_tau(metric)) {
        const struct program_cell *cell = &metric->node;
        program_table_settle(metric);
        memcpy(event.name, metric->name, metric->name_size);
        bool is_gauge = metric->kind == PROGRAM_GAUGE;
        if (!is_gauge || cell->gauge.programs) {
            event.value = is_gauge ? cell->gauge.sum / (double)cell->gauge.programs : cell->total;
            event.update_s = (double)cell->changed_ns / 1e9;
        }
    }
    memcpy(out, &event, sizeof event);
}

void tau_reply_begin(struct tau_reply *reply, struct program_table *table, int32_t type, const char *name)
{
    *reply = (struct tau_reply){ .type = type };
    if (type == TAU_GET_ONE) {
        size_t size = strnlen(name, TAU_TEXT_MAX);
        write_event(size < TAU_TEXT_MAX ? program_table_find(table, (struct bytes){ name, size }) : NULL, (char *)&reply->one);
        reply->left = reply->has_head = true;
        return;
    }
    for (size_t i = 0; i < table->metric_places; i++)
        reply->left += is_for_tau(table->metrics[i]);
}

/* NULL: some have gone since their number was told. */
static struct program_metric *next_metric(struct tau_reply *reply, const struct program_table *table)
{
    while (reply->next < table->metric_places && !is_for_tau(table->metrics[reply->next]))
        reply->next++;
    return reply->next < table->metric_places ? table->metrics[reply->next++] : NULL;
}

static void write_next(struct tau_reply *reply, const struct program_table *table, char *out)
{
    if (reply->type == TAU_LIST_ALL)
        write_descriptor(next_metric(reply, table), out);
    else if (reply->type == TAU_GET_ALL)
        write_event(next_metric(reply, table), out);
    else
        memcpy(out, &reply->one, sizeof reply->one);
}

size_t tau_reply_fill(struct tau_reply *reply, struct program_table *table, char *out, size_t room)
{
    size_t size = 0, item = reply->type == TAU_LIST_ALL ? sizeof(struct tau_descriptor) : sizeof(struct tau_event);
    if (reply->type == TAU_DESC)
        return 0;
    if (!reply->has_head) {
        memcpy(out, &reply->left, sizeof reply->left);
        size = sizeof reply->left;
        reply->has_head = true;
    }
    for (; reply->left > 0 && size + item <= room; reply->left--, size += item)
        write_next(reply, table, out + size);
    if (size == 0)
        *reply = (struct tau_reply){ 0 };
    return size;
}
