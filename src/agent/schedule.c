/* Slots and one timerfd on CLOCK_REALTIME, which the kernel cancels when the clock is set. */
#include "agent/schedule.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NEVER_NS (9000000000 * NS_PER_S) /* a time that never comes */
#define FIRST_TICK_NS NS_PER_S
#define CLOCK_SET_NS (100 * NS_PER_MS) /* the clocks moved apart by more: it was set, not slewed */

enum err schedule_open(struct schedule *schedule)
{
    *schedule = (struct schedule){ .ahead_ns = clock_offset_ns() };
    schedule->fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    return schedule->fd < 0 ? err_from_errno(errno) : OK;
}

void schedule_close(struct schedule *schedule)
{
    if (schedule->fd >= 0)
        close(schedule->fd);
    schedule->fd = -1;
}

static uint64_t next_multiple(uint64_t period_ns, uint64_t real_ns)
{
    return real_ns - real_ns % period_ns + period_ns;
}

/* The first reading of a long period is at the next second, so that users need not wait an hour for it. */
static void set_next(struct schedule_slot *slot, uint64_t real_ns)
{
    bool soon = !slot->counts.ticks && slot->period_ns > FIRST_TICK_NS;
    slot->next_ns = next_multiple(soon ? FIRST_TICK_NS : slot->period_ns, real_ns);
}

enum err schedule_change(struct schedule *schedule, size_t slot, uint64_t period_ns, uint64_t real_ns)
{
    if (period_ns < SCHEDULE_PERIOD_MIN_NS || period_ns > SCHEDULE_PERIOD_MAX_NS)
        return USAGE;
    struct schedule_slot *s = &schedule->slots[slot];
    if (s->period_ns == period_ns)
        return OK;
    s->period_ns = period_ns;
    set_next(s, real_ns);
    return OK;
}

enum err schedule_add(struct schedule *schedule, uint64_t period_ns, uint64_t real_ns, size_t *slot)
{
    size_t i = 0;
    while (i < schedule->count && schedule->slots[i].period_ns)
        i++;
    if (i == SCHEDULE_SLOTS_MAX)
        return FULL;
    schedule->slots[i] = (struct schedule_slot){ 0 };
    enum err err = schedule_change(schedule, i, period_ns, real_ns);
    if (err)
        return err;
    if (i == schedule->count)
        schedule->count++;
    *slot = i;
    return OK;
}

void schedule_remove(struct schedule *schedule, size_t slot)
{
    schedule->slots[slot] = (struct schedule_slot){ 0 };
    while (schedule->count && !schedule->slots[schedule->count - 1].period_ns)
        schedule->count--;
}

void schedule_align_first_ticks(struct schedule *schedule, uint64_t real_ns)
{
    for (size_t i = 0; i < schedule->count; i++) {
        struct schedule_slot *slot = &schedule->slots[i];
        if (slot->period_ns && !slot->counts.ticks)
            set_next(slot, real_ns);
    }
}

static bool clock_was_set(struct schedule *schedule, uint64_t real_ns, uint64_t monotonic_ns)
{
    uint64_t ahead_ns = real_ns - monotonic_ns, moved_ns = ahead_ns - schedule->ahead_ns;
    schedule->ahead_ns = ahead_ns;
    if (moved_ns > UINT64_MAX / 2) /* backwards */
        moved_ns = 0 - moved_ns;
    return moved_ns > CLOCK_SET_NS;
}

static void count(struct schedule_counts *counts, uint64_t late_ns, uint64_t period_ns)
{
    uint64_t allowed_ns = period_ns / 2 < SCHEDULE_LATE_NS ? period_ns / 2 : SCHEDULE_LATE_NS;
    counts->ticks++;
    counts->late += late_ns > allowed_ns;
    counts->missed += late_ns / period_ns;
    if (late_ns > counts->worst_ns)
        counts->worst_ns = late_ns;
}

/* After the clock was set, the delay is unknown. A tick whose time has come by the new clock is due. A tick more than a
 * period ahead was computed with the old clock. */
static void update_slot(struct schedule_slot *slot, uint64_t real_ns, bool set)
{
    slot->due = real_ns >= slot->next_ns;
    if (slot->due)
        count(&slot->counts, set ? 0 : real_ns - slot->next_ns, slot->period_ns);
    if (slot->due || set)
        set_next(slot, real_ns);
}

size_t schedule_update(struct schedule *schedule, uint64_t real_ns, uint64_t monotonic_ns)
{
    bool set = clock_was_set(schedule, real_ns, monotonic_ns);
    size_t due = 0;
    uint64_t late_ns = 0, period_ns = UINT64_MAX;
    for (size_t i = 0; i < schedule->count; i++) {
        struct schedule_slot *slot = &schedule->slots[i];
        if (!slot->period_ns)
            continue;
        uint64_t was_ns = slot->next_ns;
        update_slot(slot, real_ns, set);
        due += slot->due;
        if (slot->due && !set && real_ns - was_ns > late_ns)
            late_ns = real_ns - was_ns;
        if (slot->due && slot->period_ns < period_ns)
            period_ns = slot->period_ns;
    }
    schedule->clock_sets += set;
    schedule->late_ns = late_ns;
    if (due)
        count(&schedule->counts, late_ns, period_ns);
    return due;
}

void schedule_read(struct schedule *schedule)
{
    uint64_t times;
    if (read(schedule->fd, &times, sizeof times) < 0 && errno == ECANCELED)
        schedule->armed_ns = 0; /* the clock was set: the kernel has cancelled the timer */
}

uint64_t schedule_next_ns(const struct schedule *schedule)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->slots[i].period_ns && schedule->slots[i].next_ns < next_ns)
            next_ns = schedule->slots[i].next_ns;
    return next_ns;
}

/* The next tick, and the shortest period if the timer can repeat by itself: all others must be multiples of it. */
static uint64_t next_expiry(const struct schedule *schedule, uint64_t *every_ns)
{
    uint64_t next_ns = schedule_next_ns(schedule), shortest_ns = UINT64_MAX;
    bool is_periodic = true;
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->slots[i].period_ns && schedule->slots[i].period_ns < shortest_ns)
            shortest_ns = schedule->slots[i].period_ns;
    for (size_t i = 0; i < schedule->count; i++)
        is_periodic = is_periodic && schedule->slots[i].period_ns % shortest_ns == 0
                      && schedule->slots[i].next_ns % shortest_ns == 0;
    *every_ns = is_periodic && next_ns != UINT64_MAX ? shortest_ns : 0;
    return next_ns;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
}

static bool is_armed(const struct schedule *schedule, uint64_t next_ns, uint64_t every_ns)
{
    if (!schedule->armed_ns || schedule->armed_every_ns != every_ns)
        return false;
    return every_ns ? next_ns >= schedule->armed_ns && (next_ns - schedule->armed_ns) % every_ns == 0
                    : next_ns == schedule->armed_ns;
}

enum err schedule_arm(struct schedule *schedule)
{
    uint64_t every_ns = 0, next_ns = schedule->only_clock_changes ? NEVER_NS : next_expiry(schedule, &every_ns);
    if (is_armed(schedule, next_ns, every_ns))
        return OK;
    struct itimerspec timer = { .it_value = timespec_of(next_ns), .it_interval = timespec_of(every_ns) };
    if (next_ns == UINT64_MAX)
        timer.it_value = (struct timespec){ 0 };
    if (timerfd_settime(schedule->fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &timer, NULL) != 0 && errno != ECANCELED)
        return err_from_errno(errno);
    schedule->armed_ns = next_ns;
    schedule->armed_every_ns = every_ns;
    return OK;
}
