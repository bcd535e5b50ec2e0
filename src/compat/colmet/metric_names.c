/* Names of memory and cpu come from Colmet's tables, events from perf. */
#include "compat/colmet/metric_names.h"

#include "proc/perf.h"
#include "compat/colmet/backends.h"

#include <stdio.h>
#include <string.h>

#define LIST_MAX 8192
#define NAME_MAX_SIZE 64

static bool is_read_anyway(const char *name)
{
    for (int id = COLMET_RUST_MEMORY; id <= COLMET_RUST_CPU; id++)
        for (size_t i = 0; i < colmet_backends[id].count; i++)
            if (strcmp(colmet_backends[id].columns[i].name, name) == 0)
                return true;
    return false;
}

static void add(struct buf *list, const char *between, const char *name)
{
    buf_printf(list, "%s%s", list->size ? between : "", name);
}

/* Replaces control characters, so that an untrusted name stays on one line. */
static void sanitize(char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || (unsigned char)*name >= 127)
            *name = '?';
}

static void add_metric(struct colmet_metrics *metrics, struct bytes word)
{
    const char *colon = memchr(word.data, ':', word.size);
    char name[NAME_MAX_SIZE];
    struct perf_event_spec spec;
    struct perf_problem trouble;
    size_t length = colon ? (size_t)(colon - word.data) : word.size;
    bool fits = length < sizeof name;
    metrics->has_parts |= colon != NULL;
    snprintf(name, sizeof name, "%.*s", (int)(fits ? length : sizeof name - 1), word.data);
    sanitize(name);
    if (fits && is_read_anyway(name))
        return;
    if (!length)
        return;
    if (fits && perf_resolve_one(name, &spec, &trouble) != USAGE)
        add(&metrics->events, ",", name);
    else
        add(&metrics->unknown, ", ", name);
}

void colmet_metrics_read(struct colmet_metrics *metrics, struct bytes list)
{
    const char *at = list.data, *end = list.data + list.size;
    *metrics = (struct colmet_metrics){ 0 };
    buf_init(&metrics->events, LIST_MAX);
    buf_init(&metrics->unknown, LIST_MAX);
    while (at < end) {
        const char *next = at;
        while (next < end && !strchr(", \t\r\n", *next))
            next++;
        if (next > at)
            add_metric(metrics, (struct bytes){ at, (size_t)(next - at) });
        at = next + 1;
    }
}

void colmet_metrics_clear(struct colmet_metrics *metrics)
{
    buf_clear(&metrics->events);
    buf_clear(&metrics->unknown);
}
