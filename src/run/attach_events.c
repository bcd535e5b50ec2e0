/* The sockets report every process of the node: unrelated ones cost one lookup in a short list. */
#include "run/attach_events.h"

#include "base/clock.h"

#include <string.h>

#define EVENTS_PER_S 1024 /* above this rate, waking up for each would be all that we do */
#define READ_INTERVAL_MS 50

void attach_events_open(struct attach_events *events, struct attach_processes *processes)
{
    *events = (struct attach_events){ .forks.fd = -1, .exits.fd = -1, .processes = processes };
    if (!processes || proc_connector_open(&events->forks) != OK) {
        events->forks.fd = -1;
        return;
    }
    if (taskstats_exits_open(&events->exits) != OK)
        events->exits.fd = -1;
    processes->has_events = true;
    processes->has_taskstats = events->exits.fd >= 0;
}

void attach_events_close(struct attach_events *events)
{
    proc_connector_close(&events->forks);
    if (events->exits.fd >= 0)
        taskstats_exits_close(&events->exits);
    events->forks.fd = events->exits.fd = -1;
}

static void on_event(void *context, const struct proc_connector_event *event)
{
    struct attach_events *events = context;
    events->count++;
    if (event->kind == PROC_CONNECTOR_EXEC)
        attach_processes_execed(events->processes, event);
    else if (event->kind == PROC_CONNECTOR_EXIT)
        attach_processes_exited(events->processes, event);
    else if (attach_processes_forked(events->processes, event))
        events->thread_starts[event->tid % ATTACH_EVENTS_THREADS] = (struct attach_thread_start){ event->tid, event->time_ns };
}

/* An exit record has the lifetime of the task, its fork event the exact start. For processes older than the
 * attachment it also includes what they used before. */
static bool record_taskstats(struct attach_events *events, struct taskstats_record record)
{
    const struct attach_thread_start *thread_starts = &events->thread_starts[record.tid % ATTACH_EVENTS_THREADS];
    if (thread_starts->tid != record.tid)
        return false;
    if (record.start_ns && record.end_ns >= record.start_ns) {
        record.end_ns = thread_starts->start_ns + (record.end_ns - record.start_ns);
        record.start_ns = thread_starts->start_ns;
    }
    spool_writer_add_taskstats(events->processes->writer, &record);
    return true;
}

/* Records that are still unknown belong to other processes. */
static void record_pending(struct attach_events *events)
{
    if (!events->pending_count)
        return;
    proc_connector_read(&events->forks, on_event, events);
    for (size_t i = 0; i < events->pending_count; i++)
        if (!record_taskstats(events, events->pending[i].record))
            attach_processes_taskstats(events->processes, &events->pending[i].record);
    events->pending_count = 0;
}

/* The process may have been created, and have ended, since forks were read. */
static void on_taskstats(void *context, const struct taskstats_record *record)
{
    struct attach_events *events = context;
    if (record_taskstats(events, *record))
        return;
    struct attach_pending_exit *pending = &events->pending[events->pending_count++];
    size_t size = record->name.size < sizeof pending->name ? record->name.size : sizeof pending->name;
    pending->record = *record;
    if (size)
        memcpy(pending->name, record->name.data, size);
    pending->record.name = (struct bytes){ pending->name, size };
    if (events->pending_count == ATTACH_EVENTS_PENDING)
        record_pending(events);
}

void attach_events_read(struct attach_events *events)
{
    uint64_t second = clock_monotonic_ns() / NS_PER_S;
    if (events->forks.fd < 0)
        return;
    if (second != events->second)
        events->count = 0;
    events->second = second;
    proc_connector_read(&events->forks, on_event, events);
    if (events->exits.fd >= 0)
        taskstats_exits_read(&events->exits, on_taskstats, events);
    record_pending(events);
    attach_processes_events_done(events->processes);
}

int attach_events_fd(const struct attach_events *events)
{
    return events->count < EVENTS_PER_S ? events->forks.fd : -1;
}

int attach_events_timeout_ms(const struct attach_events *events)
{
    return events->forks.fd < 0 ? -1 : READ_INTERVAL_MS;
}
