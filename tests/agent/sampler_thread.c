/* A slow sensor in its thread: it delays nobody, hears of jobs, and may be left behind when it hangs. */
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

/* The thread works with these only between a tick and what comes of it. */
static _Atomic unsigned opens, reads, closes, begins, changes, ends;
static _Atomic int read_result, open_result;
static _Atomic uint64_t read_takes_ns;
static char heard[64];
static pthread_t worker;

static const struct metric metrics[] = { { "sum", "1", COUNTER, U64, "a sum" } };
static const struct set set = { "play", metrics, 1 };
static const struct setting settings[] = {
    { "step", SETTING_U64, "1", offsetof(struct play, step), "a step" }, { 0 },
};

static enum err play_open(void *state, const struct sampler_context *context)
{
    (void)state, (void)context;
    opens++;
    worker = pthread_self();
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
    return slow_start((struct slow **)state, &player, &here, &five, 0, fd);
}

static int end(void **state)
{
    slow_stop((struct slow **)state);
    close(fd);
    return 0;
}

static void wait_for_fd(void)
{
    uint64_t times;
    assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 60000), 1);
    assert_int_equal(read(fd, &times, sizeof times), sizeof times);
}

static void a_reading_comes_by_itself_with_the_settings(void **state)
{
    struct slow *slow = *state;
    assert_null(slow_take(slow));
    for (uint64_t i = 1; i <= 3; i++) {
        slow_tick(slow);
        wait_for_fd();
        const struct batch *batch = slow_take(slow);
        assert_non_null(batch);
        assert_int_equal(batch->count, 1);
        assert_int_equal(batch->samples[0].values[0].u64, 5 * i);
        slow_give_back(slow);
        assert_null(slow_take(slow));
    }
    assert_int_equal(opens, 1);
    assert_false(pthread_equal(worker, pthread_self()));
}

static void nobody_waits_for_it(void **state)
{
    struct slow *slow = *state;
    struct slow_facts facts;
    read_takes_ns = 3 * NS_PER_S;
    uint64_t begin_ns = clock_monotonic_ns();
    for (int i = 0; i < 5; i++)
        slow_tick(slow);
    assert_true(clock_monotonic_ns() - begin_ns < 2 * NS_PER_S);
    slow_look(slow, &facts);
    assert_true(facts.is_busy);
    assert_int_equal(facts.skipped, 4); /* counted, not made up for */
    assert_false(slow_wait(slow, clock_monotonic_ns() + NS_PER_MS));
    assert_true(slow_wait(slow, SECONDS(60)));
    assert_int_equal(reads, 1);
    assert_non_null(slow_take(slow));
    slow_tick(slow); /* not taken yet: it must not be written over */
    usleep(20000);
    assert_int_equal(reads, 1);
    slow_give_back(slow);
}

static void jobs_are_heard_of_as_copies(void **state)
{
    struct slow *slow = *state;
    char id[] = "4711", user[] = "ada";
    struct job job = { .id = id, .other_id = "", .source = "told", .user = "", .cgroup = "/a", .slot = 3 };
    slow_job(slow, &job, JOB_BEGIN);
    memset(id, 'x', 4); /* the table of jobs may do as it likes */
    slow_tick(slow);
    wait_for_fd();
    slow_give_back(slow);
    assert_string_equal(heard, "4711  /a");
    memcpy(id, "4711", 4);
    job.user = user;
    slow_job(slow, &job, JOB_CHANGE);
    slow_job(slow, &job, JOB_END);
    memset(id, 'x', 4);
    wait_for_fd();
    const struct batch *batch = slow_take(slow);
    assert_int_equal(batch->count, 1);
    assert_string_equal(batch->samples[0].job, "4711"); /* as long as we look at it */
    slow_give_back(slow);
    assert_true(begins == 1 && changes == 1 && ends == 1);
    assert_string_equal(heard, "4711 ada /a");
}

static void news_of_jobs_do_not_take_the_place_of_a_reading(void **state)
{
    struct slow *slow = *state;
    struct job job = { .id = "4711", .other_id = "", .source = "told", .user = "", .cgroup = "/a", .slot = 3 };
    struct slow_facts facts;
    slow_tick(slow);
    assert_true(slow_wait(slow, SECONDS(60)));
    slow_give_back(slow);
    slow_job(slow, &job, JOB_BEGIN);
    slow_job(slow, &job, JOB_END);
    assert_true(slow_wait(slow, SECONDS(60)));
    const struct batch *batch = slow_take(slow);
    assert_non_null(batch); /* the job's last sample, which nobody has taken when the tick comes */
    assert_string_equal(batch->samples[0].job, "4711");
    slow_tick(slow);
    slow_give_back(slow);
    assert_true(slow_wait(slow, SECONDS(60)));
    assert_non_null(slow_take(slow));
    slow_give_back(slow);
    slow_look(slow, &facts);
    assert_int_equal(facts.skipped, 0);
    assert_int_equal(reads, 2);
}

static void after_a_failure_the_jobs_that_run_are_told_again(void **state)
{
    struct slow *slow = *state;
    struct slow_facts facts;
    struct job job = { .id = "1", .other_id = "", .source = "told", .user = "", .cgroup = "", .slot = 0 };
    slow_job(slow, &job, JOB_BEGIN);
    read_result = IO;
    slow_tick(slow);
    assert_true(slow_wait(slow, SECONDS(60)));
    slow_look(slow, &facts);
    assert_false(facts.is_open);
    assert_int_equal(facts.last, IO);
    assert_int_equal(facts.failures, 1);
    assert_int_equal(closes, 1);
    read_result = OK;
    usleep(1050000); /* its first pause */
    slow_tick(slow);
    wait_for_fd();
    assert_int_equal(begins, 2);
    assert_int_equal(opens, 2);
    slow_look(slow, &facts);
    assert_int_equal(facts.openings, 2);
    slow_give_back(slow);
}

static void one_that_hangs_is_left_behind(void **state)
{
    struct slow *slow = *state;
    read_takes_ns = 3 * NS_PER_S;
    slow_tick(slow);
    while (!reads)
        usleep(1000);
    uint64_t begin_ns = clock_monotonic_ns();
    slow_stop((struct slow **)state);
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
        cmocka_unit_test_setup_teardown(a_reading_comes_by_itself_with_the_settings, begin, end),
        cmocka_unit_test_setup_teardown(nobody_waits_for_it, begin, end),
        cmocka_unit_test_setup_teardown(jobs_are_heard_of_as_copies, begin, end),
        cmocka_unit_test_setup_teardown(news_of_jobs_do_not_take_the_place_of_a_reading, begin, end),
        cmocka_unit_test_setup_teardown(after_a_failure_the_jobs_that_run_are_told_again, begin, end),
        cmocka_unit_test_setup_teardown(one_that_hangs_is_left_behind, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
