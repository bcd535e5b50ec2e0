/* The state of a sampler: settings, jobs, and partial readings. */
#include "samplers/sampler_state.h"

#include "base/log.h"
#include "samplers/all.h"
#include "tools/unit.h"

#include <unistd.h>

struct play {
    uint64_t number;
    char instance[8]; /* freed with the state: nothing may point to it then */
};

static enum err open_result, read_result, job_result;
static unsigned opens, job_calls;
static bool had_out;

static const struct metric metrics[] = { { "number", "1", GAUGE, U64, "a number" } };
static const struct set set = { "play", metrics, 1 };
static const struct setting settings[] = {
    { "number", SETTING_U64, "3", offsetof(struct play, number), "a number" }, { 0 },
};

static enum err play_open(void *state, const struct sampler_context *context)
{
    (void)state, (void)context;
    opens++;
    return open_result;
}

static enum err play_read(void *state, struct batch *out)
{
    struct play *play = state;
    sample_set_u64(batch_add(out, &set, 1, play->instance), 0, play->number);
    return read_result;
}

static enum err play_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    (void)job, (void)event;
    job_calls++;
    had_out = out;
    if (out)
        play_read(state, out);
    return job_result;
}

static const struct sampler player = {
    .name = "play", .about = "plays", .settings = settings, .set = &set, .state_size = sizeof(struct play),
    .open = play_open, .read = play_read, .job = play_job,
};
static const struct sampler_context here = { .root = "" };
static struct batch batch;

static int begin(void **state)
{
    (void)state;
    log_set_level(-1);
    open_result = read_result = job_result = OK;
    opens = job_calls = 0;
    batch_init(&batch);
    return 0;
}

static int end(void **state)
{
    (void)state;
    batch_clear(&batch);
    return 0;
}

static void settings_are_applied_over_the_defaults(void **state)
{
    (void)state;
    struct setting_pair own[] = { { "number", "8" } };
    struct sampler_state sampler = { .sampler = &player, .context = &here, .settings = own, .setting_count = 1 };
    assert_true(sampler_state_wake(&sampler));
    assert_false(sampler_state_wake(&sampler));
    sampler_state_read(&sampler, &batch);
    assert_int_equal(batch.samples[0].values[0].u64, 8);
    sampler_state_close(&sampler);
    own[0].value = "eight";
    assert_false(sampler_state_wake(&sampler));
    assert_int_equal(sampler.last, USAGE);
}

static void a_partial_reading_is_discarded(void **state)
{
    (void)state;
    struct sampler_state sampler = { .sampler = &player, .context = &here };
    sampler_state_wake(&sampler);
    sampler_state_read(&sampler, &batch);
    read_result = IO;
    sampler_state_read(&sampler, &batch);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.values_used, 1);
    assert_false(sampler.is_open);
    assert_int_equal(sampler.failures, 1);
    sampler_state_read(&sampler, &batch); /* closed: nothing happens */
    assert_int_equal(batch.count, 1);
    sampler_state_close(&sampler);
}

static void job_events_may_fail_like_readings(void **state)
{
    (void)state;
    struct job job = { .id = "1" };
    struct sampler_state sampler = { .sampler = &player, .context = &here };
    sampler_state_job(&sampler, &job, JOB_BEGIN, &batch);
    assert_int_equal(job_calls, 0);
    sampler_state_wake(&sampler);
    sampler_state_job(&sampler, &job, JOB_CHANGE, &batch);
    assert_false(had_out);
    sampler.skip_first_sample = true;
    sampler_state_job(&sampler, &job, JOB_BEGIN, &batch);
    assert_false(had_out);
    sampler.skip_first_sample = false;
    sampler_state_job(&sampler, &job, JOB_BEGIN, &batch);
    assert_true(had_out);
    assert_int_equal(batch.count, 1);
    sampler_state_job(&sampler, &job, JOB_END, &batch);
    assert_true(had_out);
    assert_int_equal(batch.count, 2);
    job_result = GONE;
    sampler_state_job(&sampler, &job, JOB_CHANGE, &batch);
    assert_true(sampler.is_open);
    job_result = CORRUPT;
    sampler_state_job(&sampler, &job, JOB_END, &batch);
    assert_false(sampler.is_open);
    assert_int_equal(batch.count, 2);
    sampler_state_close(&sampler);
}

static void absent_sensors_are_retried_only_if_configured(void **state)
{
    (void)state;
    struct sampler_state sampler = { .sampler = &player, .context = &here };
    open_result = ABSENT;
    assert_false(sampler_state_wake(&sampler));
    assert_true(sampler.is_absent);
    open_result = OK;
    assert_false(sampler_state_wake(&sampler));
    assert_int_equal(opens, 1);
    sampler = (struct sampler_state){ .sampler = &player, .context = &here, .retry_absent_ns = 1000000 };
    open_result = DENIED;
    assert_false(sampler_state_wake(&sampler));
    open_result = OK;
    usleep(2000);
    assert_true(sampler_state_wake(&sampler));
    assert_false(sampler.is_absent);
    sampler_state_close(&sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(settings_are_applied_over_the_defaults, begin, end),
        cmocka_unit_test_setup_teardown(a_partial_reading_is_discarded, begin, end),
        cmocka_unit_test_setup_teardown(job_events_may_fail_like_readings, begin, end),
        cmocka_unit_test_setup_teardown(absent_sensors_are_retried_only_if_configured, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
