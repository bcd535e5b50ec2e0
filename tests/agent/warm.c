/* A warm agent: 100,000 ticks of the six sets that LDMS reads, on a captured node with a simulated clock. Nothing is
 * allocated between two ticks, nothing grows. */
#include "agent/sensors.h"

#include "samplers/all.h"
#include "tools/node.h"
#include "tools/unit.h"

#include <malloc.h>

#define CYCLES 100000
#define WARM 100

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_CALLS 0
static unsigned long calls;
#else
#define COUNTS_CALLS 1
/* The C library's allocator under its internal names. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static unsigned long calls;

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    calls++;
    return __libc_realloc(old, size);
}
#endif

static const struct sampler *const six[] = {
    &sampler_meminfo, &sampler_vmstat, &sampler_stat, &sampler_loadavg, &sampler_netdev, &sampler_diskstats, NULL,
};

struct fixture {
    struct schedule schedule;
    struct latest *live;
    struct sensors *sensors;
    struct agent_config config;
    uint64_t values;
};

static void count_out(void *context, const struct batch *batch)
{
    struct fixture *f = context;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t k = 0; k < batch->samples[i].set->size; k++)
            f->values += batch->samples[i].known[k];
}

static void open_all(struct fixture *f, const char *root)
{
    struct buf error;
    buf_init(&error, 4096);
    struct sensors_settings place = { .root = root, .host = "node", .schedule = &f->schedule, .out = count_out,
                                   .out_context = f };
    assert_int_equal(schedule_open(&f->schedule), OK);
    assert_int_equal(latest_open(&f->live), OK);
    place.live = f->live;
    assert_int_equal(agent_config_init(&f->config, six), OK);
    assert_int_equal(sensors_open(&f->sensors, &place), OK);
    assert_int_equal(sensors_apply(f->sensors, &f->config, &error), OK);
    buf_clear(&error);
}

static void run(struct fixture *f, uint64_t *now_ns, int cycles)
{
    uint64_t ahead_ns = f->schedule.ahead_ns;
    for (int i = 0; i < cycles; i++) {
        *now_ns += NS_PER_S;
        assert_int_equal(schedule_update(&f->schedule, *now_ns, *now_ns - ahead_ns), 6);
        sensors_tick(f->sensors);
    }
}

static void nothing_is_allocated_and_nothing_grows(void **state)
{
    (void)state;
    struct fixture f = { 0 };
    struct sensor_facts facts;
    open_all(&f, node_root("vm"));
    uint64_t now_ns = clock_realtime_ns() / NS_PER_S * NS_PER_S;
    run(&f, &now_ns, WARM);
    for (size_t at = 0; sensors_next(f.sensors, &at, &facts);)
        assert_int_equal(facts.state, SENSOR_READS);
    uint64_t values = f.values;
    size_t entries = latest_count(f.live);
    assert_true(values / WARM > 100);
    struct mallinfo2 before = mallinfo2();
    unsigned long calls_before = calls;
    run(&f, &now_ns, CYCLES);
    unsigned long calls_after = calls;
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(calls_after, calls_before);
    assert_int_equal(after.uordblks, before.uordblks);
    assert_int_equal(after.arena, before.arena);
    assert_int_equal(after.hblkhd, before.hblkhd);
    assert_int_equal(f.values - values, values / WARM * CYCLES);
    assert_int_equal(latest_count(f.live), entries);
    assert_int_equal(f.schedule.counts.ticks, WARM + CYCLES);
    if (COUNTS_CALLS)
        assert_true(calls_before > 0);
    sensors_close(&f.sensors);
    latest_close(&f.live);
    schedule_close(&f.schedule);
    agent_config_clear(&f.config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_and_nothing_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
