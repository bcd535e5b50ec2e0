/* Sonde's samples as Colmet's rows: names checked against the samplers, units, differences, columns, jobs. */
#include "compat/colmet/rows.h"

#include "base/clock.h"
#include "samplers/all.h"

#include "tools/unit.h"

#define TIME_NS (1794767178ull * NS_PER_S + 250)

static struct batch batch;
static struct colmet_rows *rows;
static const struct colmet_row *list;
static size_t count;

static int begin(void **state)
{
    (void)state;
    batch_init(&batch);
    batch.host = "node1";
    return colmet_rows_new(&rows);
}

static int end(void **state)
{
    (void)state;
    colmet_rows_free(&rows);
    batch_clear(&batch);
    return 0;
}

static void make(void)
{
    assert_int_equal(colmet_rows_make(rows, &batch, &list, &count), OK);
}

static void empty(void)
{
    batch_reset(&batch);
    batch.host = "node1";
}

static struct sample *add(const struct set *set, const char *instance, const char *job)
{
    struct sample *sample = batch_add(&batch, set, TIME_NS, instance);
    assert_non_null(sample);
    sample->job = job;
    return sample;
}

static void give(struct sample *sample, const char *metric, double value)
{
    for (size_t i = 0; i < sample->set->size; i++)
        if (!strcmp(sample->set->metrics[i].name, metric)) {
            if (sample->set->metrics[i].type == F64)
                sample_set_f64(sample, i, value);
            else
                sample_set_u64(sample, i, (uint64_t)value);
            return;
        }
    fail_msg("the set %s has no %s", sample->set->name, metric);
}

static size_t column(const struct colmet_row *row, const char *name)
{
    for (size_t i = 0; i < row->backend->count; i++)
        if (!strcmp(row->backend->columns[i].name, name))
            return i;
    fail_msg("%s has no %s", row->backend->name, name);
    return 0;
}

static uint64_t value(const struct colmet_row *row, const char *name)
{
    size_t i = column(row, name);
    assert_true(row->known[i]);
    return row->values[i].u64;
}

static bool is_known(const struct colmet_row *row, const char *name)
{
    return row->known[column(row, name)];
}

static const struct colmet_row *only(const char *backend)
{
    assert_int_equal(count, 1);
    assert_string_equal(list[0].backend->name, backend);
    return &list[0];
}

/* With every value of a sampler's set, every column that it feeds must be set. */
static void source_names_match_the_samplers(void **state)
{
    (void)state;
    static const struct { const struct sampler *sampler; const char *job, *backend; size_t columns; } cases[] = {
        { &sampler_taskstats, "42", "taskstats_default", 30 }, { &sampler_process, "42", "jobprocstats_default", 10 },
        { &sampler_stat, NULL, "procstats_default", 16 }, { &sampler_loadavg, NULL, "procstats_default", 5 },
        { &sampler_infiniband, NULL, "infinibandstats_default", 4 }, { &sampler_lustre, NULL, "lustrestats_default", 4 },
        { &sampler_ipmi, NULL, "ipmipowerstats_default", 1 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        empty();
        struct sample *sample = add(cases[c].sampler->set, "", cases[c].job);
        for (size_t i = 0; i < sample->set->size; i++)
            give(sample, sample->set->metrics[i].name, 7);
        make();
        const struct colmet_row *row = only(cases[c].backend);
        size_t known = 0;
        for (size_t i = 0; i < row->backend->count; i++)
            known += row->known[i];
        assert_int_equal(known, cases[c].columns);
    }
}

static void rows_have_the_job_number_and_time_in_seconds(void **state)
{
    (void)state;
    struct sample *sample = add(sampler_taskstats.set, "", "4711");
    give(sample, "cpu", 11148821184.0);
    give(sample, "begin", 1794767109);
    make();
    const struct colmet_row *row = only("taskstats_default");
    assert_int_equal(row->job, 4711);
    assert_string_equal(row->host, "node1");
    assert_int_equal(row->time_s, 1794767178);
    assert_int_equal(value(row, "cpu_run_virtual_total"), 11148821184);
    assert_int_equal(value(row, "ac_btime"), 1794767109);
    assert_false(is_known(row, "blkio_count"));
    assert_false(row->has_involved);
}

static void other_ids_are_hashed_to_numbers(void **state)
{
    (void)state;
    assert_int_equal(colmet_rows_job("4711"), 4711);
    assert_int_equal(colmet_rows_job("4711.pbs1"), 4711);
    assert_true(colmet_rows_job("0") >= 1ull << 62);
    assert_true(colmet_rows_job("run-a") >= 1ull << 62);
    assert_true(colmet_rows_job("run-a") < 1ull << 63);
    assert_int_not_equal(colmet_rows_job("run-a"), colmet_rows_job("run-b"));
    assert_true(colmet_rows_job("99999999999999999999999") >= 1ull << 62);
}

static const struct metric memory_metrics[] = {
    { "mem_total", "B", GAUGE, U64, "" }, { "huge_pages_total", "1", GAUGE, U64, "" }, { "direct_map2_m", "B", GAUGE, U64, "" },
};
static const struct set memory_set = { "meminfo", memory_metrics, 3 };

static void the_sets_of_proc_are_one_row(void **state)
{
    (void)state;
    const struct job job43 = { .id = "43", .source = "", .user = "" }, job9 = { .id = "9", .source = "", .user = "" };
    const struct job *const jobs[] = { &job43, &job9 };
    batch.jobs = jobs;
    batch.job_count = 2;
    struct sample *sample = add(&memory_set, "", NULL);
    sample_set_u64(sample, 0, 16 << 20);
    sample_set_u64(sample, 1, 5);
    sample_set_u64(sample, 2, 2048);
    sample = add(sampler_stat.set, "", NULL);
    give(sample, "idle", 123450000);
    give(sample, "steal", 70000);
    give(sample, "guest", 20000);
    give(sample, "boot_time", 1794767000);
    sample = add(sampler_loadavg.set, "", NULL);
    give(sample, "load1", 0.5);
    make();
    const struct colmet_row *row = only("procstats_default");
    assert_int_equal(row->job, 0);
    assert_int_equal(value(row, "meminfo_memtotal"), 16 << 10);
    assert_int_equal(value(row, "meminfo_hugepages_total"), 5);
    assert_int_equal(value(row, "meminfo_directmap2m"), 2);
    assert_int_equal(value(row, "stat_cpu_idle"), 12345);
    assert_int_equal(value(row, "stat_cpu_steal"), 7);
    assert_int_equal(value(row, "stat_cpu_guest"), 2);
    assert_int_equal(value(row, "uptime_total"), 178);
    assert_int_equal(value(row, "uptime_idle"), 123);
    assert_true(row->values[column(row, "loadavg_1min")].f64 == 0.5);
    assert_true(row->has_involved);
    assert_int_equal(row->involved_count, 2);
    assert_int_equal(row->involved[0], 9);
    assert_int_equal(row->involved[1], 43);
    add(&memory_set, "", NULL); /* a second sample in the batch, with all values missing */
    sample_set_u64(&batch.samples[batch.count - 1], 0, 1 << 20);
    make();
    assert_int_equal(count, 2);
}

static void ports_are_summed_and_instances_are_not_rows(void **state)
{
    (void)state;
    give(add(sampler_infiniband.set, "mlx5_0/1", NULL), "transmit", 1000);
    give(add(sampler_infiniband.set, "mlx5_1/1", NULL), "transmit", 234);
    give(add(sampler_ipmi.set, "Fan 1", NULL), "power", 3);
    make();
    assert_int_equal(value(only("infinibandstats_default"), "portXmitData"), 1234);
    assert_false(is_known(&list[0], "portRcvData"));
}

static void power_is_the_average_or_the_current_one(void **state)
{
    (void)state;
    give(add(sampler_ipmi.set, "", NULL), "power", 384.9);
    make();
    assert_int_equal(value(only("ipmipowerstats_default"), "average_power_consumption"), 384);
    give(&batch.samples[0], "power_average", 211);
    make();
    assert_int_equal(value(only("ipmipowerstats_default"), "average_power_consumption"), 211);
}

static const struct metric perf_metrics[] = {
    { "instructions", "1", COUNTER, U64, "" }, { "cache_misses", "1", COUNTER, U64, "" },
};
static const struct set perf_set = { "perf", perf_metrics, 2 };

static void read_perf(uint64_t time_ns, uint64_t stream, uint64_t instructions, uint64_t misses)
{
    empty();
    batch.stream = stream;
    struct sample *sample = add(&perf_set, "", "42");
    sample->time_ns = time_ns;
    sample_set_u64(sample, 0, instructions);
    sample_set_u64(sample, 1, misses);
    make();
}

static void perf_counters_are_differences(void **state)
{
    (void)state;
    read_perf(TIME_NS, 1, 1000, 10);
    assert_int_equal(count, 0);
    read_perf(TIME_NS + 5, 1, 1500, 10);
    const struct colmet_row *row = only("perfhwstats_default");
    assert_int_equal(value(row, "counter_1"), 500);
    assert_int_equal(value(row, "counter_2"), 0);
    assert_false(is_known(row, "counter_3"));
    assert_string_equal(row->labels[0], "instructions");
    assert_null(row->labels[2]);
}

static void a_repeated_batch_gives_the_same_rows(void **state)
{
    (void)state;
    read_perf(TIME_NS, 1, 1000, 10);
    for (int i = 0; i < 3; i++) {
        read_perf(TIME_NS + 5, 1, 1500, 10);
        assert_int_equal(value(only("perfhwstats_default"), "counter_1"), 500);
    }
    read_perf(TIME_NS + 6, 1, 1501, 10);
    assert_int_equal(value(only("perfhwstats_default"), "counter_1"), 1);
}

static void a_reset_counter_is_missing_once(void **state)
{
    (void)state;
    read_perf(TIME_NS, 1, 1000, 10);
    read_perf(TIME_NS + 5, 1, 900, 12);
    assert_false(is_known(only("perfhwstats_default"), "counter_1"));
    assert_int_equal(value(&list[0], "counter_2"), 2);
    read_perf(TIME_NS + 6, 2, 5000, 5000); /* the agent restarted */
    assert_int_equal(count, 0);
    read_perf(TIME_NS + 7, 2, 5001, 5002);
    assert_int_equal(value(only("perfhwstats_default"), "counter_2"), 2);
}

static void read_rapl(uint64_t time_ns, uint64_t more)
{
    empty();
    for (unsigned i = 0; i < 2; i++) {
        struct sample *sample = add(sampler_rapl.set, i ? "package-1" : "package-0", NULL);
        sample->time_ns = time_ns;
        give(sample, "package", 1000 + (double)more * (i + 1));
        give(sample, "package_range", 262143328850);
        give(sample, "dram", 50 + (double)more);
    }
    make();
}

static void energies_are_in_colmets_columns(void **state)
{
    (void)state;
    read_rapl(TIME_NS, 0);
    assert_int_equal(count, 0);
    read_rapl(TIME_NS + 5, 70);
    const struct colmet_row *row = only("RAPLstats_default");
    assert_int_equal(value(row, "counter_1"), 70);
    assert_int_equal(value(row, "counter_2"), 262143328850);
    assert_int_equal(value(row, "counter_3"), 0); /* no zone core */
    assert_true(is_known(row, "counter_3") && is_known(row, "counter_4"));
    assert_int_equal(value(row, "counter_4"), 0);
    assert_int_equal(value(row, "counter_5"), 70);
    assert_int_equal(value(row, "counter_7"), 140);
    assert_int_equal(value(row, "counter_11"), 70);
    assert_false(is_known(row, "counter_13"));
    assert_string_equal(row->labels[0], "energy_microjoule,package-0,zone_package");
    assert_string_equal(row->labels[11], "max_energy_range_microjoule,package-1,zone_dram");
    assert_null(row->labels[2]);
}

static void temperatures_are_in_the_column_of_their_zone(void **state)
{
    (void)state;
    give(add(sampler_temperature.set, "acpitz_1", NULL), "temperature", 27.8);
    give(add(sampler_temperature.set, "x86_pkg_temp_0", NULL), "temperature", 41.9);
    give(add(sampler_temperature.set, "coretemp/Core 2", NULL), "temperature", 99);
    give(add(sampler_temperature.set, "far_6", NULL), "temperature", 99);
    make();
    const struct colmet_row *row = only("temperaturestats_default");
    assert_int_equal(value(row, "counter_1"), 41);
    assert_int_equal(value(row, "counter_2"), 27);
    assert_false(is_known(row, "counter_3"));
    assert_string_equal(row->labels[0], "x86_pkg_temp_0");
    assert_true(row->has_involved);
}

static const struct metric held_metrics[] = { { "held", "1", GAUGE, U64, "" }, { "processes", "1", GAUGE, U64, "" } };
static const struct set held_set = { "gpu_job", held_metrics, 2, "gpu" };

static void gpus_are_summed_per_job(void **state)
{
    (void)state;
    static const char *const names[] = { "gpu0", "gpu1", "gpu2" };
    for (unsigned i = 0; i < 3; i++) {
        struct sample *card = add(sampler_gpu.set, names[i], NULL);
        give(card, "power", 100.7 + i);
        give(card, "temperature", 60 - (double)i);
        give(card, "memory_total", 16160.0 * 1024 * 1024);
    }
    sample_set_u64(add(&held_set, "gpu0", "42"), 0, 1);
    sample_set_u64(add(&held_set, "gpu1", "42"), 1, 3);
    sample_set_u64(add(&held_set, "gpu2", "42"), 0, 0);
    make();
    assert_int_equal(count, 2);
    const struct colmet_row *node = list[0].job ? &list[1] : &list[0], *job = list[0].job ? &list[0] : &list[1];
    assert_int_equal(value(job, "power"), 201);
    assert_int_equal(value(job, "temperature"), 60);
    assert_int_equal(value(job, "memory-total"), 2 * 16160);
    assert_int_equal(value(node, "power"), 303);
}

static const struct metric foreign_metrics[] = {
    { "counter_2", "1", GAUGE, I64, "" }, { "counter_1", "1", GAUGE, I64, "" },
};
static const struct set foreign_set = { "perfhwstats_default", foreign_metrics, 2 };

static void sets_from_colmet_pass_through(void **state)
{
    (void)state;
    struct sample *sample = add(&foreign_set, "", "42");
    sample_set_u64(sample, 1, 365714296);
    make();
    assert_int_equal(value(only("perfhwstats_default"), "counter_1"), 365714296);
    assert_false(is_known(&list[0], "counter_2"));
}

/* The same names at other indexes, in a set at the same address. */
static void a_changed_set_is_mapped_again(void **state)
{
    (void)state;
    struct metric metrics[] = { { "rchar", "B", COUNTER, U64, "" }, { "wchar", "B", COUNTER, U64, "" } };
    struct set set = { "process", metrics, 2 };
    for (int i = 0; i < 10; i++) {
        empty();
        metrics[i & 1].name = "rchar";
        metrics[!(i & 1)].name = "wchar";
        sample_set_u64(add(&set, "", "1"), i & 1, 77);
        make();
        assert_int_equal(value(only("jobprocstats_default"), "rchar"), 77);
        assert_false(is_known(&list[0], "wchar"));
    }
}

static void rows_come_in_the_order_of_colmets_messages(void **state)
{
    (void)state;
    give(add(sampler_process.set, "", "1"), "rchar", 1);
    give(add(sampler_loadavg.set, "", NULL), "load1", 1);
    give(add(sampler_taskstats.set, "", "1"), "cpu", 1);
    give(add(sampler_taskstats.set, "", "2"), "cpu", 1);
    make();
    assert_int_equal(count, 4);
    assert_int_equal(list[0].backend->id, COLMET_TASKSTATS);
    assert_int_equal(list[1].job, 2);
    assert_int_equal(list[2].backend->id, COLMET_PROCSTATS);
    assert_int_equal(list[3].backend->id, COLMET_JOBPROC);
    assert_int_equal(list[3].sample, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(source_names_match_the_samplers),
        TEST(rows_have_the_job_number_and_time_in_seconds),
        TEST(other_ids_are_hashed_to_numbers),
        TEST(the_sets_of_proc_are_one_row),
        TEST(ports_are_summed_and_instances_are_not_rows),
        TEST(power_is_the_average_or_the_current_one),
        TEST(perf_counters_are_differences),
        TEST(a_repeated_batch_gives_the_same_rows),
        TEST(a_reset_counter_is_missing_once),
        TEST(energies_are_in_colmets_columns),
        TEST(temperatures_are_in_the_column_of_their_zone),
        TEST(gpus_are_summed_per_job),
        TEST(sets_from_colmet_pass_through),
        TEST(a_changed_set_is_mapped_again),
        TEST(rows_come_in_the_order_of_colmets_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
