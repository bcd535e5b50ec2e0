/* Conversion to the rows of procstat2 and procinterrupts. */
#include "compat/ldms/batch.h"

#include "compat/ldms/names.h"
#include "tools/unit.h"

#include <stdio.h>
#include <string.h>

#define TIMES 10
static const struct metric stat_metrics[] = {
    { "user", "us", COUNTER, U64 }, { "nice", "us", COUNTER, U64 }, { "system", "us", COUNTER, U64, "", "sys" },
    { "idle", "us", COUNTER, U64 }, { "iowait", "us", COUNTER, U64 }, { "irq", "us", COUNTER, U64 },
    { "softirq", "us", COUNTER, U64 }, { "steal", "us", COUNTER, U64 }, { "guest", "us", COUNTER, U64 },
    { "guest_nice", "us", COUNTER, U64 }, { "interrupts", "1", COUNTER, U64, "", "intr" },
    { "softirqs", "1", COUNTER, U64 }, /* at another index than in this version */
    { "context_switches", "1", COUNTER, U64, "", "ctxt" }, { "boot_time", "s", GAUGE, U64, "", "btime" },
    { "forks", "1", COUNTER, U64, "", "processes" }, { "running", "1", GAUGE, U64, "", "procs_running" },
    { "blocked", "1", GAUGE, U64, "", "procs_blocked" },
};
static const struct set stat = { "stat", stat_metrics, 17, NULL }, stat_cpu = { "stat_cpu", stat_metrics, TIMES, "cpu" };
static const struct set brief = { "stat", stat_metrics, 8, NULL };
static const struct metric irq_metrics[] = {
    { "irq_24", "1", COUNTER, U64, "", "24" }, { "irq_loc", "1", COUNTER, U64, "", "LOC" },
};
static const struct metric other_metrics[] = {
    { "irq_25", "1", COUNTER, U64, "", "25" }, { "irq_loc", "1", COUNTER, U64, "", "LOC" },
};
static const struct metric error_metrics[] = {
    { "errors", "1", COUNTER, U64, "", "ERR" }, { "misrouted", "1", COUNTER, U64, "", "MIS" },
};
static const struct set irqs = { "interrupts", irq_metrics, 2, "cpu" }, others = { "interrupts", other_metrics, 2, "cpu" };
static const struct set errors = { "interrupts_errors", error_metrics, 2, NULL };
static const struct metric load_metrics[] = { { "load", "1", GAUGE, U64 } };
static const struct set load = { "loadavg", load_metrics, 1, NULL };

static void add(struct batch *batch, const struct set *set, const char *instance, uint64_t first)
{
    struct sample *sample = batch_add(batch, set, 5, instance);
    for (size_t i = 0; i < set->size; i++)
        if (first + i != 13)
            sample_set_u64(sample, i, first + i);
}

/* "SOURCE=VALUE …" of a sample; "?" for missing values. */
static const char *row_of(const struct sample *sample)
{
    static char text[1024];
    size_t used = (size_t)snprintf(text, sizeof text, "%s/%s:", ldms_set_name(sample->set->name), sample->instance);
    for (size_t i = 0; i < sample->set->size; i++) {
        const struct metric *metric = &sample->set->metrics[i];
        used += (size_t)snprintf(text + used, sizeof text - used, " %s=", metric->source);
        used += sample->known[i] ? (size_t)snprintf(text + used, sizeof text - used, "%d", (int)sample->values[i].u64)
                                 : (size_t)snprintf(text + used, sizeof text - used, "?");
    }
    return text;
}

static void cpus_and_their_sum_are_one_set(void **state)
{
    (void)state;
    struct ldms_batch ldms = { 0 };
    struct batch batch;
    const struct batch *made;
    batch_init(&batch);
    batch.host = "n1";
    batch.position = 77;
    add(&batch, &load, "", 1);
    add(&batch, &stat, "", 100);
    add(&batch, &stat_cpu, "cpu0", 10);
    add(&batch, &stat_cpu, "cpu1", 20);
    add(&batch, &load, "", 2);
    assert_int_equal(ldms_batch_make(&ldms, &batch, &made), OK);
    assert_int_equal(made->count, 5);
    assert_int_equal(made->position, 77);
    assert_ptr_equal(made->samples[0].values, batch.samples[0].values);
    assert_ptr_equal(made->samples[1].set, made->samples[3].set);
    assert_string_equal(made->samples[1].set->instances, "cpu");
    assert_string_equal(row_of(&made->samples[1]),
                        "procstat2/cpu: cpu_list_user=100 cpu_list_nice=101 cpu_list_system=102 cpu_list_idle=103 "
                        "cpu_list_iowait=104 cpu_list_irq=105 cpu_list_softirq=106 cpu_list_steal=107 cpu_list_guest=108 "
                        "cpu_list_guest_nice=109 intr=110 ctxt=112 "
                        "btime=113 processes=114 procs_running=115 procs_blocked=116 softirq=111");
    assert_string_equal(row_of(&made->samples[2]),
                        "procstat2/cpu0: cpu_list_user=10 cpu_list_nice=11 cpu_list_system=12 cpu_list_idle=? cpu_list_iowait=14 "
                        "cpu_list_irq=15 cpu_list_softirq=16 cpu_list_steal=17 cpu_list_guest=18 cpu_list_guest_nice=19 "
                        "intr=110 ctxt=112 btime=113 processes=114 procs_running=115 procs_blocked=116 softirq=111");
    assert_string_equal(made->samples[3].instance, "cpu1");
    assert_int_equal(made->samples[4].values[0].u64, 2);
    batch_clear(&batch);
    ldms_batch_clear(&ldms);
}

static void interrupts_are_one_row(void **state)
{
    (void)state;
    struct ldms_batch ldms = { 0 };
    struct batch batch;
    const struct batch *made;
    batch_init(&batch);
    for (int round = 0; round < 600; round++) { /* alternating kinds of nodes */
        const struct set *set = round % 2 ? &others : &irqs;
        char last[16];
        snprintf(last, sizeof last, "cpu%d", 3 + round % 300);
        batch_reset(&batch);
        add(&batch, set, "cpu0", 1);
        add(&batch, set, last, 12);
        add(&batch, &errors, "", 30);
        assert_int_equal(ldms_batch_make(&ldms, &batch, &made), OK);
        assert_int_equal(made->count, 1);
        char expected[256];
        snprintf(expected, sizeof expected,
                 "procinterrupts/: irq.%d#0=1 irq.%d#%d=12 irq.LOC#0=2 irq.LOC#%d=? irq.ERR#0=30 irq.MIS#0=31",
                 24 + round % 2, 24 + round % 2, 3 + round % 300, 3 + round % 300);
        assert_string_equal(row_of(&made->samples[0]), expected);
    }
    batch_reset(&batch);
    add(&batch, &irqs, "", 7); /* sums */
    assert_int_equal(ldms_batch_make(&ldms, &batch, &made), OK);
    assert_string_equal(row_of(&made->samples[0]), "procinterrupts/: irq.24=7 irq.LOC=8");
    batch_clear(&batch);
    ldms_batch_clear(&ldms);
}

static void two_kinds_of_nodes_share_a_batch(void **state)
{
    (void)state;
    struct ldms_batch ldms = { 0 };
    struct batch batch;
    const struct batch *made;
    batch_init(&batch);
    for (int i = 0; i < 300; i++) { /* more than the cache holds: none may be freed while the batch uses it */
        static char names[300][16];
        snprintf(names[i], sizeof names[i], "cpu%d", i);
        add(&batch, i % 2 ? &others : &irqs, names[i], (uint64_t)i);
    }
    assert_int_equal(ldms_batch_make(&ldms, &batch, &made), OK);
    assert_int_equal(made->count, 300);
    assert_string_equal(made->samples[0].set->metrics[0].source, "irq.24#0");
    assert_string_equal(made->samples[299].set->metrics[1].source, "irq.LOC#299");
    batch_clear(&batch);
    ldms_batch_clear(&ldms);
}

static void other_sets_are_unchanged(void **state)
{
    (void)state;
    struct ldms_batch ldms = { 0 };
    struct batch batch;
    const struct batch *made;
    batch_init(&batch);
    add(&batch, &load, "", 1);
    add(&batch, &brief, "", 1);
    add(&batch, &stat_cpu, "cpu0", 1);
    add(&batch, &errors, "", 1);
    add(&batch, &stat, "", 100);
    batch.samples[4].job = "7"; /* of a job, which LDMS does not have */
    assert_int_equal(ldms_batch_make(&ldms, &batch, &made), OK);
    assert_int_equal(made->count, batch.count);
    for (size_t i = 0; i < batch.count; i++)
        assert_memory_equal(&made->samples[i], &batch.samples[i], sizeof *batch.samples);
    assert_string_equal(ldms.rows[4].jobs, "7");
    assert_string_equal(ldms.rows[0].jobs, "");
    batch_clear(&batch);
    ldms_batch_clear(&ldms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_and_their_sum_are_one_set),
        cmocka_unit_test(interrupts_are_one_row),
        cmocka_unit_test(two_kinds_of_nodes_share_a_batch),
        cmocka_unit_test(other_sets_are_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
