/* InfluxDB lines: escaping, and values that are left out. */
#include "sinks/influx/line.h"

#include "base/clock.h"

#include "tools/unit.h"

#include <math.h>

static const struct metric metrics[] = {
    { "cpu time", "us", COUNTER, U64, "" }, { "load", "1", GAUGE, F64, "" }, { "change", "1", GAUGE, I64, "" },
};
static const struct set plain = { "job", metrics, 3 }, odd = { "a set,b", metrics, 1, "device" };
static struct batch batch;
static struct buf out;

static int begin(void **state)
{
    (void)state;
    batch_init(&batch);
    buf_init(&out, 10000);
    return 0;
}

static int end(void **state)
{
    (void)state;
    batch_clear(&batch);
    buf_clear(&out);
    return 0;
}

static void lines_have_the_values_that_can_be_represented(void **state)
{
    (void)state;
    batch.host = "n1";
    struct sample *sample = batch_add(&batch, &plain, 1000, "");
    sample_set_u64(sample, 0, UINT64_MAX);
    sample_set_f64(sample, 1, 0.1);
    sample_set_u64(sample, 2, (uint64_t)-5);
    influx_line_sample(&out, &batch, sample);
    sample_set_u64(sample, 0, INT64_MAX);
    sample_set_f64(sample, 1, INFINITY);
    influx_line_sample(&out, &batch, sample);
    assert_string_equal(buf_text(&out), "job,host=n1 load=0.1,change=-5i 1000\n"
                                        "job,host=n1 cpu\\ time=9223372036854775807i,change=-5i 1000\n");
}

static void samples_without_values_have_no_line(void **state)
{
    (void)state;
    buf_add_text(&out, "before\n");
    influx_line_sample(&out, &batch, batch_add(&batch, &plain, 1000, ""));
    assert_string_equal(buf_text(&out), "before\n");
}

static void special_characters_are_escaped(void **state)
{
    (void)state;
    static const struct job job = { .id = "7\n7", .user = "a=b, c\\" };
    const struct job *jobs[] = { &job };
    batch.host = "caf\xc3\xa9\xe9";
    batch.jobs = jobs;
    batch.job_count = 1;
    struct sample *sample = batch_add(&batch, &odd, 1000, "sd a");
    sample->job = "7\n7";
    sample_set_u64(sample, 0, 1);
    influx_line_sample(&out, &batch, sample);
    assert_string_equal(buf_text(&out), "a\\ set\\,b,host=caf\xc3\xa9\xef\xbf\xbd,job=7_7,user=a\\=b\\,\\ c_,device=sd\\ a "
                                        "cpu\\ time=1i 1000\n");
}

static void events_and_gaps_are_lines(void **state)
{
    (void)state;
    static const struct job job = { .id = "77", .user = "ada", .start_ns = 5, .end_ns = 9 };
    batch.host = "n1";
    influx_line_event(&out, &batch, &(struct batch_event){ JOB_END, &job });
    influx_line_gap(&out, &batch, &(struct batch_gap){ .from_ns = 3, .to_ns = 4, .batches = 12, .reason = "spool full" });
    assert_string_equal(buf_text(&out), "job_event,event=end,host=n1,job=77,user=ada start_ns=5i 9\n"
                                        "gap,host=n1,reason=spool\\ full batches=12i,from_ns=3i,to_ns=4i 4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_have_the_values_that_can_be_represented, begin, end),
        cmocka_unit_test_setup_teardown(samples_without_values_have_no_line, begin, end),
        cmocka_unit_test_setup_teardown(special_characters_are_escaped, begin, end),
        cmocka_unit_test_setup_teardown(events_and_gaps_are_lines, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
