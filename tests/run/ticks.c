/* Ticks are multiples of the period, each set is described before its samples, missed ticks are counted. */
#include "run/ticks.h"

#include "base/clock.h"
#include "tools/temp.h"
#include "tools/unit.h"
#include "spool/spool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PERIOD_NS (20 * NS_PER_MS)

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
static struct spool_writer writer;
static struct ticks ticks;
static struct sampler_context context;

static int start(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "x.spool");
    spool_writer_init_take(&writer, open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    context = (struct sampler_context){ .root = "", .pid = getpid() };
    return ticks_open(&ticks, &context, PERIOD_NS, &writer) != OK;
}

static int stop(void **state)
{
    (void)state;
    ticks_close(&ticks);
    spool_writer_close(&writer);
    temp_remove(dir);
    return 0;
}

static void await_tick(void)
{
    struct pollfd polled = { .fd = ticks.fd, .events = POLLIN };
    assert_int_equal(poll(&polled, 1, 60000), 1);
}

static void ticks_fall_on_multiples_of_the_period(void **state)
{
    (void)state;
    uint64_t best = PERIOD_NS;
    for (int i = 0; i < 200 && best >= 5 * NS_PER_MS; i++) { /* a busy node may be late, never early */
        await_tick();
        uint64_t behind = clock_realtime_ns() % PERIOD_NS;
        ticks_read(&ticks);
        best = behind < best ? behind : best;
    }
    assert_true(best < 5 * NS_PER_MS);
}

static void ticks_before_the_first_sample_are_not_late(void **state)
{
    (void)state;
    usleep(20 * PERIOD_NS / 1000);
    ticks_sample_first(&ticks);
    await_tick();
    ticks_read(&ticks);
    assert_true(ticks.late < 10); /* 0, unless this node is busy */
}

static void late_ticks_are_counted(void **state)
{
    (void)state;
    await_tick();
    ticks_read(&ticks);
    uint64_t before = ticks.late, begin_ns = clock_monotonic_ns();
    usleep(5 * PERIOD_NS / 1000);
    ticks_read(&ticks);
    assert_true(ticks.late - before >= 3);
    ticks_read(&ticks); /* nothing expired: not late, and no sample */
    assert_true(ticks.late - before <= (clock_monotonic_ns() - begin_ns) / PERIOD_NS + 1);
}

/* Counts in the spool how often the set of this name was described, and its samples. Values must match the
 * description. */
static void count(const char *name, size_t *sets, size_t *samples)
{
    struct spool_reader reader;
    enum record_kind kind;
    struct bytes body;
    uint64_t number = UINT64_MAX, size = 0;
    *sets = *samples = 0;
    assert_int_equal(spool_open(&reader, path), OK);
    while (spool_next(&reader, &kind, &body) == OK) {
        struct set_record set;
        struct sample_record sample;
        if (kind == RECORD_KIND_set) {
            assert_int_equal(record_unpack_set(body, &set), OK);
            if (bytes_equal(set.name, bytes_of(name))) {
                ++*sets;
                number = set.set;
                size = set.size;
            }
        } else {
            assert_int_equal(kind, RECORD_KIND_sample);
            assert_int_equal(record_unpack_sample(body, &sample), OK);
            if (sample.set != number)
                continue;
            ++*samples;
            struct unpacker u = { (const uint8_t *)sample.values.data,
                                  (const uint8_t *)sample.values.data + sample.values.size, false };
            for (uint64_t i = 0; i < size; i++)
                if (unpack_number(&u))
                    unpack_number(&u);
            assert_false(u.bad);
            assert_true(u.at == u.end);
        }
    }
    spool_close(&reader);
}

static void sets_are_described_once_and_first(void **state)
{
    (void)state;
    size_t sets, samples;
    for (int i = 0; i < 3; i++)
        ticks_sample(&ticks);
    spool_writer_flush(&writer);
    count("meminfo", &sets, &samples);
    assert_int_equal(sets, 1);
    assert_int_equal(samples, 3);
    count("loadavg", &sets, &samples);
    assert_int_equal(sets, 1);
    assert_int_equal(samples, 3);
}

static uint64_t interval_ns(void)
{
    struct itimerspec timer;
    assert_int_equal(timerfd_gettime(ticks.fd, &timer), 0);
    return (uint64_t)timer.it_interval.tv_sec * NS_PER_S + (uint64_t)timer.it_interval.tv_nsec;
}

static void ticks_for_survivors_become_rarer(void **state)
{
    (void)state;
    await_tick();
    ticks_read(&ticks);
    assert_int_equal(interval_ns(), PERIOD_NS);
    usleep(3 * PERIOD_NS / 1000);
    uint64_t late = ticks.late;
    ticks_start_survivors(&ticks);
    await_tick();
    ticks_read(&ticks);
    assert_int_equal(interval_ns(), PERIOD_NS);
    assert_true(ticks.late - late < 3); /* what was missed before does not count as late */
    ticks.survivors_ns = clock_monotonic_ns() - 1000 * NS_PER_S;
    await_tick();
    ticks_read(&ticks);
    assert_in_range(interval_ns(), 10 * NS_PER_S, 11 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ticks_fall_on_multiples_of_the_period, start, stop),
        cmocka_unit_test_setup_teardown(ticks_before_the_first_sample_are_not_late, start, stop),
        cmocka_unit_test_setup_teardown(late_ticks_are_counted, start, stop),
        cmocka_unit_test_setup_teardown(sets_are_described_once_and_first, start, stop),
        cmocka_unit_test_setup_teardown(ticks_for_survivors_become_rarer, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
