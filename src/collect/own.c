/* One walk over the records that the life wrote of itself. Its records of children that it waited for or spawned are
 * chained with the children and left out: a shell that waits and then execs is rare. */
#include "collect/own.h"

static uint64_t frame_bytes(const struct events *events, const struct event *event)
{
    return FRAME_HEAD + ((event_body(events, event).size + 7) & ~(uint64_t)7);
}

struct own own_before(const struct events *events, uint32_t first, uint32_t image)
{
    struct own own = { 0 };
    for (uint32_t i = first; i != NONE && i != image && image != NONE; i = events->list[i].next) {
        const struct event *e = &events->list[i];
        if (e->kind == RECORD_KIND_image)
            own = (struct own){ 0 };
        if (e->kind == RECORD_KIND_image || e->kind == RECORD_KIND_fork || e->kind == RECORD_KIND_exec
            || e->kind == RECORD_KIND_exec_failed) {
            own.bytes += frame_bytes(events, e);
            own.calls++;
        }
    }
    return own;
}

static void less(struct counters *counters, enum counter which, uint64_t own)
{
    if (counters_has(counters, which))
        counters->value[which] -= own < counters->value[which] ? own : counters->value[which];
}

void own_subtract(const struct own *own, struct counters *counters)
{
    less(counters, COUNTER_wchar, own->bytes);
    less(counters, COUNTER_syscw, own->calls);
}
