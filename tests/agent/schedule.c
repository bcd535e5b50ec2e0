/* Ticks at multiples of their periods: with a simulated clock, and with the real one. */
#include "agent/schedule.h"

#include "tools/unit.h"

#include <poll.h>
#include <sys/timex.h>

#define HOUR (3600 * NS_PER_S)
#define BOOT (1000 * NS_PER_S) /* monotonic time at START */
#define START (1800000000 * NS_PER_S + 123456789)

/* A node's two clocks, and what the agent's loop does. */
struct fake {
    struct schedule schedule;
    uint64_t real_ns, monotonic_ns;
};

static void begin(struct fake *fake)
{
    assert_int_equal(schedule_open(&fake->schedule), OK);
    fake->real_ns = START;
    fake->monotonic_ns = BOOT;
    fake->schedule.ahead_ns = START - BOOT;
}

static size_t pass(struct fake *fake, uint64_t ns)
{
    fake->real_ns += ns;
    fake->monotonic_ns += ns;
    return schedule_update(&fake->schedule, fake->real_ns, fake->monotonic_ns);
}

static size_t add(struct fake *fake, uint64_t period_ns)
{
    size_t slot;
    assert_int_equal(schedule_add(&fake->schedule, period_ns, fake->real_ns, &slot), OK);
    return slot;
}

static void ticks_fall_on_multiples(void **state)
{
    (void)state;
    static const uint64_t periods[] = { NS_PER_MS, 7 * NS_PER_MS, NS_PER_S };
    struct fake fake;
    begin(&fake);
    for (size_t i = 0; i < 3; i++) {
        size_t slot = add(&fake, periods[i]);
        uint64_t next_ns = fake.schedule.slots[slot].next_ns;
        assert_int_equal(next_ns % periods[i], 0);
        assert_true(next_ns > START && next_ns <= START + periods[i]);
        assert_int_equal(pass(&fake, next_ns - START - 1), 0);
        assert_int_equal(pass(&fake, 1), 1);
        schedule_remove(&fake.schedule, slot);
        fake.real_ns = START;
        fake.monotonic_ns = BOOT;
        fake.schedule.ahead_ns = START - BOOT;
    }
    schedule_close(&fake.schedule);
}

/* The first tick is at the next second, so that there is a value soon; then at multiples. */
static void long_period_starts_soon(void **state)
{
    (void)state;
    static const uint64_t periods[] = { 1500 * NS_PER_MS, 90 * NS_PER_S, HOUR };
    struct fake fake;
    begin(&fake);
    for (size_t i = 0; i < 3; i++) {
        size_t slot = add(&fake, periods[i]);
        const struct schedule_slot *s = &fake.schedule.slots[slot];
        assert_int_equal(s->next_ns % NS_PER_S, 0);
        assert_int_equal(pass(&fake, s->next_ns - fake.real_ns), 1);
        assert_true(s->next_ns > fake.real_ns && s->next_ns <= fake.real_ns + periods[i]);
        assert_int_equal(s->next_ns % periods[i], 0);
        assert_int_equal(pass(&fake, s->next_ns - fake.real_ns), 1);
        assert_int_equal(s->next_ns, fake.real_ns + periods[i]);
        assert_int_equal(s->counts.late + s->counts.missed, 0);
        schedule_remove(&fake.schedule, slot);
    }
    schedule_close(&fake.schedule);
}

static void each_slot_has_its_own_ticks(void **state)
{
    (void)state;
    struct fake fake;
    begin(&fake);
    size_t quick = add(&fake, 10 * NS_PER_MS), slow = add(&fake, NS_PER_S);
    for (int i = 0; i < 3000; i++)
        pass(&fake, NS_PER_MS);
    assert_int_equal(fake.schedule.slots[quick].counts.ticks, 300);
    assert_int_equal(fake.schedule.slots[slow].counts.ticks, 3);
    assert_int_equal(fake.schedule.slots[quick].counts.late, 0);
    assert_int_equal(fake.schedule.counts.ticks, 300); /* the slow ones coincide with fast ones */
    schedule_close(&fake.schedule);
}

static void late_ticks_are_counted_missed_ones_skipped(void **state)
{
    (void)state;
    struct fake fake;
    begin(&fake);
    size_t slot = add(&fake, NS_PER_S);
    const struct schedule_slot *s = &fake.schedule.slots[slot];
    assert_int_equal(pass(&fake, s->next_ns - fake.real_ns + 9 * NS_PER_MS), 1);
    assert_int_equal(s->counts.late, 0);
    assert_int_equal(pass(&fake, s->next_ns - fake.real_ns + 11 * NS_PER_MS), 1);
    assert_int_equal(s->counts.late, 1);
    assert_int_equal(s->counts.missed, 0);
    assert_int_equal(pass(&fake, s->next_ns - fake.real_ns + 3500 * NS_PER_MS), 1);
    assert_int_equal(s->counts.late, 2);
    assert_int_equal(s->counts.missed, 3);
    assert_int_equal(s->counts.worst_ns, 3500 * NS_PER_MS);
    assert_int_equal(fake.schedule.counts.missed, 3);
    assert_int_equal(pass(&fake, NS_PER_MS), 0);
    assert_int_equal(pass(&fake, 499 * NS_PER_MS), 1); /* back at the multiple */
    assert_int_equal(fake.real_ns % NS_PER_S, 0);
    schedule_close(&fake.schedule);
}

/* Advances in steps of 1 ms for 10 s; returns the longest pause between ticks by the monotonic clock. */
static uint64_t longest_pause(struct fake *fake, size_t *ticks)
{
    uint64_t last_ns = fake->monotonic_ns, longest_ns = 0;
    *ticks = 0;
    for (int i = 0; i < 10000; i++) {
        if (!pass(fake, NS_PER_MS))
            continue;
        ++*ticks;
        if (fake->monotonic_ns - last_ns > longest_ns)
            longest_ns = fake->monotonic_ns - last_ns;
        last_ns = fake->monotonic_ns;
    }
    return longest_ns;
}

static void clock_set_back_leaves_no_gap(void **state)
{
    (void)state;
    struct fake fake;
    size_t ticks;
    begin(&fake);
    size_t slot = add(&fake, NS_PER_S);
    pass(&fake, NS_PER_S);
    fake.real_ns -= HOUR;
    assert_true(longest_pause(&fake, &ticks) <= NS_PER_S);
    assert_int_equal(ticks, 10);
    assert_int_equal(fake.schedule.clock_sets, 1);
    assert_int_equal(fake.schedule.slots[slot].counts.missed, 0);
    assert_int_equal(fake.schedule.slots[slot].next_ns % NS_PER_S, 0);
    schedule_close(&fake.schedule);
}

static void clock_set_forward_makes_no_burst(void **state)
{
    (void)state;
    struct fake fake;
    size_t ticks;
    begin(&fake);
    size_t slot = add(&fake, NS_PER_S);
    pass(&fake, fake.schedule.slots[slot].next_ns - fake.real_ns);
    fake.real_ns += HOUR + 200 * NS_PER_MS;
    assert_true(longest_pause(&fake, &ticks) <= NS_PER_S);
    assert_in_range(ticks, 10, 11);
    assert_int_equal(fake.schedule.slots[slot].counts.missed, 0); /* they never existed */
    assert_int_equal(fake.schedule.slots[slot].counts.late, 0);
    assert_int_equal(fake.schedule.slots[slot].next_ns % NS_PER_S, 0);
    schedule_close(&fake.schedule);
}

static void period_change_makes_no_longer_pause(void **state)
{
    (void)state;
    struct fake fake;
    begin(&fake);
    size_t slot = add(&fake, HOUR), other = add(&fake, NS_PER_S);
    uint64_t other_next_ns = fake.schedule.slots[other].next_ns;
    assert_int_equal(schedule_change(&fake.schedule, slot, 100 * NS_PER_MS, fake.real_ns), OK);
    assert_true(fake.schedule.slots[slot].next_ns <= fake.real_ns + 100 * NS_PER_MS);
    assert_int_equal(fake.schedule.slots[other].next_ns, other_next_ns);
    assert_int_equal(schedule_change(&fake.schedule, slot, NS_PER_MS - 1, fake.real_ns), USAGE);
    assert_int_equal(schedule_change(&fake.schedule, slot, 0, fake.real_ns), USAGE);
    assert_int_equal(fake.schedule.slots[slot].period_ns, 100 * NS_PER_MS);
    schedule_close(&fake.schedule);
}

static void first_ticks_are_aligned(void **state)
{
    (void)state;
    struct fake fake;
    begin(&fake);
    size_t first = add(&fake, NS_PER_MS);
    fake.real_ns += 3 * NS_PER_MS; /* opening took time */
    size_t second = add(&fake, NS_PER_MS);
    assert_int_not_equal(fake.schedule.slots[first].next_ns, fake.schedule.slots[second].next_ns);
    schedule_align_first_ticks(&fake.schedule, fake.real_ns);
    assert_int_equal(fake.schedule.slots[first].next_ns, fake.schedule.slots[second].next_ns);
    assert_true(fake.schedule.slots[first].next_ns > fake.real_ns);
    schedule_close(&fake.schedule);
}

static void slots_are_reused(void **state)
{
    (void)state;
    struct fake fake;
    begin(&fake);
    size_t first = add(&fake, NS_PER_S);
    add(&fake, NS_PER_S);
    schedule_remove(&fake.schedule, first);
    assert_int_equal(pass(&fake, NS_PER_S), 1);
    assert_int_equal(add(&fake, NS_PER_S), first);
    for (size_t i = 2; i < SCHEDULE_SLOTS_MAX; i++)
        add(&fake, NS_PER_S);
    size_t slot;
    assert_int_equal(schedule_add(&fake.schedule, NS_PER_S, START, &slot), FULL);
    schedule_close(&fake.schedule);
}

static void wait_for(struct schedule *schedule)
{
    assert_int_equal(schedule_arm(schedule), OK);
    assert_int_equal(poll(&(struct pollfd){ .fd = schedule->fd, .events = POLLIN }, 1, 60000), 1);
    schedule_read(schedule);
}

/* Two periods of which neither is a multiple of the other, so that the timer cannot repeat by itself; then one alone. */
static void real_timer_wakes_on_time(void **state)
{
    (void)state;
    struct schedule schedule;
    size_t first, second;
    assert_int_equal(schedule_open(&schedule), OK);
    assert_int_equal(schedule_add(&schedule, 20 * NS_PER_MS, clock_realtime_ns(), &first), OK);
    assert_int_equal(schedule_add(&schedule, 30 * NS_PER_MS, clock_realtime_ns(), &second), OK);
    uint64_t begin_ns = clock_realtime_ns(), real_ns = begin_ns;
    while (schedule.slots[second].counts.ticks + schedule.slots[second].counts.missed < 4) {
        wait_for(&schedule);
        real_ns = clock_realtime_ns();
        schedule_update(&schedule, real_ns, clock_monotonic_ns());
    }
    uint64_t passed_ns = real_ns - begin_ns;
    assert_true(passed_ns >= 90 * NS_PER_MS);
    assert_in_range(schedule.slots[first].counts.ticks + schedule.slots[first].counts.missed,
                    passed_ns / (20 * NS_PER_MS) - 1, passed_ns / (20 * NS_PER_MS) + 1);
    schedule_remove(&schedule, second);
    assert_int_equal(schedule_arm(&schedule), OK);
    assert_int_equal(schedule.armed_every_ns, 20 * NS_PER_MS);
    uint64_t armed_ns = schedule.armed_ns;
    for (int i = 0; i < 3; i++) {
        wait_for(&schedule);
        assert_int_equal(schedule_update(&schedule, clock_realtime_ns(), clock_monotonic_ns()), 1);
    }
    assert_int_equal(schedule.armed_ns, armed_ns); /* it repeats by itself */
    schedule_close(&schedule);
}

/* Counts as setting the clock for the kernel, however small the change; false: not permitted. */
static bool set_clock_by_ns(long ns)
{
    struct timex change = { .modes = ADJ_SETOFFSET | ADJ_NANO };
    change.time.tv_sec = ns < 0 ? -1 : 0;
    change.time.tv_usec = ns < 0 ? 1000000000 + ns : ns;
    return clock_adjtime(CLOCK_REALTIME, &change) >= 0;
}

/* With a tick an hour away, or with only_clock_changes. */
static void check_clock_set_is_signalled(bool only_clock_changes)
{
    struct schedule schedule;
    size_t slot;
    assert_int_equal(schedule_open(&schedule), OK);
    schedule.only_clock_changes = only_clock_changes;
    assert_int_equal(schedule_add(&schedule, HOUR, clock_realtime_ns() / HOUR * HOUR, &slot), OK);
    schedule.slots[slot].next_ns += 2 * HOUR;
    assert_int_equal(schedule_arm(&schedule), OK);
    assert_true(set_clock_by_ns(1));
    assert_int_equal(poll(&(struct pollfd){ .fd = schedule.fd, .events = POLLIN }, 1, 60000), 1);
    schedule_read(&schedule);
    assert_int_equal(schedule.armed_ns, 0); /* and it is armed again */
    assert_int_equal(schedule_arm(&schedule), OK);
    assert_int_equal(poll(&(struct pollfd){ .fd = schedule.fd, .events = POLLIN }, 1, 0), 0);
    assert_true(set_clock_by_ns(-1));
    assert_int_equal(poll(&(struct pollfd){ .fd = schedule.fd, .events = POLLIN }, 1, 60000), 1);
    schedule_close(&schedule);
}

static void clock_set_is_signalled(void **state)
{
    (void)state;
    if (!set_clock_by_ns(1))
        leave_out("only root may set the clock, if only by a nanosecond");
    set_clock_by_ns(-1);
    check_clock_set_is_signalled(false);
    check_clock_set_is_signalled(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_fall_on_multiples),
        cmocka_unit_test(long_period_starts_soon),
        cmocka_unit_test(each_slot_has_its_own_ticks),
        cmocka_unit_test(late_ticks_are_counted_missed_ones_skipped),
        cmocka_unit_test(clock_set_back_leaves_no_gap),
        cmocka_unit_test(clock_set_forward_makes_no_burst),
        cmocka_unit_test(period_change_makes_no_longer_pause),
        cmocka_unit_test(first_ticks_are_aligned),
        cmocka_unit_test(slots_are_reused),
        cmocka_unit_test(real_timer_wakes_on_time),
        cmocka_unit_test(clock_set_is_signalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
