/* A slow sampler in its thread: it delays nothing, gets job events, and is detached if it hangs. */
#include "agent/sampler_thread.h"

#include "base/clock.h"
#include "base/log.h"
#include "tools/unit.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SECONDS(n) (clock_monotonic_ns() + (n) * NS_PER_S)

struct play {
    uint64_t step, sum;
};

/* The thread uses these only between a tick and its batch. */
static _Atomic unsigned opens, reads, closes, begins, changes, ends;
static _Atomic int read_result, open_result;
static _Atomic uint64_t read_takes_ns;
static char heard[64];
static pthread_t reader;

static const struct metric metrics[] = { { "sum", "1", COUNTER, U64, "a sum" } };
static const struct set set = { "play", metrics, 1 };
static const struct setting settings[] = {
    { "step", SETTING_U64, "1", offsetof(struct play, step), "a step" }, { 0 },
};

static enum err play_open(void *state, const struct sampler_context *context)
{
    (void)state, (void)context;
    opens++;
    reader = pthread_self();
    return (enum err)open_result;
}

static enum err play_read(void *state, struct batch *out)
{
    struct play *play = state;
    reads++;
    usleep((useconds_t)(read_takes_ns / 1000));
    sample_set_u64(batch_add(out, &set, 1, ""), 0, play->sum += play->step);
    return (enum err)read_result;
}

static enum err play_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    (void)state;
    begins += event == JOB_BEGIN;
    changes += event == JOB_CHANGE;
    ends += event == JOB_END;
    snprintf(heard, sizeof heard, "%s %s %s", job->id, job->user, job->cgroup);
    if (event != JOB_END)
        return OK;
    batch_add(out, &set, 2, "")->job = job->id;
    return OK;
}

static void play_close(void *state)
{
    (void)state;
    closes++;
}

static const struct sampler player = {
    .name = "play", .about = "plays", .settings = settings, .set = &set, .state_size = sizeof(struct play), .is_slow = true,
    .open = play_open, .read = play_read, .job = play_job, .close = play_close,
};
static const struct sampler_context here = { .root = "" };
static struct setting_pair step_of_five = { "step", "5" };
static const struct setting_list five = { &step_of_five, 1 };
static int fd;

static int begin(void **state)
{
    log_set_level(-1);
    opens = reads = closes = begins = changes = ends = 0;
    read_result = open_result = OK;
    read_takes_ns = 0;
    fd = eventfd(0, EFD_NONBLOCK);
    return sampler_thread_start((struct sampler_thread **)state, &player, &here, &five, 0, false, fd);
}

static int end(void **state)
{
    sampler_thread_stop((struct sampler_thread **)state);
    close(fd);
    return 0;
}

static void wait_for_fd(void)
{
    uint64_t times;
    assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 60000), 1);
    assert_int_equal(read(fd, &times, sizeof times), sizeof times);
}

static void reading_uses_the_settings(void **state)
{
    struct sampler_thread *worker = *state;
    assert_null(sampler_thread_batch(worker));
    for (uint64_t i = 1; i <= 3; i++) {
        sampler_thread_tick(worker);
        wait_for_fd();
        const struct batch *batch = sampler_thread_batch(worker);
        assert_non_null(batch);
        assert_int_equal(batch->count, 1);
        assert_int_equal(batch->samples[0].values[0].u64, 5 * i);
        sampler_thread_release(worker);
        assert_null(sampler_thread_batch(worker));
    }
    assert_int_equal(opens, 1);
    assert_false(pthread_equal(reader, pthread_self()));
}

static void ticks_do_not_wait(void **state)
{
    struct sampler_thread *worker = *state;
    struct sampler_thread_status status;
    read_takes_ns = 3 * NS_PER_S;
    uint64_t begin_ns = clock_monotonic_ns();
    for (int i = 0; i < 5; i++)
        sampler_thread_tick(worker);
    assert_true(clock_monotonic_ns() - begin_ns < 2 * NS_PER_S);
    sampler_thread_status(worker, &status);
    assert_true(status.is_busy);
    assert_int_equal(status.skipped, 4); /* counted, not repeated */
    assert_false(sampler_thread_wait(worker, clock_monotonic_ns() + NS_PER_MS));
    assert_true(sampler_thread_wait(worker, SECONDS(60)));
    assert_int_equal(reads, 1);
    assert_non_null(sampler_thread_batch(worker));
    sampler_thread_tick(worker); /* not released yet: it must not be overwritten */
    usleep(20000);
    assert_int_equal(reads, 1);
    sampler_thread_release(worker);
}

static void jobs_are_copied(void **state)
{
    struct sampler_thread *worker = *state;
    char id[] = "4711", user[] = "ada";
    struct job job = { .id = id, .other_id = "", .source = "told", .user = "", .cgroup = "/a", .slot = 3 };
    sampler_thread_job(worker, &job, JOB_BEGIN);
    memset(id, 'x', 4); /* the table of jobs may change meanwhile */
    sampler_thread_tick(worker);
    wait_for_fd();
    sampler_thread_release(worker);
    assert_string_equal(heard, "4711  /a");
    memcpy(id, "4711", 4);
    job.user = user;
    sampler_thread_job(worker, &job, JOB_CHANGE);
    sampler_thread_job(worker, &job, JOB_END);
    memset(id, 'x', 4);
    wait_for_fd();
    const struct batch *batch = sampler_thread_batch(worker);
    assert_int_equal(batch->count, 1);
    assert_string_equal(batch->samples[0].job, "4711"); /* until it is released */
    sampler_thread_release(worker);
    assert_true(begins == 1 && changes == 1 && ends == 1);
    assert_string_equal(heard, "4711 ada /a");
}

static void job_updates_do_not_replace_a_reading(void **state)
{
    struct sampler_thread *worker = *state;
    struct job job = { .id = "4711", .other_id = "", .source = "told", .user = "", .cgroup = "/a", .slot = 3 };
    struct sampler_thread_status status;
    sampler_thread_tick(worker);
    assert_true(sampler_thread_wait(worker, SECONDS(60)));
    sampler_thread_release(worker);
    sampler_thread_job(worker, &job, JOB_BEGIN);
    sampler_thread_job(worker, &job, JOB_END);
    assert_true(sampler_thread_wait(worker, SECONDS(60)));
    const struct batch *batch = sampler_thread_batch(worker);
    assert_non_null(batch); /* the job's last sample, not released when the tick comes */
    assert_string_equal(batch->samples[0].job, "4711");
    sampler_thread_tick(worker);
    sampler_thread_release(worker);
    assert_true(sampler_thread_wait(worker, SECONDS(60)));
    assert_non_null(sampler_thread_batch(worker));
    sampler_thread_release(worker);
    sampler_thread_status(worker, &status);
    assert_int_equal(status.skipped, 0);
    assert_int_equal(reads, 2);
}

static void running_jobs_are_announced_after_a_failure(void **state)
{
    struct sampler_thread *worker = *state;
    struct sampler_thread_status status;
    struct job job = { .id = "1", .other_id = "", .source = "told", .user = "", .cgroup = "", .slot = 0 };
    sampler_thread_job(worker, &job, JOB_BEGIN);
    read_result = IO;
    sampler_thread_tick(worker);
    assert_true(sampler_thread_wait(worker, SECONDS(60)));
    sampler_thread_status(worker, &status);
    assert_false(status.is_open);
    assert_int_equal(status.last, IO);
    assert_int_equal(status.failures, 1);
    assert_int_equal(closes, 1);
    read_result = OK;
    usleep(1050000); /* its first retry interval */
    sampler_thread_tick(worker);
    wait_for_fd();
    assert_int_equal(begins, 2);
    assert_int_equal(opens, 2);
    sampler_thread_status(worker, &status);
    assert_int_equal(status.openings, 2);
    sampler_thread_release(worker);
}

static void hanging_thread_is_detached(void **state)
{
    struct sampler_thread *worker = *state;
    read_takes_ns = 3 * NS_PER_S;
    sampler_thread_tick(worker);
    while (!reads)
        usleep(1000);
    uint64_t begin_ns = clock_monotonic_ns();
    sampler_thread_stop((struct sampler_thread **)state);
    assert_null(*state);
    assert_true(clock_monotonic_ns() - begin_ns < 2 * NS_PER_S);
    close(fd); /* the thread has its own */
    fd = eventfd(0, EFD_NONBLOCK);
    for (int i = 0; i < 6000 && !closes; i++)
        usleep(10000);
    assert_int_equal(closes, 1); /* it ended itself */
    usleep(10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reading_uses_the_settings, begin, end),
        cmocka_unit_test_setup_teardown(ticks_do_not_wait, begin, end),
        cmocka_unit_test_setup_teardown(jobs_are_copied, begin, end),
        cmocka_unit_test_setup_teardown(job_updates_do_not_replace_a_reading, begin, end),
        cmocka_unit_test_setup_teardown(running_jobs_are_announced_after_a_failure, begin, end),
        cmocka_unit_test_setup_teardown(hanging_thread_is_detached, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
