/* Checks for processes in a job's cgroup, or the declared process. */
#include "jobs/job_processes.h"

#include "base/clock.h"
#include "jobs/declared.h"

#define EMPTY_NS (10 * NS_PER_S)        /* a job without processes has ended after this time */
#define DECLARED_EMPTY_NS (60 * NS_PER_S) /* the same for a declared job whose end was not reported */

static bool is_alive(const struct job_registry *registry, struct job_entry *entry)
{
    if (!*entry->key)
        return declared_is_alive(registry, entry);
    return entry->hierarchy_bits && job_registry_is_populated(registry, entry);
}

/* How long a job may be without processes. A declared process does not come back. */
static uint64_t grace_ns(const struct job_entry *entry)
{
    if (!*entry->key)
        return entry->job.pid || !entry->hierarchy_bits ? 0 : EMPTY_NS;
    return entry->is_declared ? DECLARED_EMPTY_NS : EMPTY_NS;
}

void job_processes_check(struct job_registry *registry, struct job_entry *entry, uint64_t now_ns)
{
    bool alive = is_alive(registry, entry), is_pending;
    if (alive) {
        entry->empty_since_ns = 0;
        if (job_registry_set_user_name(registry, entry, &is_pending)) /* a directory service answered late */
            job_registry_change(registry, entry);
        if (entry->has_ended && !entry->ended_explicitly) {
            entry->has_ended = false;
            entry->job.end_ns = 0;
            job_registry_begin(registry, entry);
        }
    } else if (!entry->has_ended) {
        if (!entry->empty_since_ns)
            entry->empty_since_ns = now_ns;
        uint64_t empty_ns = now_ns - entry->empty_since_ns;
        if (empty_ns >= grace_ns(entry))
            job_registry_end(registry, entry, clock_realtime_ns() - empty_ns, false);
    }
}
