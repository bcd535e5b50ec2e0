/* Processes of a job, by its folder or by what was told of it. */
#include "jobs/job_processes.h"

#include "base/clock.h"
#include "jobs/declared.h"

#define EMPTY_NS (10 * NS_PER_S)        /* a job without processes has ended after this time */
#define TOLD_LINGERS_NS (60 * NS_PER_S) /* the same for one that was told, whose end nobody told */

static bool is_alive(const struct roll *roll, struct entry *entry)
{
    if (!*entry->key)
        return told_is_alive(roll, entry);
    return entry->folders && roll_is_populated(roll, entry);
}

/* How long a job may be without a process. A process that was told by its number does not come back. */
static uint64_t patience_ns(const struct entry *entry)
{
    if (!*entry->key)
        return entry->job.pid || !entry->folders ? 0 : EMPTY_NS;
    return entry->is_told ? TOLD_LINGERS_NS : EMPTY_NS;
}

void alive_look(struct roll *roll, struct entry *entry, uint64_t now_ns)
{
    bool alive = is_alive(roll, entry), later;
    if (alive) {
        entry->empty_since_ns = 0;
        if (roll_set_user_name(roll, entry, &later)) /* a directory service has taken its time */
            roll_change(roll, entry);
        if (entry->has_ended && !entry->ended_by_word) {
            entry->has_ended = false;
            entry->job.end_ns = 0;
            roll_begin(roll, entry);
        }
    } else if (!entry->has_ended) {
        if (!entry->empty_since_ns)
            entry->empty_since_ns = now_ns;
        uint64_t empty_ns = now_ns - entry->empty_since_ns;
        if (empty_ns >= patience_ns(entry))
            roll_end(roll, entry, clock_realtime_ns() - empty_ns, false);
    }
}
