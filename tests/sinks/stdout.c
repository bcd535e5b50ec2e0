/* Readable and JSON lines on standard output. */
#include "sinks/sink.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct metric metrics[] = {
    { "memory", "B", GAUGE, U64, "", NULL }, { "cpu", "us", COUNTER, U64, "", NULL }, { "load", "1", GAUGE, F64, "", NULL },
    { "heat", "C", GAUGE, I64, "", NULL }, { "count", "1", GAUGE, U64, "", NULL },
};
static const struct set set = { "things", metrics, 5, NULL };
static const struct job job = { .id = "7", .other_id = "", .source = "told", .user = "ada", .cgroup = "",
                                .start_ns = 1000000000, .end_ns = 5000000000 };

/* The output for a batch with samples, events and gaps. */
static const char *written(const char *format)
{
    static char text[4096];
    static const struct job *const jobs[] = { &job };
    static const struct batch_event event = { JOB_END, &job };
    static const struct batch_gap gap = { 2000000000, 3000000000, 1200, "spool full" };
    const struct sink *sink = sink_find("stdout");
    void *state = calloc(1, sink->state_size);
    int out[2], saved = dup(STDOUT_FILENO);
    struct batch batch;
    batch_init(&batch);
    batch.host = "n1";
    struct sample *sample = batch_add(&batch, &set, 4000000000, "i0");
    sample->job = "7";
    sample_set_u64(sample, 0, 3 << 20);
    sample_set_u64(sample, 1, 1500000);
    sample_set_f64(sample, 2, 0.25);
    sample_set_u64(sample, 3, (uint64_t)-4);
    batch.jobs = jobs;
    batch.events = &event;
    batch.gaps = &gap;
    batch.job_count = batch.event_count = batch.gap_count = 1;
    assert_int_equal(pipe(out), 0);
    fflush(stdout);
    dup2(out[1], STDOUT_FILENO);
    assert_int_equal(setting_defaults(sink->settings, state), OK);
    assert_int_equal(setting_apply(sink->settings, state, "format", format), OK);
    enum err err = sink->open(state);
    err = err ? err : sink->write(state, &batch);
    err = err ? err : sink->flush(state, 1);
    sink->close(state);
    dup2(saved, STDOUT_FILENO);
    close(out[1]);
    ssize_t got = read(out[0], text, sizeof text - 1);
    close(out[0]);
    close(saved);
    batch_clear(&batch);
    free(state);
    assert_int_equal(err, OK);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

static void readable_format_has_lines(void **state)
{
    (void)state;
    assert_string_equal(written("readable"),
                        "1970-01-01 00:00:02  n1  1,200 batches missing up to 1970-01-01 00:00:03: spool full\n"
                        "1970-01-01 00:00:04  n1  job 7 (ada)  things i0:  memory 3.0 MiB, cpu 1.5 s, load 0.25, heat -4 C\n"
                        "1970-01-01 00:00:05  n1  job 7 (ada) ended\n");
}

static void json_format_has_an_object_per_line(void **state)
{
    (void)state;
    assert_string_equal(written("json"),
                        "{\"host\": \"n1\", \"missing_from_ns\": 2000000000, \"missing_to_ns\": 3000000000,"
                        " \"missing_batches\": 1200, \"reason\": \"spool full\"}\n"
                        "{\"host\": \"n1\", \"time_ns\": 4000000000, \"job\": \"7\", \"user\": \"ada\", \"set\": \"things\","
                        " \"instance\": \"i0\", \"values\": {\"memory\": 3145728, \"cpu\": 1500000, \"load\": 0.25,"
                        " \"heat\": -4}}\n"
                        "{\"host\": \"n1\", \"time_ns\": 5000000000, \"job\": \"7\", \"user\": \"ada\", \"event\": \"ended\"}\n");
}

static void unknown_format_is_rejected(void **state)
{
    (void)state;
    const struct sink *sink = sink_find("stdout");
    void *memory = calloc(1, sink->state_size);
    assert_int_equal(setting_apply(sink->settings, memory, "format", "xml"), OK);
    assert_int_equal(sink->open(memory), USAGE);
    assert_non_null(strstr(sink->message(memory), "xml"));
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readable_format_has_lines), cmocka_unit_test(json_format_has_an_object_per_line),
        cmocka_unit_test(unknown_format_is_rejected),
    };
    setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
