/* struct taskstats of several versions, written field by field as those kernels do. */
#include "proc/taskstats.h"

#include "base/clock.h"
#include "tools/unit.h"

#include <linux/acct.h>
#include <linux/taskstats.h>

#define SIZE_14 432u
#define SIZE_16 560u

static char memory[1024];
static const struct taskstats_accounting all_on = { .io = true, .delays = true, .now_ns = 2000000000ull * NS_PER_S };

/* A record of the regular layout with a distinct number in each field. */
static struct taskstats sample_stats(uint16_t version)
{
    struct taskstats stats = {
        .version = version, .ac_exitcode = 0x200, .ac_flag = AGROUP, .cpu_count = 12, .cpu_delay_total = 3456,
        .blkio_delay_total = 7000000, .cpu_run_virtual_total = 9000999, .ac_uid = 1000, .ac_pid = 51, .ac_ppid = 40,
        .ac_btime = 1999999990, .ac_btime64 = 1999999990, .ac_etime = 9500000, .ac_utime = 6000, .ac_stime = 3000,
        .ac_minflt = 101, .ac_majflt = 2, .hiwater_rss = 4096, .read_char = 10240, .write_char = 0,
        .read_syscalls = 1024,
        .read_bytes = 8192, .write_bytes = 4096, .cancelled_write_bytes = 512, .nvcsw = 21, .nivcsw = 22, .ac_tgid = 50,
    };
    strcpy(stats.ac_comm, "worker");
    return stats;
}

static struct bytes regular(uint16_t version, size_t size)
{
    struct taskstats stats = sample_stats(version);
    memset(memory, 0xee, sizeof memory);
    memcpy(memory, &stats, sizeof stats < size ? sizeof stats : size);
    return (struct bytes){ memory, size };
}

/* Version 15 as those kernels wrote it: extra bytes after each of these fields. */
static struct bytes shifted(size_t extra)
{
    static const size_t behind[] = {
        offsetof(struct taskstats, blkio_count),     offsetof(struct taskstats, swapin_count),
        offsetof(struct taskstats, cpu_run_real_total), offsetof(struct taskstats, thrashing_count),
        offsetof(struct taskstats, ac_btime64),      offsetof(struct taskstats, ac_tgid),
        offsetof(struct taskstats, wpcopy_count),
    };
    struct taskstats stats = sample_stats(15);
    size_t from = 0, to = 0;
    memset(memory, 0xee, sizeof memory);
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        memcpy(memory + to, (char *)&stats + from, behind[i] - from);
        if (i < 6)
            to += behind[i] - from + extra;
        else
            to += behind[i] - from;
        from = behind[i];
    }
    return (struct bytes){ memory, SIZE_14 + 8 * extra };
}

static void assert_sample(const struct taskstats_record *r)
{
    assert_int_equal(r->pid, 50);
    assert_int_equal(r->tid, 51);
    assert_int_equal(r->ppid, 40);
    assert_int_equal(r->uid, 1000);
    assert_int_equal(r->status, 0x200);
    assert_int_equal(r->process_ended, 1);
    assert_bytes(r->name, "worker");
    assert_int_equal(r->counters.value[COUNTER_time_oncpu], 9000999);
    assert_int_equal(r->counters.value[COUNTER_usertime], 6000);
    assert_int_equal(r->counters.value[COUNTER_systemtime], 3000);
    assert_int_equal(r->counters.value[COUNTER_time_waiting], 3456);
    assert_int_equal(r->counters.value[COUNTER_timeslices], 12);
    assert_int_equal(r->counters.value[COUNTER_delayacct_blkio_time], 7000);
    assert_int_equal(r->counters.value[COUNTER_minflt], 101);
    assert_int_equal(r->counters.value[COUNTER_rssmax], 4096);
    assert_int_equal(r->counters.value[COUNTER_rchar], 10240);
    assert_int_equal(r->counters.value[COUNTER_read_bytes], 8192);
    assert_int_equal(r->counters.value[COUNTER_inblock], 16);
    assert_int_equal(r->counters.value[COUNTER_vol_ctxsw], 21);
    assert_int_equal(r->counters.value[COUNTER_invol_ctxsw], 22);
}

/* The last two are future versions with more fields at the end. */
static void each_layout_gives_the_same_record(void **state)
{
    (void)state;
    struct taskstats_record record;
    static const struct { uint16_t version; size_t size; } layouts[] = { { 12, 400 }, { 13, 416 }, { 14, SIZE_14 },
                                                                         { 16, SIZE_16 }, { 17, 600 }, { 65535, 1000 } };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct bytes stats = regular(layouts[i].version, layouts[i].size);
        assert_int_equal(taskstats_convert(stats, &all_on, &record), OK);
        assert_sample(&record);
    }
}

static void both_forms_of_version_15_are_read(void **state)
{
    (void)state;
    struct taskstats_record record;
    assert_int_equal(taskstats_convert(shifted(8), &all_on, &record), OK);
    assert_sample(&record);
    assert_int_equal(taskstats_convert(shifted(16), &all_on, &record), OK);
    assert_sample(&record);
}

static void before_version_12_the_process_is_unknown(void **state)
{
    (void)state;
    struct taskstats_record record;
    assert_int_equal(taskstats_convert(regular(8, offsetof(struct taskstats, ac_btime64)), &all_on, &record), OK);
    assert_int_equal(record.tid, 51);
    assert_int_equal(record.pid, 0);
    assert_int_equal(record.process_ended, 0);
}

static void the_end_time_is_consistent_with_the_record(void **state)
{
    (void)state;
    struct taskstats_record record;
    struct taskstats_accounting late = all_on;
    /* it began in second ..90 and took 9.5 s: it ended between ..99 and ..00, whenever we read it */
    assert_int_equal(taskstats_convert(regular(16, SIZE_16), &late, &record), OK);
    assert_int_equal(record.end_ns, 1999999999ull * NS_PER_S + 999999999);
    assert_int_equal(record.end_ns - record.start_ns, 9500000000ull);
    late.now_ns = 1999999999ull * NS_PER_S + 600 * NS_PER_MS;
    assert_int_equal(taskstats_convert(regular(16, SIZE_16), &late, &record), OK);
    assert_int_equal(record.end_ns, late.now_ns);
}

static void disabled_accounting_is_unknown(void **state)
{
    (void)state;
    struct taskstats_record record;
    struct taskstats_accounting off = { .now_ns = 1 };
    assert_int_equal(taskstats_convert(regular(16, SIZE_16), &all_on, &record), OK);
    assert_false(counters_has(&record.counters, COUNTER_wchar)); /* cut to 0: may be up to 1023 */
    assert_false(counters_has(&record.counters, COUNTER_syscr)); /* rounded down to a multiple of 1024 */
    assert_int_equal(taskstats_convert(regular(16, SIZE_16), &off, &record), OK);
    assert_false(counters_has(&record.counters, COUNTER_rchar));
    assert_false(counters_has(&record.counters, COUNTER_read_bytes));
    assert_false(counters_has(&record.counters, COUNTER_delayacct_blkio_time));
    assert_true(counters_has(&record.counters, COUNTER_time_waiting));
}

static void without_the_exact_clock_ticks_are_used(void **state)
{
    (void)state;
    struct taskstats_record record;
    struct taskstats stats = sample_stats(14);
    stats.cpu_run_virtual_total = 0;
    memcpy(memory, &stats, sizeof stats);
    assert_int_equal(taskstats_convert((struct bytes){ memory, SIZE_14 }, &all_on, &record), OK);
    assert_int_equal(record.counters.value[COUNTER_usertime], 6000);
    assert_false(counters_has(&record.counters, COUNTER_time_oncpu));
}

static void too_few_bytes_are_corrupt(void **state)
{
    (void)state;
    struct taskstats_record record;
    struct bytes whole = regular(16, SIZE_16);
    assert_int_equal(taskstats_convert((struct bytes){ whole.data, 100 }, &all_on, &record), CORRUPT);
    assert_int_equal(taskstats_convert((struct bytes){ whole.data, 0 }, &all_on, &record), CORRUPT);
    size_t before_tgid = offsetof(struct taskstats, ac_tgid);
    assert_int_equal(taskstats_convert((struct bytes){ whole.data, before_tgid }, &all_on, &record), CORRUPT);
}

static void assert_use(const struct taskstats_usage *usage)
{
    assert_int_equal(usage->tid, 51);
    assert_int_equal(usage->ppid, 40);
    assert_int_equal(usage->value[TASKSTATS_cpu_count], 12);
    assert_int_equal(usage->value[TASKSTATS_cpu_delay_total], 3456);
    assert_int_equal(usage->value[TASKSTATS_blkio_delay_total], 7000000);
    assert_int_equal(usage->value[TASKSTATS_cpu_run_virtual_total], 9000999);
    assert_int_equal(usage->value[TASKSTATS_ac_btime], 1999999990);
    assert_int_equal(usage->value[TASKSTATS_ac_etime], 9500000);
    assert_int_equal(usage->value[TASKSTATS_ac_utime], 6000);
    assert_int_equal(usage->value[TASKSTATS_ac_minflt], 101);
    assert_int_equal(usage->value[TASKSTATS_read_char], 10240);
    assert_int_equal(usage->value[TASKSTATS_write_bytes], 4096);
    assert_int_equal(usage->value[TASKSTATS_nivcsw], 22);
    assert_int_equal(usage->value[TASKSTATS_hiwater_rss], 4096 * 1024);
    assert_int_equal(usage->begin_s, 1999999990);
}

/* Also an unknown newer version with more fields at the end. */
static void each_layout_gives_the_same_usage(void **state)
{
    (void)state;
    struct taskstats_usage usage;
    static const struct { uint16_t version; size_t size; } layouts[] = { { 8, 328 },  { 10, 360 }, { 12, 400 }, { 13, 416 },
                                                                         { 14, SIZE_14 }, { 16, SIZE_16 }, { 99, 1000 } };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct bytes stats = regular(layouts[i].version, layouts[i].size);
        assert_int_equal(taskstats_extract(stats, &all_on, &usage), OK);
        assert_use(&usage);
        assert_int_equal(usage.pid, layouts[i].version >= 12 ? 50 : 0);
    }
    for (size_t extra = 8; extra <= 16; extra += 8) {
        assert_int_equal(taskstats_extract(shifted(extra), &all_on, &usage), OK);
        assert_use(&usage);
        assert_int_equal(usage.pid, 50);
    }
}

static void a_short_record_lacks_its_last_fields(void **state)
{
    (void)state;
    struct taskstats_usage usage;
    size_t size = offsetof(struct taskstats, freepages_count);
    assert_int_equal(taskstats_extract(regular(4, size), &all_on, &usage), OK);
    assert_true(usage.known >> TASKSTATS_cpu_scaled_run_real_total & 1);
    assert_false(usage.known >> TASKSTATS_freepages_count & 1);
    assert_int_equal(taskstats_extract(regular(4, size - 1), &all_on, &usage), CORRUPT);
    assert_int_equal(taskstats_extract(regular(12, size), &all_on, &usage), CORRUPT); /* too short for its version */
}

static void disabled_accounting_is_not_in_the_usage(void **state)
{
    (void)state;
    struct taskstats_usage usage;
    const struct taskstats_accounting off = { 0 };
    assert_int_equal(taskstats_extract(regular(16, SIZE_16), &off, &usage), OK);
    assert_false(usage.known >> TASKSTATS_blkio_count & 1);
    assert_false(usage.known >> TASKSTATS_freepages_delay_total & 1);
    assert_false(usage.known >> TASKSTATS_read_bytes & 1);
    assert_false(usage.known >> TASKSTATS_hiwater_vm & 1); /* 0: of a task whose memory is freed */
    assert_true(usage.known >> TASKSTATS_nvcsw & 1);
    assert_int_equal(taskstats_extract(regular(16, SIZE_16), &all_on, &usage), OK);
    assert_true(usage.known >> TASKSTATS_read_char & 1);
    assert_false(usage.known >> TASKSTATS_write_char & 1); /* cut to 0: may be up to 1023 */
    assert_false(usage.known >> TASKSTATS_write_syscalls & 1);
    assert_true(usage.known >> TASKSTATS_cancelled_write_bytes & 1);
}

static void usages_are_merged_by_field(void **state)
{
    (void)state;
    struct taskstats_usage sum = { 0 }, usage;
    assert_int_equal(taskstats_extract(regular(16, SIZE_16), &all_on, &usage), OK);
    taskstats_merge(&sum, &usage);
    usage.value[TASKSTATS_ac_btime] += 5;
    usage.value[TASKSTATS_ac_etime] += 5;
    usage.value[TASKSTATS_hiwater_rss] -= 5;
    usage.known &= ~(1ull << TASKSTATS_nvcsw);
    taskstats_merge(&sum, &usage);
    assert_int_equal(sum.value[TASKSTATS_ac_utime], 2 * 6000);
    assert_int_equal(sum.value[TASKSTATS_ac_btime], 1999999990);
    assert_int_equal(sum.value[TASKSTATS_ac_etime], 9500005);
    assert_int_equal(sum.value[TASKSTATS_hiwater_rss], 4096 * 1024);
    assert_int_equal(sum.value[TASKSTATS_nvcsw], 21);
    assert_false(sum.known >> TASKSTATS_hiwater_vm & 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout_gives_the_same_record),
        cmocka_unit_test(both_forms_of_version_15_are_read),
        cmocka_unit_test(before_version_12_the_process_is_unknown),
        cmocka_unit_test(the_end_time_is_consistent_with_the_record),
        cmocka_unit_test(disabled_accounting_is_unknown),
        cmocka_unit_test(without_the_exact_clock_ticks_are_used),
        cmocka_unit_test(too_few_bytes_are_corrupt),
        cmocka_unit_test(each_layout_gives_the_same_usage),
        cmocka_unit_test(a_short_record_lacks_its_last_fields),
        cmocka_unit_test(disabled_accounting_is_not_in_the_usage),
        cmocka_unit_test(usages_are_merged_by_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
