/* Total I/O of a run with processes that reported theirs and processes that did not. */
#include "merge/io_total.h"

#include "model/summary.h"
#include "tools/unit.h"

#define MB 1000000

enum { CPU, RCHAR, WCHAR, WRITE_BYTES, METRICS };
enum { ROWS = 2 };

struct fixture {
    union value values[ROWS][METRICS];
    uint8_t known[ROWS][METRICS];
    struct run_series series;
    struct process processes[2];
    struct run run;
};

static const struct metric metrics[METRICS] = {
    [CPU] = { "cpu", "us", COUNTER, U64, "CPU time" },
    [RCHAR] = { "rchar", "B", COUNTER, U64, "read" },
    [WCHAR] = { "wchar", "B", COUNTER, U64, "written" },
    [WRITE_BYTES] = { "write_bytes", "B", COUNTER, U64, "to storage" },
};

static void put(struct fixture *f, int row, int metric, uint64_t value)
{
    f->values[row][metric].u64 = value;
    f->known[row][metric] = 1;
}

/* A shell that reported 2 MB read and nothing written, and a process with unknown I/O. */
static void make(struct fixture *f)
{
    *f = (struct fixture){ .run = { .process_count = 2, .series_count = 1 } };
    f->run.processes = f->processes;
    f->run.series = &f->series;
    f->series = (struct run_series){ .set = { SUMMARY_TREE_SET, metrics, METRICS }, .instance = "", .count = ROWS,
                                     .values = f->values[0], .known = f->known[0] };
    counters_set(&f->processes[0].counters, COUNTER_rchar, 2 * MB);
    counters_set(&f->processes[0].counters, COUNTER_wchar, 0);
}

static uint64_t total(const struct fixture *f, enum counter counter)
{
    assert_true(counters_has(&f->run.total, counter));
    return counters_get(&f->run.total, counter);
}

static void killed_process_is_in_the_total(void **state)
{
    struct fixture f;
    (void)state;
    make(&f);
    put(&f, 1, RCHAR, 50 * MB);
    put(&f, 0, WCHAR, 7); /* missing in the last sample */
    io_total_set(&f.run, 0);
    assert_in_range(total(&f, COUNTER_rchar), 49 * MB, 50 * MB);
    assert_int_equal(total(&f, COUNTER_wchar), 7);
    assert_false(counters_has(&f.run.total, COUNTER_read_bytes));
}

static void probe_reads_are_excluded(void **state)
{
    struct fixture f;
    (void)state;
    make(&f);
    put(&f, 1, RCHAR, 2 * MB + 8000);
    io_total_set(&f.run, 0);
    assert_int_equal(total(&f, COUNTER_rchar), 2 * MB);
}

static void spool_writes_are_excluded(void **state)
{
    struct fixture f;
    (void)state;
    make(&f);
    put(&f, 1, WRITE_BYTES, 0);
    counters_set(&f.processes[0].counters, COUNTER_write_bytes, MB / 2);
    io_total_set(&f.run, MB);
    assert_int_equal(total(&f, COUNTER_write_bytes), 0);
    counters_set(&f.processes[0].counters, COUNTER_write_bytes, 100 * MB);
    io_total_set(&f.run, MB); /* the sample was taken too early */
    assert_in_range(total(&f, COUNTER_write_bytes), 99 * MB, 99 * MB + 4096);
    counters_set(&f.processes[0].counters, COUNTER_write_bytes, 4096);
    io_total_set(&f.run, 3000); /* all of it is in the first page, which sonde run wrote */
    assert_int_equal(total(&f, COUNTER_write_bytes), 4096);
}

static void early_sample_does_not_lower_the_total(void **state)
{
    struct fixture f;
    (void)state;
    make(&f);
    put(&f, 1, RCHAR, 5000);
    io_total_set(&f.run, 0);
    assert_int_equal(total(&f, COUNTER_rchar), 2 * MB);
}

static void interrupted_run_takes_cpu_time_from_samples(void **state)
{
    struct fixture f;
    (void)state;
    make(&f);
    counters_set(&f.processes[0].counters, COUNTER_usertime, 300);
    put(&f, 0, CPU, 7000);
    put(&f, 1, CPU, 9000);
    io_total_set(&f.run, 0);
    assert_int_equal(counters_cpu_us(&f.run.total), 9000);
    assert_false(counters_has(&f.run.total, COUNTER_systemtime));
    counters_set(&f.processes[0].counters, COUNTER_usertime, 10000); /* it continued */
    io_total_set(&f.run, 0);
    assert_int_equal(counters_cpu_us(&f.run.total), 10000);
    f.run.ended = true; /* the kernel's total is known */
    f.run.total = f.processes[0].counters;
    put(&f, 1, CPU, 99000);
    io_total_set(&f.run, 0);
    assert_int_equal(counters_cpu_us(&f.run.total), 10000);
}

static void without_samples_the_total_is_unknown(void **state)
{
    struct fixture f;
    (void)state;
    make(&f);
    io_total_set(&f.run, 0);
    assert_int_equal(f.run.total.known, 0);
    f.run.series_count = 0;
    io_total_set(&f.run, 0);
    assert_int_equal(f.run.total.known, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_process_is_in_the_total),
        cmocka_unit_test(probe_reads_are_excluded),
        cmocka_unit_test(spool_writes_are_excluded),
        cmocka_unit_test(early_sample_does_not_lower_the_total),
        cmocka_unit_test(interrupted_run_takes_cpu_time_from_samples),
        cmocka_unit_test(without_samples_the_total_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
