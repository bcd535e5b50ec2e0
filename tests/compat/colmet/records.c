/* Messages captured from real Colmet nodes (rs_v2020.bin and others in this directory): complete, truncated and
 * corrupted; and messages written by Sonde. */
#include "compat/colmet/records.h"

#include "base/clock.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <unistd.h>

static struct colmet_records *records;
static char message[65536], error[256];
static size_t size, bad;

static int begin(void **state)
{
    (void)state;
    return colmet_records_new(&records);
}

static int end(void **state)
{
    (void)state;
    colmet_records_free(&records);
    return 0;
}

static void load(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/compat/colmet/%s", getenv("SOURCE"), name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    ssize_t got = read(fd, message, sizeof message);
    close(fd);
    assert_true(got > 0);
    size = (size_t)got;
}

static enum err take(const char *bytes, size_t count)
{
    return colmet_records_read(records, (struct bytes){ bytes, count }, &bad, error, sizeof error);
}

static const struct sample *sample_of(const char *set)
{
    assert_int_equal(colmet_records_count(records), 1);
    const struct batch *batch = colmet_records_batch(records, 0);
    for (size_t i = 0; i < batch->count; i++)
        if (!strcmp(batch->samples[i].set->name, set))
            return &batch->samples[i];
    fail_msg("no sample of %s", set);
    return NULL;
}

static const union value *find(const struct sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->set->size; i++)
        if (!strcmp(sample->set->metrics[i].name, name))
            return sample->known[i] ? &sample->values[i] : NULL;
    fail_msg("no %s in %s", name, sample->set->name);
    return NULL;
}

static int64_t number(const char *set, const char *name)
{
    const union value *value = find(sample_of(set), name);
    assert_non_null(value);
    return value->i64;
}

/* Values as documented for the captured bytes. */
static void all_ten_python_records_are_read(void **state)
{
    (void)state;
    load("golden_all10.bin");
    assert_int_equal(take(message, size), OK);
    assert_int_equal(bad, 0);
    const struct batch *batch = colmet_records_batch(records, 0);
    assert_string_equal(batch->host, "vm");
    assert_int_equal(batch->count, 10);
    const struct sample *task = sample_of("taskstats_default");
    assert_string_equal(task->job, "42");
    assert_int_equal(task->time_ns, 1794767740 * NS_PER_S);
    assert_int_equal(number("taskstats_default", "cpu_count"), 52339);
    assert_int_equal(number("taskstats_default", "cpu_run_virtual_total"), 28645193862);
    assert_int_equal(number("taskstats_default", "ac_btime"), 1794767656);
    assert_int_equal(number("taskstats_default", "ac_etime"), 83342571);
    assert_int_equal(number("infinibandstats_default", "portRcvData"), 8000);
    assert_int_equal(number("lustrestats_default", "lustre_bytes_write"), 31008331389);
    assert_int_equal(number("RAPLstats_default", "counter_1"), 50000000);
    assert_int_equal(number("RAPLstats_default", "counter_12"), 65712999613);
    assert_null(find(sample_of("RAPLstats_default"), "counter_13"));
    assert_int_equal(number("temperaturestats_default", "counter_2"), 41);
    assert_null(find(sample_of("temperaturestats_default"), "counter_3"));
    assert_int_equal(number("jobprocstats_default", "VmSize"), 21344);
    assert_int_equal(number("ipmipowerstats_default", "average_power_consumption"), 211);
    assert_int_equal(number("nvidiastats_default", "memory-used"), 16060);
    assert_int_equal(number("perfhwstats_default", "counter_4"), 366205236);
    assert_null(sample_of("procstats_default")->job);
    assert_true(find(sample_of("procstats_default"), "loadavg_1min")->f64 >= 0);
    assert_null(find(sample_of("procstats_default"), "meminfo_hardwarecorrupted"));
    assert_int_equal(batch->job_count, 1);
    assert_string_equal(batch->jobs[0]->id, "42");
}

static void records_survive_a_round_trip(void **state)
{
    (void)state;
    struct buf out;
    load("golden_all10.bin");
    assert_int_equal(take(message, size), OK);
    buf_init(&out, sizeof message);
    const struct batch *batch = colmet_records_batch(records, 0);
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        colmet_records_write(&out, colmet_backend_find(sample->set->name), batch->host, sample->job ? 42 : 0,
                             sample->time_ns / NS_PER_S, sample->values, sample->known, "[]");
    }
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, message, size);
    buf_clear(&out);
}

static void only_a_truncated_record_is_lost(void **state)
{
    (void)state;
    load("golden_all10.bin");
    for (size_t cut = 1; cut < size; cut += cut < 1000 ? 1 : 37) {
        enum err err = take(message, cut);
        if (cut < 762) {
            assert_int_equal(err, CORRUPT);
            continue;
        }
        assert_int_equal(err, OK);
        assert_int_equal(bad, cut != 762 && cut != 9964 && cut != 18714 && cut != 27464 && cut != 36374 && cut != 36948
                              && cut != 37554 && cut != 46280 && cut != 46862);
        assert_int_equal(number("taskstats_default", "cpu_count"), 52339);
    }
}

static void records_after_an_unknown_one_are_found(void **state)
{
    (void)state;
    load("golden_all10.bin");
    memcpy(message + 762, "futurestats_default", 19);
    assert_int_equal(take(message, size), OK);
    assert_int_equal(bad, 1);
    assert_non_null(strstr(error, "unknown backend"));
    assert_int_equal(colmet_records_batch(records, 0)->count, 9);
    assert_int_equal(number("infinibandstats_default", "portXmitPkts"), 30);
}

static void rows_of_a_node_list_its_jobs(void **state)
{
    (void)state;
    struct buf out;
    const union value watts = { .i64 = 7 };
    const uint8_t known = 1;
    buf_init(&out, sizeof message);
    colmet_records_write(&out, &colmet_backends[COLMET_IPMI], "vm", 0, 1700000000, &watts, &known, "[42, 4711, 9");
    assert_int_equal(take(out.data, out.size), OK);
    const struct batch *batch = colmet_records_batch(records, 0);
    assert_int_equal(batch->job_count, 2); /* the last one was truncated */
    assert_string_equal(batch->jobs[1]->id, "4711");
    buf_clear(&out);
}

static void invalid_messages_are_rejected(void **state)
{
    (void)state;
    static const char nothing[300];
    assert_int_equal(take("0123456789", 10), CORRUPT);
    assert_int_equal(take(nothing, 255), CORRUPT);
    assert_int_equal(take(nothing, 0), OK);
    assert_int_equal(colmet_records_count(records), 0);
    assert_int_equal(take("\x81\x2a", 2), CORRUPT);
    assert_int_equal(take("\xdf\xff\xff\xff\xff", 5), FULL);
    load("golden_all10.bin");
    message[255] = '/'; /* an invalid host name */
    assert_int_equal(take(message, 762), CORRUPT);
    memset(message + 255, 0, 255);
    assert_int_equal(take(message, 762), CORRUPT);
}

static void messages_of_2020_and_2022_are_read(void **state)
{
    (void)state;
    static const char *const names[] = { "rs_v2020.bin", "rs_v2022.bin" };
    for (size_t i = 0; i < 2; i++) {
        load(names[i]);
        assert_int_equal(take(message, size), OK);
        assert_int_equal(bad, 0);
        assert_string_equal(colmet_records_batch(records, 0)->host, "vm");
        assert_string_equal(sample_of("memory")->job, "42");
        assert_int_equal(sample_of("memory")->time_ns, 1794767931454 * NS_PER_MS);
        assert_int_equal(number("memory", "pgfault"), 0);
        assert_int_equal(number("cpu", "nr_periods"), 0);
        assert_null(find(sample_of("memory"), "rss"));
        for (size_t cut = 1; cut < size; cut++)
            assert_int_equal(take(message, cut), CORRUPT);
    }
}

/* {42: ["vm", 1000, [["Memory", [1, 8, 18, 33], [10, 20, 30, -1]], ["Perfhw", [37, 64], [5, 6]]]]} */
static void messages_of_2019_use_their_own_table(void **state)
{
    (void)state;
    static const char old[] = "\x81\x2a\x93\xa2vm\xcd\x03\xe8\x92\x93\xa6Memory\x94\x01\x08\x12\x21\x94\x0a\x14\x1e\xff"
                              "\x93\xa6Perfhw\x92\x25\x40\x92\x05\x06";
    assert_int_equal(take(old, sizeof old - 1), OK);
    assert_int_equal(number("memory", "cache"), 10);
    assert_int_equal(number("memory", "pgpgin"), 20);
    assert_int_equal(number("memory", "total_cache"), 30);
    assert_int_equal(number("memory", "total_unevictable"), -1);
    assert_int_equal(number("perfhw", "cpu_cycles"), 5);
    assert_int_equal(number("perfhw", "bpf_output"), 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_ten_python_records_are_read), TEST(records_survive_a_round_trip),
        TEST(only_a_truncated_record_is_lost), TEST(records_after_an_unknown_one_are_found),
        TEST(rows_of_a_node_list_its_jobs), TEST(invalid_messages_are_rejected), TEST(messages_of_2020_and_2022_are_read),
        TEST(messages_of_2019_use_their_own_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
