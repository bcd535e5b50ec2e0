/* A sink in a thread of its own: one that is slow, that fails, that nobody reads any more. */
#include "agent/aside.h"

#include "base/clock.h"
#include "tools/caught.h"
#include "tools/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static const struct metric metrics[] = { { "n", "1", COUNTER, U64, "" } };
static const struct set set = { "feed", metrics, 1 };

/* A sink that does as it is told. */
static struct {
    atomic_bool is_stuck, fails;
    atomic_ullong written, flushed;
    enum err answer;
    bool is_in_order;
    char host[32];
} fake;

static enum err fake_write(void *state, const struct batch *batch)
{
    (void)state;
    while (fake.is_stuck)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    if (fake.fails)
        return fake.answer;
    for (size_t i = 0; i < batch->count; i++)
        fake.is_in_order = fake.is_in_order && batch->samples[i].values[0].u64 == fake.written++;
    snprintf(fake.host, sizeof fake.host, "%s", batch->host);
    return OK;
}

static enum err fake_flush(void *state, uint64_t deadline_ns)
{
    (void)state, (void)deadline_ns;
    if (fake.fails)
        return fake.answer;
    fake.flushed = fake.written;
    return OK;
}

static void fake_close(void *state)
{
    (void)state;
}

static const struct sink sink = { .name = "fake", .about = "", .write = fake_write, .flush = fake_flush, .close = fake_close };
static struct aside *aside;
static struct batch batch;

static int begin(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.is_in_order = true;
    batch_init(&batch);
    return aside_open(&aside, &sink, NULL);
}

static int end(void **state)
{
    (void)state;
    batch_clear(&batch);
    return aside_close(&aside, 0) == NOMEM;
}

static enum err give(uint64_t n)
{
    char instance[] = "gone soon";
    batch_reset(&batch);
    batch.host = "n1";
    sample_set_u64(batch_add(&batch, &set, NS_PER_S + n, instance), 0, n);
    return aside_take(aside, &batch);
}

static void all_arrives_in_order_however_slow_it_is(void **state)
{
    (void)state;
    fake.is_stuck = true;
    uint64_t begin_ns = clock_monotonic_ns();
    for (uint64_t n = 0; n < 1000; n++)
        assert_int_equal(give(n), OK);
    assert_true(clock_monotonic_ns() - begin_ns < 10 * NS_PER_S); /* nobody waited for it */
    assert_int_equal(fake.written, 0);
    fake.is_stuck = false;
    assert_int_equal(aside_close(&aside, 60 * NS_PER_S), OK);
    assert_int_equal(fake.written, 1000);
    assert_int_equal(fake.flushed, 1000);
    assert_true(fake.is_in_order);
    assert_string_equal(fake.host, "n1");
}

static void what_fails_is_tried_again_and_told_once(void **state)
{
    (void)state;
    catch_stderr();
    fake.answer = IO;
    fake.fails = true;
    for (uint64_t n = 0; n < 10; n++)
        assert_int_equal(give(n), OK);
    nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
    fake.fails = false;
    assert_int_equal(aside_close(&aside, 60 * NS_PER_S), OK);
    const char *said = caught_text();
    assert_int_equal(lines_in(said), 2);
    assert_int_equal(fake.flushed, 10);
    assert_true(fake.is_in_order);
    assert_string_equal(said, "sonde: the sink fake is behind: input/output error; what was read is kept for it, "
                              "as much as fits\nsonde: the sink fake has caught up\n");
}

static void what_cannot_be_handed_over_in_time_is_told(void **state)
{
    (void)state;
    catch_stderr();
    fake.answer = DENIED;
    fake.fails = true;
    assert_int_equal(give(0), OK);
    uint64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(aside_close(&aside, NS_PER_S / 2), DENIED);
    assert_true(clock_monotonic_ns() - begin_ns < 30 * NS_PER_S);
    assert_int_equal(lines_in(caught_text()), 1);
}

static void one_that_nobody_reads_is_given_up(void **state)
{
    (void)state;
    fake.answer = GONE;
    fake.fails = true;
    enum err err = OK;
    for (int i = 0; i < 2000 && err != GONE; i++) {
        err = give(0);
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    assert_int_equal(err, GONE);
    assert_int_equal(aside_close(&aside, 0), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_arrives_in_order_however_slow_it_is, begin, end),
        cmocka_unit_test_setup_teardown(what_fails_is_tried_again_and_told_once, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_handed_over_in_time_is_told, begin, end),
        cmocka_unit_test_setup_teardown(one_that_nobody_reads_is_given_up, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
