/* Thread records. */
#include "tools/unit.h"
#include "tools/probed.h"

static struct probed probed;

static int open_probed(void **state)
{
    (void)state;
    probed_open(&probed);
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    probed_close(&probed);
    return 0;
}

static void assert_thread(size_t n, uint64_t at_least_us, bool alive)
{
    struct thread_record thread;
    assert_true(probed_thread(&probed, n, &thread));
    assert_int_equal(thread.pid, probed.pid);
    assert_true(thread.tid != thread.pid && thread.tid > 0);
    assert_bytes(thread.name, "worker");
    assert_true(thread.start_ns > 0 && thread.end_ns >= thread.start_ns + at_least_us * 1000);
    assert_int_equal(thread.alive, alive);
    uint64_t used_us = counters_cpu_us(&thread.counters);
    assert_true(used_us >= at_least_us && used_us < at_least_us + 25000);
    uint64_t used_ns = counters_get(&thread.counters, COUNTER_time_oncpu);
    assert_true(used_ns >= at_least_us * 1000 && used_ns < (at_least_us + 25000) * 1000);
    assert_true(counters_has(&thread.counters, COUNTER_processor));
    assert_true(counters_has(&thread.counters, COUNTER_rchar));
    assert_true(counters_has(&thread.counters, COUNTER_timeslices));
}

static void every_end_of_a_thread(void **state)
{
    (void)state;
    const char *hows[] = { "return", "exit", "cancel", "detached", "c11", "small", "alive", "destructor" };
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        struct end_record end;
        temp_write(probed.spool, "", 0);
        probed_act(&probed, "threads", hows[i]);
        assert_int_equal(probed.status, 0);
        assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 3);
        bool alive = strcmp(hows[i], "alive") == 0;
        uint64_t used_us = strcmp(hows[i], "destructor") == 0 ? 50000 : 20000; /* three rounds of 10 ms before the last */
        for (size_t n = 0; n < 3; n++)
            assert_thread(n, used_us, alive);
        assert_true(probed_end(&probed, 0, &end));
        assert_int_equal(end.threads, 4);
        assert_int_equal(counters_get(&end.main, COUNTER_num_threads), alive ? 4 : 1);
        assert_true(counters_cpu_us(&end.self) >= 3 * used_us);
        assert_true(counters_cpu_us(&end.main) < 20000);
    }
}

/* The kernel accounts threads at ticks and context switches: one that ends in between has run up to 4 ms longer. */
static void cpu_time_since_the_last_tick_is_included(void **state)
{
    (void)state;
    probed_act(&probed, "threads", "unasked");
    assert_int_equal(probed.status, 0);
    for (size_t n = 0; n < 3; n++) {
        struct thread_record thread;
        assert_true(probed_thread(&probed, n, &thread));
        uint64_t used_us = counters_cpu_us(&thread.counters);
        uint64_t clock_us = counters_get(&thread.counters, COUNTER_time_oncpu) / 1000;
        assert_true(used_us + 200 > clock_us && clock_us + 200 > used_us);
    }
}

static void with_taskstats_the_probe_reads_less(void **state)
{
    (void)state;
    struct thread_record thread;
    probed.env[0] = "SONDE_PROBE=k";
    probed_act(&probed, "threads", "return");
    assert_true(probed_thread(&probed, 0, &thread));
    assert_true(counters_cpu_us(&thread.counters) >= 20000);
    assert_false(counters_has(&thread.counters, COUNTER_rchar));
}

static void delays_with_delay_accounting(void **state)
{
    (void)state;
    struct thread_record thread;
    struct end_record end;
    probed.env[0] = "SONDE_PROBE=d";
    probed_act(&probed, "threads", "return");
    assert_true(probed_thread(&probed, 0, &thread) && probed_end(&probed, 0, &end));
    assert_true(counters_has(&thread.counters, COUNTER_delayacct_blkio_time));
    assert_true(counters_has(&end.main, COUNTER_delayacct_blkio_time));
}

/* A child has none of its parent's threads, even if it ends before its own first one has started. */
static void a_forked_process_has_no_other_threads(void **state)
{
    (void)state;
    struct thread_record thread;
    probed_act(&probed, "unborn_thread", "");
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_end), 2);
    assert_int_equal(probed_count(&probed, RECORD_KIND_thread), 3);
    for (size_t n = 0; n < 3; n++)
        assert_true(probed_thread(&probed, n, &thread) && thread.pid == (uint64_t)probed.pid);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* All are recorded, none twice. */
static void crowd(const char *total, const char *at_once, size_t count)
{
    char tool[TEMP_PATH_MAX];
    uint64_t *tids = malloc(count * sizeof *tids);
    size_t n = 0;
    temp_join(tool, getenv("TOOLS"), "crowd");
    probed_program(&probed, (char *[]){ tool, "threads", (char *)total, (char *)at_once, NULL });
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed_lost(&probed), 0);
    for (size_t i = 0; i < probed.count; i++) {
        struct thread_record thread;
        if (probed.records[i].kind != RECORD_KIND_thread)
            continue;
        assert_int_equal(record_unpack_thread(probed.records[i].body, &thread), OK);
        assert_true(n < count);
        tids[n++] = thread.start_ns * 1000003 + thread.tid;
    }
    assert_int_equal(n, count);
    qsort(tids, n, sizeof *tids, by_number);
    for (size_t i = 1; i < n; i++)
        assert_true(tids[i] != tids[i - 1]);
    struct end_record end;
    assert_true(probed_end(&probed, 0, &end));
    assert_int_equal(end.threads, count + 1);
    free(tids);
}

static void a_thousand_at_once(void **state)
{
    (void)state;
    crowd("1000", "1000", 1000);
}

static void eight_thousand_in_total(void **state)
{
    (void)state;
    crowd("8000", "200", 8000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(every_end_of_a_thread),
        TEST(cpu_time_since_the_last_tick_is_included),
        TEST(with_taskstats_the_probe_reads_less),
        TEST(delays_with_delay_accounting),
        TEST(a_forked_process_has_no_other_threads),
        TEST(a_thousand_at_once),
        TEST(eight_thousand_in_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
