/* Arbitrary bytes as a datagram of taskstats: every record must lie within it and be consistent. The first two bytes are
 * the id of the netlink family. */
#include "proc/taskstats_exits.h"

#include <stdlib.h>
#include <string.h>

int fuzz_taskstats_exits(const uint8_t *data, size_t size);

static void check(void *context, const struct taskstats_record *record)
{
    const struct bytes *datagram = context;
    if (record->name.size && (record->name.data < datagram->data
                              || record->name.data + record->name.size > datagram->data + datagram->size))
        abort();
    if (record->start_ns > record->end_ns || record->counters.known >> COUNTERS_SIZE || record->process_ended > 1)
        abort();
    if (counters_has(&record->counters, COUNTER_time_oncpu)
        && counters_cpu_us(&record->counters) != record->counters.value[COUNTER_time_oncpu] / 1000)
        abort();
}

int fuzz_taskstats_exits(const uint8_t *data, size_t size)
{
    uint16_t family;
    if (size < sizeof family)
        return 0;
    memcpy(&family, data, sizeof family);
    struct bytes datagram = { (const char *)data + sizeof family, size - sizeof family };
    struct taskstats_accounting accounting = { .io = true, .delays = true, .now_ns = 1794774190926205293ull };
    taskstats_exits_parse(datagram, family, &accounting, check, &datagram);
    return 0;
}
