/* Remote write, decoded: sorted labels, values in base units, staleness markers. */
#include "sinks/prometheus/remote_write.h"

#include "base/clock.h"

#include "tools/unit.h"

#include <inttypes.h>
#include <math.h>

static struct buf out, text;
static struct remote_write writer;
static struct batch batch;

static int begin(void **state)
{
    (void)state;
    buf_init(&out, 1u << 20);
    buf_init(&text, 1u << 20);
    batch_init(&batch);
    return remote_write_init(&writer, &out);
}

static int end(void **state)
{
    (void)state;
    buf_clear(&out);
    buf_clear(&text);
    batch_clear(&batch);
    remote_write_clear(&writer);
    return 0;
}

struct reader {
    const uint8_t *at, *end;
};

static uint64_t varint(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        assert_true(r->at < r->end);
        uint8_t byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    fail_msg("a number that does not end");
    return 0;
}

/* The next field, which must be length-delimited and have this number. */
static struct reader part(struct reader *r, unsigned field)
{
    assert_int_equal(varint(r), field << 3 | 2);
    uint64_t size = varint(r);
    assert_true(size <= (uint64_t)(r->end - r->at));
    struct reader inside = { r->at, r->at + size };
    r->at += size;
    return inside;
}

static void read_label(struct reader label, bool is_first)
{
    struct reader name = part(&label, 1), value = part(&label, 2);
    assert_ptr_equal(label.at, label.end);
    buf_printf(&text, "%s%.*s=%.*s", is_first ? "" : ",", (int)(name.end - name.at), name.at,
               (int)(value.end - value.at), value.at);
}

static void read_sample(struct reader sample)
{
    double value;
    uint64_t bits;
    assert_int_equal(varint(&sample), 1 << 3 | 1);
    assert_true(sample.end - sample.at > 8);
    memcpy(&bits, sample.at, 8);
    memcpy(&value, sample.at, 8);
    sample.at += 8;
    assert_int_equal(varint(&sample), 2 << 3);
    uint64_t time_ms = varint(&sample);
    assert_ptr_equal(sample.at, sample.end);
    if (isnan(value))
        buf_printf(&text, " %016" PRIx64 "@%" PRIu64, bits, time_ms);
    else
        buf_printf(&text, " %.10g@%" PRIu64, value, time_ms);
}

/* The request in a readable form. */
static const char *read_back(void)
{
    struct reader request = { (const uint8_t *)out.data, (const uint8_t *)out.data + out.size };
    buf_reset(&text);
    while (request.at < request.end) {
        struct reader series = part(&request, 1);
        bool is_first = true;
        while (series.at < series.end && *series.at == (1 << 3 | 2)) {
            read_label(part(&series, 1), is_first);
            is_first = false;
        }
        while (series.at < series.end)
            read_sample(part(&series, 2));
        buf_add_char(&text, '\n');
    }
    return buf_text(&text);
}

static const struct metric metrics[] = {
    { "run", "us", COUNTER, U64, "" }, { "level", "KB", GAUGE, I64, "" }, { "temperature", "C", GAUGE, F64, "" },
};
static const struct set job_set = { "job", metrics, 3 }, cpu_set = { "stat_cpu", metrics, 1, "cpu" };

static void series_are_named_and_labelled_as_on_metrics(void **state)
{
    (void)state;
    static const struct job ada = { .id = "77", .user = "ada", .other_id = "", .source = "slurm" };
    const struct job *jobs[] = { &ada };
    batch.host = "n1";
    batch.jobs = jobs;
    batch.job_count = 1;
    struct sample *sample = batch_add(&batch, &job_set, 1500 * NS_PER_MS, "");
    sample->job = "77";
    sample_set_u64(sample, 0, 2500000);
    sample_set_u64(sample, 1, (uint64_t)-3);
    sample_set_f64(sample, 2, NAN);
    remote_write_sample(&writer, &batch, sample);
    assert_string_equal(read_back(), "__name__=sonde_job_run_seconds_total,host=n1,job=77,user=ada 2.5@1500\n"
                                     "__name__=sonde_job_level_bytes,host=n1,job=77,user=ada -3072@1500\n"
                                     "__name__=sonde_job_temperature_celsius,host=n1,job=77,user=ada 7ff8000000000001@1500\n");
}

static void labels_are_sorted_and_override_configured_ones(void **state)
{
    (void)state;
    batch.host = "n\xe9";
    writer.fixed[0] = (struct remote_write_label){ "zone", "b" };
    writer.fixed[1] = (struct remote_write_label){ "alpha", "a" };
    writer.fixed[2] = (struct remote_write_label){ "host", "never" };
    writer.fixed_count = 3;
    struct sample *sample = batch_add(&batch, &cpu_set, NS_PER_S, "cpu3");
    sample_set_u64(sample, 0, 1);
    remote_write_sample(&writer, &batch, sample);
    assert_string_equal(read_back(),
                        "__name__=sonde_stat_cpu_run_seconds_total,alpha=a,cpu=3,host=n\xef\xbf\xbd,zone=b 1e-06@1000\n");
}

static void ended_jobs_get_a_staleness_marker(void **state)
{
    (void)state;
    static const struct job ada = { .id = "77", .user = "", .other_id = "", .source = "oar", .cores_milli = 1500,
                                    .start_ns = 2 * NS_PER_S };
    const struct job *jobs[] = { &ada };
    const struct batch_event event = { JOB_END, &ada };
    batch.host = "n1";
    batch.jobs = jobs;
    batch.events = &event;
    batch.job_count = batch.event_count = 1;
    struct sample *sample = batch_add(&batch, &cpu_set, NS_PER_S, "");
    sample->job = "77";
    sample_set_u64(sample, 0, 1000000);
    remote_write_sample(&writer, &batch, sample);
    remote_write_jobs(&writer, &batch);
    assert_string_equal(read_back(),
        "__name__=sonde_stat_cpu_run_seconds_total,host=n1,job=77 1@1000 7ff0000000000002@1001\n"
        "__name__=sonde_job_start_time_seconds,host=n1,job=77 2@1000 7ff0000000000002@1001\n"
        "__name__=sonde_job_cores_allowed,host=n1,job=77 1.5@1000 7ff0000000000002@1001\n"
        "__name__=sonde_job_info,host=n1,job=77,source=oar 1@1000 7ff0000000000002@1001\n");
}

static void write_samples(void)
{
    for (size_t i = 0; i < batch.count; i++)
        remote_write_sample(&writer, &batch, &batch.samples[i]);
}

static struct sample *add_job_sample(uint64_t time_ns)
{
    struct sample *sample = batch_add(&batch, &job_set, time_ns, "");
    sample->job = "77";
    return sample;
}

static void samples_of_one_millisecond_are_written_one_after_another(void **state)
{
    (void)state;
    static const uint64_t times_ns[] = { NS_PER_S, NS_PER_S + 1000, NS_PER_S + NS_PER_MS, 999 * NS_PER_MS, NS_PER_MS };
    batch.host = "n1";
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        batch_reset(&batch);
        sample_set_f64(add_job_sample(times_ns[i]), 2, (double)i);
        write_samples();
    }
    assert_string_equal(read_back(), "__name__=sonde_job_temperature_celsius,host=n1,job=77 0@1000\n"
                                     "__name__=sonde_job_temperature_celsius,host=n1,job=77 1@1001\n"
                                     "__name__=sonde_job_temperature_celsius,host=n1,job=77 2@1002\n"
                                     "__name__=sonde_job_temperature_celsius,host=n1,job=77 3@1003\n"
                                     "__name__=sonde_job_temperature_celsius,host=n1,job=77 4@1\n"); /* out of order: as it is */
}

/* Samples of the job's last batch, in the same millisecond; the run time is only in the first of them. */
static void only_the_last_of_two_last_samples_ends_the_series(void **state)
{
    (void)state;
    static const struct job ada = { .id = "77", .user = "", .other_id = "", .source = "oar" };
    const struct batch_event event = { JOB_END, &ada };
    batch.host = "n1";
    batch.events = &event;
    batch.event_count = 1;
    struct sample *first = add_job_sample(NS_PER_S);
    sample_set_u64(first, 0, 1000000);
    sample_set_f64(first, 2, 20);
    sample_set_f64(add_job_sample(NS_PER_S + 1), 2, 30);
    write_samples();
    assert_string_equal(read_back(), "__name__=sonde_job_run_seconds_total,host=n1,job=77 1@1000\n"
                                     "__name__=sonde_job_temperature_celsius,host=n1,job=77 20@1000\n"
                                     "__name__=sonde_job_run_seconds_total,host=n1,job=77 7ff0000000000002@1002\n"
                                     "__name__=sonde_job_temperature_celsius,host=n1,job=77 30@1001 7ff0000000000002@1002\n");
}

static void facts_of_jobs_are_never_older_than_the_last_ones(void **state)
{
    (void)state;
    static const struct job ada = { .id = "77", .user = "", .other_id = "", .source = "oar" };
    const struct job *jobs[] = { &ada };
    static const uint64_t times_ns[] = { NS_PER_S, NS_PER_S, NS_PER_MS, 2 * NS_PER_S };
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        batch_reset(&batch);
        batch.host = "n1";
        batch.jobs = jobs;
        batch.job_count = 1;
        add_job_sample(times_ns[i]);
        remote_write_jobs(&writer, &batch);
    }
    assert_string_equal(read_back(), "__name__=sonde_job_info,host=n1,job=77,source=oar 1@1000\n"
                                     "__name__=sonde_job_info,host=n1,job=77,source=oar 1@2000\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(series_are_named_and_labelled_as_on_metrics, begin, end),
        cmocka_unit_test_setup_teardown(labels_are_sorted_and_override_configured_ones, begin, end),
        cmocka_unit_test_setup_teardown(ended_jobs_get_a_staleness_marker, begin, end),
        cmocka_unit_test_setup_teardown(samples_of_one_millisecond_are_written_one_after_another, begin, end),
        cmocka_unit_test_setup_teardown(only_the_last_of_two_last_samples_ends_the_series, begin, end),
        cmocka_unit_test_setup_teardown(facts_of_jobs_are_never_older_than_the_last_ones, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
