/* Differences per thread between two readings. A tid that was not in the previous reading is a new thread, whose whole
 * count is new. */
#include "proc/context_switches.h"

#include "base/vec.h"

#include <stdlib.h>

void context_switches_clear(struct context_switches *switches)
{
    for (int i = 0; i < 2; i++) {
        pidmap_clear(&switches->maps[i]);
        free(switches->last[i]);
    }
    *switches = (struct context_switches){ 0 };
}

void context_switches_begin(struct context_switches *switches)
{
    switches->now = !switches->now;
    switches->count = 0;
    switches->live = (struct taskfile_switches){ 0 };
    pidmap_reset(&switches->maps[switches->now]);
}

static enum err save(struct context_switches *switches, uint32_t tid, const struct taskfile_switches *value)
{
    unsigned now = switches->now;
    if (array_reserve(switches->last[now], switches->capacities[now], switches->count + 1, VEC_MAX))
        return NOMEM;
    switches->last[now][switches->count] = *value;
    return pidmap_put(&switches->maps[now], tid, (uint32_t)switches->count++);
}

enum err context_switches_add(struct context_switches *switches, uint32_t tid, const struct taskfile_switches *value)
{
    unsigned before = !switches->now;
    uint32_t place = pidmap_get(&switches->maps[before], tid);
    struct taskfile_switches base = { 0 };
    if (place != PIDMAP_NONE)
        base = switches->last[before][place];
    if (value->voluntary < base.voluntary || value->involuntary < base.involuntary)
        base = (struct taskfile_switches){ 0 }; /* another thread with the same tid */
    switches->live.voluntary += value->voluntary;
    switches->live.involuntary += value->involuntary;
    switches->sum.voluntary += value->voluntary - base.voluntary;
    switches->sum.involuntary += value->involuntary - base.involuntary;
    return save(switches, tid, value);
}
