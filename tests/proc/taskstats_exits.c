/* Live exit records of the kernel, compared with wait4 of the same process. */
#include "proc/taskstats_exits.h"

#include "base/clock.h"
#include "tools/as_user.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define BURN_NS (30 * NS_PER_MS)
#define PAGES 2000

static void *burn(void *unused)
{
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns < BURN_NS) { }
    return unused;
}

/* THREADS threads that burn, pages touched, bytes read. */
static void work(void)
{
    pthread_t threads[THREADS];
    char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < PAGES; i++)
        pages[i * 4096] = 1;
    int zero = open("/dev/zero", O_RDONLY);
    ssize_t got = read(zero, pages, 1 << 20);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, burn, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    _exit(got == 1 << 20 ? 5 : 6);
}

struct seen {
    uint32_t pid;
    unsigned records, ends;
    struct taskstats_record main;
    struct counters sum;
};

static void note(void *context, const struct taskstats_record *record)
{
    struct seen *seen = context;
    if (record->pid != seen->pid)
        return;
    seen->records++;
    seen->ends += record->process_ended != 0;
    counters_add(&seen->sum, &record->counters);
    if (record->tid == record->pid)
        seen->main = *record;
}

/* False: exit records are not available here. */
static bool run_and_note(void (*child)(void), struct seen *seen, int *status, struct rusage *usage)
{
    struct taskstats_exits exits;
    enum err err = taskstats_exits_open(&exits);
    if (err == DENIED || err == ABSENT)
        return false;
    assert_int_equal(err, OK);
    *seen = (struct seen){ 0 };
    pid_t pid = fork();
    if (pid == 0)
        child();
    wait4(pid, status, 0, usage);
    seen->pid = (uint32_t)pid;
    assert_int_equal(taskstats_exits_read(&exits, note, seen), OK);
    assert_int_equal(exits.lost, 0);
    taskstats_exits_close(&exits);
    return true;
}

static void every_thread_has_its_record(void **state)
{
    (void)state;
    struct seen seen;
    struct rusage usage;
    int status;
    uint64_t before_ns = clock_realtime_ns();
    if (!run_and_note(work, &seen, &status, &usage))
        leave_out("no taskstats here");
    assert_int_equal(seen.records, THREADS + 1);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.main.status, status);
    assert_int_equal(seen.main.ppid, getpid());
    assert_int_equal(seen.main.uid, getuid());
    assert_in_range(seen.main.start_ns, before_ns - NS_PER_S, clock_realtime_ns());
    assert_true(seen.main.end_ns > seen.main.start_ns);
}

static void the_sum_agrees_with_wait4(void **state)
{
    (void)state;
    struct seen seen;
    struct rusage usage;
    int status;
    if (!run_and_note(work, &seen, &status, &usage))
        leave_out("no taskstats here");
    uint64_t truth_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000
                        + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    uint64_t cpu_us = counters_cpu_us(&seen.sum);
    assert_true(truth_us > THREADS * BURN_NS / 1000);
    assert_in_range(cpu_us, truth_us - truth_us / 50 - 1000, truth_us); /* the exit itself is not in the record */
    assert_in_range(seen.sum.value[COUNTER_minflt], PAGES, (uint64_t)usage.ru_minflt);
    assert_in_range(seen.sum.value[COUNTER_rssmax], PAGES * 4, (uint64_t)usage.ru_maxrss + 256);
    assert_in_range(seen.sum.value[COUNTER_rchar], 1 << 20, (1 << 20) + 65536);
    assert_in_range(seen.sum.value[COUNTER_vol_ctxsw], 1, (uint64_t)usage.ru_nvcsw);
}

static void kill_ourselves(void)
{
    raise(SIGKILL);
}

static void a_kill_is_in_the_status(void **state)
{
    (void)state;
    struct seen seen;
    struct rusage usage;
    int status;
    if (!run_and_note(kill_ourselves, &seen, &status, &usage))
        leave_out("no taskstats here");
    assert_int_equal(seen.records, 1);
    assert_int_equal(seen.main.status, SIGKILL);
    assert_int_equal(seen.main.process_ended, 1);
}

static void count_ours(void *context, const struct taskstats_record *record)
{
    *(unsigned *)context += record->ppid == (uint64_t)getpid();
}

/* vfork: sanitizers make a copy of our memory expensive. */
static void end_at_once(void)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
}

static void thousands_of_records_are_read_at_once(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct taskstats_exits exits;
    unsigned count = 0;
    if (taskstats_exits_open(&exits))
        leave_out("no taskstats here");
    for (int i = 0; i < COUNT; i++)
        end_at_once();
    assert_int_equal(taskstats_exits_read(&exits, count_ours, &count), OK);
    assert_int_equal(count, COUNT);
    assert_int_equal(exits.lost, 0);
    taskstats_exits_close(&exits);
}

static int open_one(void)
{
    struct taskstats_exits exits;
    return (int)taskstats_exits_open(&exits);
}

static void a_user_is_denied(void **state)
{
    (void)state;
    if (getuid() != 0)
        leave_out("needs root");
    int status = as_user(open_one);
    assert_true(status == DENIED || status == ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_has_its_record),
        cmocka_unit_test(the_sum_agrees_with_wait4),
        cmocka_unit_test(a_kill_is_in_the_status),
        cmocka_unit_test(thousands_of_records_are_read_at_once),
        cmocka_unit_test(a_user_is_denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
