/* One walk over the records that the life wrote of itself. Where no exec record tells the whole (older spools, other
 * threads), the sizes of these records are what is known: those of waits and spawns are chained with the children. */
#include "merge/probe_overhead.h"

static uint64_t frame_bytes(const struct events *events, const struct event *event)
{
    return FRAME_HEAD + ((event_body(events, event).size + 7) & ~(uint64_t)7);
}

/* In a copy made by vfork nothing but the exec's own calls was counted; else the record has all since the image came up. */
static void take_exec(const struct events *events, const struct event *event, struct own *own)
{
    struct exec_record record;
    if (record_unpack_exec(event_body(events, event), &record) != OK)
        return;
    if (record.copied & RECORD_EXEC_COPIED && counters_has(&record.own, COUNTER_syscw))
        *own = (struct own){ 0 };
    own->rchar += counters_get(&record.own, COUNTER_rchar);
    own->syscr += counters_get(&record.own, COUNTER_syscr);
    own->wchar += counters_get(&record.own, COUNTER_wchar);
    own->syscw += counters_get(&record.own, COUNTER_syscw);
}

static bool is_written_by_task(enum record_kind kind)
{
    return kind == RECORD_KIND_image || kind == RECORD_KIND_fork || kind == RECORD_KIND_exec
           || kind == RECORD_KIND_exec_failed;
}

struct own own_before(const struct events *events, uint32_t first, uint32_t image, uint32_t exec)
{
    struct own own = { 0 };
    bool announced = image == NONE && exec != NONE && events->list[exec].kind == RECORD_KIND_exec;
    if (image == NONE && !announced)
        return own;
    for (uint32_t i = first; i != NONE && i != image; i = events->list[i].next) {
        const struct event *e = &events->list[i];
        if (e->kind == RECORD_KIND_image)
            own = (struct own){ 0 };
        if (e->kind == RECORD_KIND_exec)
            take_exec(events, e, &own);
        if (is_written_by_task(e->kind)) {
            own.wchar += frame_bytes(events, e);
            own.syscw++;
        }
        if (announced && i == exec)
            break;
    }
    return own;
}

struct own own_of_exec(const struct events *events, uint32_t exec)
{
    return (struct own){ .wchar = frame_bytes(events, &events->list[exec]), .syscw = 1 };
}

void own_subtract(const struct own *own, struct counters *counters)
{
    counters_take_off(counters, COUNTER_rchar, own->rchar);
    counters_take_off(counters, COUNTER_syscr, own->syscr);
    counters_take_off(counters, COUNTER_wchar, own->wchar);
    counters_take_off(counters, COUNTER_syscw, own->syscw);
}
