/* dstat from the set self: all metrics of ldmsd's sampler, in its units. */
#include "compat/ldms/dstat.h"

#include "samplers/all.h"
#include "samplers/sampler_state.h"
#include "tools/unit.h"

#include <string.h>
#include <unistd.h>

static size_t index_of(const char *name)
{
    size_t i = 0;
    while (i < LDMS_DSTAT_SIZE && strcmp(ldms_dstat_set.metrics[i].name, name) != 0)
        i++;
    assert_true(i < LDMS_DSTAT_SIZE);
    return i;
}

static void values_are_in_the_units_of_the_kernel(void **state)
{
    (void)state;
    static const struct metric metrics[] = {
        { "page_size", "B", GAUGE, U64 }, { "rss", "B", GAUGE, U64 }, { "virtual", "B", GAUGE, U64 },
        { "cpu_user", "us", COUNTER, U64 }, { "nice", "1", GAUGE, I64 }, { "threads", "1", GAUGE, U64 },
    };
    const struct set self = { "self", metrics, 6, NULL };
    const union value from[] = { { .u64 = 65536 }, { .u64 = 131072 }, { .u64 = 655360 }, { .u64 = 1234567 }, { .i64 = -5 },
                                 { .u64 = 7 } };
    const uint8_t known[] = { 1, 1, 1, 1, 1, 0 };
    union value to[LDMS_DSTAT_SIZE];
    uint8_t to_known[LDMS_DSTAT_SIZE];
    ldms_dstat_fill(to, to_known, &self, from, known);
    assert_int_equal(to[index_of("rss")].u64, 2);
    assert_int_equal(to[index_of("VmRSS")].u64, 2);
    assert_int_equal(to[index_of("vsize")].u64, 655360);
    assert_int_equal(to[index_of("VmSize")].u64, 10);
    assert_int_equal(to[index_of("utime")].u64, 123);
    assert_int_equal(to[index_of("nice")].i64, -5);
    assert_false(to_known[index_of("num_threads")]);
    assert_false(to_known[index_of("pid")]); /* an agent of an earlier version */
}

/* Every metric can be filled from what the agent reads today. */
static void the_agent_reads_all_of_them(void **state)
{
    (void)state;
    const struct sampler_context context = { .root = "" };
    const struct sampler *const *sampler = sampler_all;
    union value to[LDMS_DSTAT_SIZE];
    uint8_t to_known[LDMS_DSTAT_SIZE];
    struct batch batch;
    while (strcmp((*sampler)->name, "self") != 0)
        sampler++;
    void *memory = calloc(1, (*sampler)->state_size);
    batch_init(&batch);
    assert_int_equal((*sampler)->open(memory, &context), OK);
    assert_int_equal((*sampler)->read(memory, &batch), OK);
    ldms_dstat_fill(to, to_known, batch.samples[0].set, batch.samples[0].values, batch.samples[0].known);
    for (size_t i = 0; i < LDMS_DSTAT_SIZE; i++)
        if (!to_known[i])
            fail_msg("%s is missing", ldms_dstat_set.metrics[i].name);
    assert_int_equal(to[index_of("pid")].u64, getpid());
    assert_int_equal(to[index_of("ppid")].u64, getppid());
    assert_true(to[index_of("vsize")].u64 / (uint64_t)sysconf(_SC_PAGESIZE) == to[index_of("VmSize")].u64);
    assert_true(to[index_of("priority")].i64 >= -100 && to[index_of("priority")].i64 < 40);
    (*sampler)->close(memory);
    batch_clear(&batch);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_in_the_units_of_the_kernel),
        cmocka_unit_test(the_agent_reads_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
