/* Sums up the records that the process wrote about itself. If no exec record has the total (older spools, other
 * threads), it is estimated from the sizes of these records; wait and spawn records are missing then, because they are
 * chained with the children. */
#include "merge/probe_overhead.h"

static uint64_t frame_bytes(const struct record_index *records, const struct record_entry *entry)
{
    return FRAME_HEAD + ((record_index_body(records, entry).size + 7) & ~(uint64_t)7);
}

/* For a vfork child only the calls of the exec itself were counted; otherwise the record has everything since the image
 * started. */
static void take_exec(const struct record_index *records, const struct record_entry *entry, struct overhead_io *own)
{
    struct exec_record record;
    if (record_unpack_exec(record_index_body(records, entry), &record) != OK)
        return;
    if (record.copied & RECORD_EXEC_COPIED && counters_has(&record.own, COUNTER_syscw))
        *own = (struct overhead_io){ 0 };
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

struct overhead_io probe_overhead_before(const struct record_index *records, uint32_t first, uint32_t image,
                                            uint32_t exec)
{
    struct overhead_io own = { 0 };
    bool announced = image == NONE && exec != NONE && records->list[exec].kind == RECORD_KIND_exec;
    if (image == NONE && !announced)
        return own;
    for (uint32_t i = first; i != NONE && i != image; i = records->list[i].next) {
        const struct record_entry *e = &records->list[i];
        if (e->kind == RECORD_KIND_image)
            own = (struct overhead_io){ 0 };
        if (e->kind == RECORD_KIND_exec)
            take_exec(records, e, &own);
        if (is_written_by_task(e->kind)) {
            own.wchar += frame_bytes(records, e);
            own.syscw++;
        }
        if (announced && i == exec)
            break;
    }
    return own;
}

struct overhead_io probe_overhead_of_exec(const struct record_index *records, uint32_t exec)
{
    return (struct overhead_io){ .wchar = frame_bytes(records, &records->list[exec]), .syscw = 1 };
}

void probe_overhead_subtract(const struct overhead_io *own, struct counters *counters)
{
    counters_take_off(counters, COUNTER_rchar, own->rchar);
    counters_take_off(counters, COUNTER_syscr, own->syscr);
    counters_take_off(counters, COUNTER_wchar, own->wchar);
    counters_take_off(counters, COUNTER_syscw, own->syscw);
}
