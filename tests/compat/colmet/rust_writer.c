/* Messages like those of Colmet's Rust nodes: a captured one is reproduced byte by byte, and all are read back. */
#include "compat/colmet/rust_writer.h"

#include "base/clock.h"
#include "compat/colmet/records.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct colmet_records *records;
static struct colmet_rows *rows;
static struct colmet_rust_writer writer;
static struct buf out;

static int begin(void **state)
{
    (void)state;
    buf_init(&out, 1u << 20);
    return colmet_records_new(&records) || colmet_rows_new(&rows);
}

static int end(void **state)
{
    (void)state;
    colmet_rust_writer_clear(&writer);
    colmet_records_free(&records);
    colmet_rows_free(&rows);
    buf_clear(&out);
    return 0;
}

static void take(struct bytes message)
{
    char error[256];
    size_t bad;
    assert_int_equal(colmet_records_read(records, message, &bad, error, sizeof error), OK);
    assert_int_equal(bad, 0);
    assert_int_equal(colmet_records_count(records), 1);
}

static void write_batch(const struct batch *batch, enum colmet_rust_generation generation)
{
    const struct colmet_row *list;
    size_t count;
    assert_int_equal(colmet_rows_make(rows, batch, &list, &count), OK);
    buf_reset(&out);
    assert_int_equal(colmet_rust_write(&writer, generation, batch, list, count, &out), OK);
}

static void a_captured_message_is_reproduced(void **state)
{
    (void)state;
    char path[512], message[4096];
    snprintf(path, sizeof path, "%s/tests/compat/colmet/rs_v2020.bin", getenv("SOURCE"));
    int fd = open(path, O_RDONLY);
    ssize_t size = read(fd, message, sizeof message);
    close(fd);
    assert_true(size > 0);
    take((struct bytes){ message, (size_t)size });
    write_batch(colmet_records_batch(records, 0), COLMET_RUST_2020);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, message, out.size);
}

static const struct metric cgroup_metrics[] = {
    { "memory_anonymous", "B", GAUGE, U64 }, { "page_faults", "1", COUNTER, U64 }, { "swap", "B", GAUGE, U64 },
    { "cpu_throttled", "us", COUNTER, U64 }, { "memory_file", "B", GAUGE, U64 },
};
static const struct set cgroup_set = { "cgroup", cgroup_metrics, 5, "step" };
static const struct metric perf_metrics[] = { { "page_faults", "1", COUNTER, U64 }, { "cache_ll", "1", COUNTER, U64 } };
static const struct set perf_set = { "perf", perf_metrics, 2, NULL };

static void fill(struct batch *batch, uint64_t tick)
{
    batch_reset(batch);
    batch->host = "n1";
    struct sample *sample = batch_add(batch, &cgroup_set, tick * NS_PER_S, "");
    sample->job = "42";
    for (size_t i = 0; i < 4; i++)
        sample_set_u64(sample, i, 10 + i);
    sample = batch_add(batch, &cgroup_set, tick * NS_PER_S, "step_0"); /* not the job */
    sample->job = "42";
    sample_set_u64(sample, 0, 1);
    sample = batch_add(batch, &perf_set, tick * NS_PER_S, "");
    sample->job = "42";
    sample_set_u64(sample, 0, 100 * tick);
}

static int64_t value_of(const char *set, const char *name)
{
    const struct batch *batch = colmet_records_batch(records, 0);
    for (size_t i = 0; i < batch->count; i++)
        for (size_t k = 0; k < batch->samples[i].set->size; k++)
            if (!strcmp(batch->samples[i].set->name, set) && !strcmp(batch->samples[i].set->metrics[k].name, name))
                return batch->samples[i].known[k] ? batch->samples[i].values[k].i64 : -1;
    return -1;
}

static void jobs_of_an_agent_are_written(void **state)
{
    (void)state;
    struct batch batch;
    batch_init(&batch);
    for (enum colmet_rust_generation generation = COLMET_RUST_2019; generation <= COLMET_RUST_2020; generation++) {
        fill(&batch, 1 + 2 * generation);
        write_batch(&batch, generation);
        fill(&batch, 2 + 2 * generation);
        write_batch(&batch, generation);
        take((struct bytes){ out.data, out.size });
        assert_string_equal(colmet_records_batch(records, 0)->host, "n1");
        assert_string_equal(colmet_records_batch(records, 0)->jobs[0]->id, "42");
        assert_int_equal(value_of("memory", "rss"), 10);
        assert_int_equal(value_of("memory", "total_pgfault"), 11);
        assert_int_equal(value_of("memory", "cache"), -1);
        assert_int_equal(value_of("memory", "swap"), generation == COLMET_RUST_2020 ? 12 : -1);
        assert_int_equal(value_of("cpu", "throttled_time"), 13000);
        assert_int_equal(value_of("perfhw", "page_faults"), 100);
    }
    assert_null(memmem(out.data, out.size, "Memory", 6));
    batch_reset(&batch);
    write_batch(&batch, COLMET_RUST_2019);
    assert_int_equal(out.size, 0); /* no jobs, no message */
    batch_clear(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_captured_message_is_reproduced, begin, end),
        cmocka_unit_test_setup_teardown(jobs_of_an_agent_are_written, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
