/* Every process of the node is told of: those that are not ours cost one look into a short list. */
#include "run/attach_events.h"

#include "base/clock.h"

#include <string.h>

#define EVENTS_PER_S 1024 /* beyond them each would wake us, and that would be all that we do */
#define LAZY_MS 50

void attach_events_open(struct attach_events *events, struct attach_lives *lives)
{
    *events = (struct attach_events){ .forks.fd = -1, .exits.fd = -1, .lives = lives };
    if (!lives || forks_open(&events->forks) != OK) {
        events->forks.fd = -1;
        return;
    }
    if (exits_open(&events->exits) != OK)
        events->exits.fd = -1;
    lives->hears = true;
    lives->hears_used = events->exits.fd >= 0;
}

void attach_events_close(struct attach_events *events)
{
    forks_close(&events->forks);
    if (events->exits.fd >= 0)
        exits_close(&events->exits);
    events->forks.fd = events->exits.fd = -1;
}

static void on_event(void *context, const struct fork_event *event)
{
    struct attach_events *events = context;
    events->count++;
    if (event->kind == FORKS_EXEC)
        attach_lives_executed(events->lives, event);
    else if (event->kind == FORKS_EXIT)
        attach_lives_left(events->lives, event);
    else if (attach_lives_made(events->lives, event))
        events->begun[event->tid % ATTACH_EVENTS_BEGUN] = (struct attach_begun){ event->tid, event->time_ns };
}

/* An exit record tells how long the task lived, its fork exactly when. Of those that were there before us it has what they used
 * before, too. */
static bool take_used(struct attach_events *events, struct taskstats_record record)
{
    const struct attach_begun *begun = &events->begun[record.tid % ATTACH_EVENTS_BEGUN];
    if (begun->tid != record.tid)
        return false;
    if (record.start_ns && record.end_ns >= record.start_ns) {
        record.end_ns = begun->start_ns + (record.end_ns - record.start_ns);
        record.start_ns = begun->start_ns;
    }
    writer_add_taskstats(events->lives->writer, &record);
    return true;
}

/* Those that are strangers still are none of ours. */
static void settle(struct attach_events *events)
{
    if (!events->held_count)
        return;
    forks_read(&events->forks, on_event, events);
    for (size_t i = 0; i < events->held_count; i++)
        if (!take_used(events, events->held[i].record))
            attach_lives_used(events->lives, &events->held[i].record);
    events->held_count = 0;
}

/* It may have been made, and have ended, since forks were read. */
static void on_used(void *context, const struct taskstats_record *record)
{
    struct attach_events *events = context;
    if (take_used(events, *record))
        return;
    struct attach_held *held = &events->held[events->held_count++];
    size_t size = record->name.size < sizeof held->name ? record->name.size : sizeof held->name;
    held->record = *record;
    if (size)
        memcpy(held->name, record->name.data, size);
    held->record.name = (struct bytes){ held->name, size };
    if (events->held_count == ATTACH_EVENTS_HELD)
        settle(events);
}

void attach_events_read(struct attach_events *events)
{
    uint64_t second = clock_monotonic_ns() / NS_PER_S;
    if (events->forks.fd < 0)
        return;
    if (second != events->second)
        events->count = 0;
    events->second = second;
    forks_read(&events->forks, on_event, events);
    if (events->exits.fd >= 0)
        exits_read(&events->exits, on_used, events);
    settle(events);
    attach_lives_heard(events->lives);
}

int attach_events_fd(const struct attach_events *events)
{
    return events->count < EVENTS_PER_S ? events->forks.fd : -1;
}

int attach_events_timeout_ms(const struct attach_events *events)
{
    return events->forks.fd < 0 ? -1 : LAZY_MS;
}
