/* Jobs with live taskstats: compared with the cgroup's counters and with known work. */
#include "base/clock.h"
#include "samplers/all.h"
#include "tools/burn.h"
#include "tools/group.h"
#include "tools/sensing.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static struct sensing sensing;
static struct group group;

/* False: taskstats or cgroups are not available here. */
static bool begin(bool unified)
{
    if (!group_make(&group, unified, 3))
        return false;
    if (sensing_begin(&sensing, &sampler_taskstats, "")) {
        group_remove(&group);
        return false;
    }
    assert_int_equal(sensing_job(&sensing, &group.job, JOB_BEGIN), OK);
    return true;
}

static void finish(void)
{
    sensing_end(&sensing);
    group_remove(&group);
}

static uint64_t value(const char *metric)
{
    const union value *v = sensing_find(&sensing, "", group.id, metric);
    assert_non_null(v);
    return v->u64;
}

static void read_now(void)
{
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(sensing.batch.count, 1);
    assert_string_equal(sensing.batch.samples[0].set->name, "taskstats");
}

static void end_job(void)
{
    assert_int_equal(sensing_job(&sensing, &group.job, JOB_END), OK);
    assert_int_equal(sensing.batch.count, 1);
}

static void *burn_thread(void *ms)
{
    burn(CLOCK_THREAD_CPUTIME_ID, (long)(intptr_t)ms);
    return NULL;
}

static void burn_in_threads(void *context)
{
    (void)context;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, burn_thread, (void *)40);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    burn(CLOCK_THREAD_CPUTIME_ID, 100);
}

/* Ticks all the time: nothing is counted twice, nothing decreases. */
static void watch_to_the_end(pid_t pid)
{
    uint64_t last_ns = 0;
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        read_now();
        if (sensing_find(&sensing, "", group.id, "cpu")) {
            assert_true(value("cpu") >= last_ns);
            last_ns = value("cpu");
        }
        usleep(5000);
    }
    assert_int_equal(status, 0);
}

static void agrees_with_the_group(bool unified)
{
    if (!begin(unified))
        leave_out("no taskstats or no cgroup here");
    watch_to_the_end(group_start(&group, burn_in_threads, NULL));
    end_job();
    uint64_t truth_ns = group_cpu_ns(&group), cpu_ns = value("cpu");
    finish();
    assert_true(truth_ns > 250 * NS_PER_MS);
    assert_in_range(cpu_ns, truth_ns - truth_ns / 100, truth_ns + truth_ns / 100);
    assert_int_equal(sensing.batch.count, 0);
}

static void cpu_time_agrees_with_cpuacct(void **state)
{
    (void)state;
    agrees_with_the_group(false);
}

static void cpu_time_agrees_with_cpu_stat(void **state)
{
    (void)state;
    agrees_with_the_group(true);
}

static void make_short_ones(void *context)
{
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            burn(CLOCK_PROCESS_CPUTIME_ID, 1);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    (void)context;
}

static void two_hundred_short_processes_are_in_the_totals(void **state)
{
    (void)state;
    if (!begin(false))
        leave_out("no taskstats or no cgroup here");
    read_now();
    assert_int_equal(value("tasks"), 0);
    pid_t pid = group_ready(&group, make_short_ones, NULL);
    read_now();
    assert_int_equal(value("tasks"), 1);
    assert_int_equal(group_go(pid), 0);
    read_now();
    uint64_t truth_ns = group_cpu_ns(&group);
    assert_int_equal(value("tasks_ended"), 201);
    assert_int_equal(value("records_lost"), 0);
    assert_true(truth_ns >= 200 * NS_PER_MS);
    assert_in_range(value("cpu"), truth_ns - truth_ns / 100, truth_ns);
    assert_true(value("timeslices") >= 201);
    assert_true(value("minor_faults") > 200 * 10);
    finish();
}

/* Their parents exited first: only fork events show whose they are. */
static void make_orphans(void *context)
{
    (void)context;
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (fork() == 0) {
                usleep(3000);
                if (fork() == 0)
                    burn(CLOCK_PROCESS_CPUTIME_ID, 1);
            }
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    usleep(50000);
}

static void orphans_belong_to_the_job(void **state)
{
    (void)state;
    if (!begin(true))
        leave_out("no taskstats or no cgroup here");
    pid_t pid = group_ready(&group, make_orphans, NULL);
    assert_int_equal(sensing_job(&sensing, &group.job, JOB_CHANGE), OK);
    assert_int_equal(group_go(pid), 0);
    group_wait_empty(&group);
    end_job();
    assert_int_equal(value("tasks_ended"), 61);
    finish();
}

#define IO_BYTES (4 << 20)

static void do_io(void *path)
{
    char *data = mmap(NULL, IO_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(data, 1, IO_BYTES);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int i = 0; i < IO_BYTES; i += 4096)
        if (write(fd, data + i, 4096) != 4096)
            _exit(1);
    fsync(fd);
    if (pread(fd, data, IO_BYTES, 0) != IO_BYTES)
        _exit(1);
    usleep(*(const char *)path ? 60000 : 0);
}

static void io_is_exact_to_a_kib_per_task(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX], dir[TEMP_PATH_MAX];
    if (!begin(false))
        leave_out("no taskstats or no cgroup here");
    temp_dir(dir);
    temp_join(path, dir, "data");
    watch_to_the_end(group_start(&group, do_io, path));
    end_job();
    temp_remove(dir);
    assert_in_range(value("wchar"), IO_BYTES, IO_BYTES + 1023); /* plus one byte written to enter the cgroup */
    assert_in_range(value("rchar"), IO_BYTES, IO_BYTES + 1023);
    assert_int_equal(value("syscw"), IO_BYTES / 4096 / 1024 * 1024);
    assert_in_range(value("rss_peak"), IO_BYTES, IO_BYTES + (256u << 20));
    assert_true(value("vm_peak") >= value("rss_peak"));
    assert_true(value("write_bytes") == 0 || value("write_bytes") >= IO_BYTES); /* 0: a file system in memory */
    finish();
}

static void sleep_below(void *name)
{
    group_enter(&group, name);
    burn(CLOCK_PROCESS_CPUTIME_ID, 20);
    raise(SIGSTOP);
    pause();
}

static void make_step(const char *name)
{
    char path[512];
    group_step_path(path, &group, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void remove_step(const char *name)
{
    char path[512];
    group_step_path(path, &group, name);
    group_remove_path(path);
}

static void steps_come_and_go(bool unified)
{
    static char *const names[] = { "/step_0", "/step_0/task_0", "/step_1" };
    pid_t pids[3];
    if (!begin(unified))
        leave_out("no taskstats or no cgroup here");
    read_now();
    for (int i = 0; i < 3; i++) {
        make_step(names[i]);
        pids[i] = group_start(&group, sleep_below, names[i]);
        waitpid(pids[i], NULL, WUNTRACED);
        read_now();
        assert_int_equal(value("tasks"), i + 1);
    }
    for (int i = 2; i >= 0; i--) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
        remove_step(names[i]);
        read_now();
        assert_int_equal(value("tasks"), i);
    }
    assert_int_equal(value("tasks_ended"), 3);
    assert_true(value("cpu") > 60 * NS_PER_MS);
    finish();
}

static void steps_of_v1_come_and_go(void **state)
{
    (void)state;
    steps_come_and_go(false);
}

static void steps_of_v2_come_and_go(void **state)
{
    (void)state;
    steps_come_and_go(true);
}

/* exec in a thread other than the leader: it continues under the tid of its process. */
static void *exec_in_thread(void *context)
{
    (void)context;
    burn(CLOCK_THREAD_CPUTIME_ID, 100);
    usleep(30000); /* a tick happens meanwhile */
    execl("/bin/sleep", "sleep", "0.1", (char *)NULL);
    _exit(98);
}

static void take_over(void *context)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exec_in_thread, context);
    pthread_join(thread, NULL);
}

static void a_thread_that_calls_exec_is_counted_once(void **state)
{
    (void)state;
    if (!begin(false))
        leave_out("no taskstats or no cgroup here");
    watch_to_the_end(group_start(&group, take_over, NULL));
    end_job();
    uint64_t user_us = value("user") + value("system"); /* these do not come from the cgroup */
    finish();
    assert_in_range(user_us, 50000, 180000);
}

static void a_job_without_a_cgroup_consists_of_descendants(void **state)
{
    (void)state;
    if (!begin(false))
        leave_out("no taskstats or no cgroup here");
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP); /* until the job is known */
        burn_in_threads(NULL);
        make_short_ones(NULL);
        _exit(0);
    }
    struct job job = { .id = "77", .cgroup = "", .pid = (uint32_t)pid, .slot = 70, .other_id = "", .source = "told",
                       .user = "" };
    waitpid(pid, NULL, WUNTRACED);
    assert_int_equal(sensing_job(&sensing, &job, JOB_BEGIN), OK);
    kill(pid, SIGCONT);
    for (int i = 0; i < 5; i++, usleep(20000))
        assert_int_equal(sensing_read(&sensing), OK);
    waitpid(pid, NULL, 0);
    assert_int_equal(sensing_job(&sensing, &job, JOB_END), OK);
    assert_int_equal(sensing.batch.count, 1);
    assert_in_range(sensing_find(&sensing, "", "77", "cpu")->u64, 300 * NS_PER_MS, 900 * NS_PER_MS);
    assert_int_equal(sensing_find(&sensing, "", "77", "tasks_ended")->u64, 205);
    finish();
}

static void an_ended_job_has_a_last_sample(void **state)
{
    (void)state;
    if (!begin(true))
        leave_out("no taskstats or no cgroup here");
    pid_t pid = group_ready(&group, burn_in_threads, NULL);
    assert_int_equal(sensing_job(&sensing, &group.job, JOB_CHANGE), OK);
    assert_int_equal(group_go(pid), 0);
    uint64_t truth_ns = group_cpu_ns(&group);
    group_remove(&group);
    end_job();
    assert_true(value("cpu") > truth_ns - truth_ns / 20);
    assert_int_equal(value("tasks_ended"), 5);
    assert_int_equal(sensing_read(&sensing), OK); /* and is not repeated */
    assert_int_equal(sensing.batch.count, 0);
    sensing_end(&sensing);
}

/* A job whose tasks were never listed: the cgroup has counted them. */
static void a_job_between_two_ticks_has_its_cpu_time(void **state)
{
    (void)state;
    if (!begin(false))
        leave_out("no taskstats or no cgroup here");
    assert_int_equal(group_run(&group, burn_in_threads, NULL), 0);
    end_job();
    assert_int_equal(value("cpu"), group_cpu_ns(&group));
    assert_null(sensing_find(&sensing, "", group.id, "minor_faults")); /* unknown, not 0 */
    finish();
}

#define MANY 5000

static void five_thousand_jobs_are_read(void **state)
{
    (void)state;
    static struct group many[MANY];
    struct rlimit before, small;
    getrlimit(RLIMIT_NOFILE, &before);
    small = (struct rlimit){ 1024, before.rlim_max };
    setrlimit(RLIMIT_NOFILE, &small);
    if (!begin(true))
        leave_out("no taskstats or no cgroup here");
    pid_t pid = group_ready(&group, make_short_ones, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        group_describe(&many[i], i % 2, 100 + i);
        if (i % 100 == 0) { /* declared twice: its tasks belong to both */
            many[i].job.cgroup = group.cgroup;
            many[i].job.unified = true;
        }
        assert_int_equal(sensing_job(&sensing, &many[i].job, JOB_BEGIN), OK);
    }
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(sensing.batch.count, MANY + 1);
    assert_int_equal(sensing_find(&sensing, "", many[MANY - 100].id, "tasks")->u64, 1);
    assert_int_equal(group_go(pid), 0);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(sensing_find(&sensing, "", many[MANY - 100].id, "tasks_ended")->u64, 201);
    assert_int_equal(sensing_find(&sensing, "", many[MANY - 1].id, "tasks_ended")->u64, 0);
    finish();
    setrlimit(RLIMIT_NOFILE, &before);
}

/* The sampler's sockets are among our descriptors. */
static unsigned find_netlink_sockets(int fds[8])
{
    unsigned count = 0;
    for (int fd = 3; fd < 256 && count < 8; fd++) {
        int family = -1;
        socklen_t size = sizeof family;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family == AF_NETLINK)
            fds[count++] = fd;
    }
    return count;
}

static unsigned shrink_netlink_buffers(void)
{
    int fds[8], small = 1;
    unsigned count = find_netlink_sockets(fds);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    return count;
}

static void an_overflow_is_counted_and_compensated_from_the_cgroup(void **state)
{
    (void)state;
    if (!begin(false))
        leave_out("no taskstats or no cgroup here");
    pid_t pid = group_ready(&group, make_short_ones, NULL);
    read_now();
    assert_int_equal(value("records_lost"), 0);
    assert_true(shrink_netlink_buffers() >= 2);
    assert_int_equal(group_go(pid), 0);
    read_now();
    uint64_t truth_ns = group_cpu_ns(&group);
    assert_true(value("records_lost") > 100);
    assert_true(value("tasks_ended") < 100);
    assert_true(truth_ns >= 200 * NS_PER_MS);
    assert_in_range(value("cpu"), truth_ns - truth_ns / 100, truth_ns);
    end_job();
    assert_in_range(value("cpu"), truth_ns - truth_ns / 100, truth_ns);
    assert_int_equal(value("tasks"), 0);
    finish();
}

/* All its sockets fail for a while: counts are kept, and counting continues. */
static void failing_sockets_lose_no_counts(void **state)
{
    (void)state;
    int fds[8], saved[8], nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (!begin(false))
        leave_out("no taskstats or no cgroup here");
    pid_t pid = group_ready(&group, make_short_ones, NULL);
    read_now();
    assert_int_equal(group_go(pid), 0);
    read_now();
    uint64_t faults = value("minor_faults");
    unsigned count = find_netlink_sockets(fds);
    for (unsigned i = 0; i < count; i++) {
        saved[i] = dup(fds[i]);
        dup2(nothing, fds[i]);
    }
    pid = group_ready(&group, make_short_ones, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sensing_read(&sensing), AGAIN);
    for (unsigned i = 0; i < count; i++) {
        dup2(saved[i], fds[i]);
        close(saved[i]);
    }
    read_now();
    assert_int_equal(group_go(pid), 0);
    read_now();
    assert_int_equal(value("tasks_ended"), 2 * 201);
    assert_true(value("minor_faults") > faults + faults / 2);
    close(nothing);
    finish();
}

static int clean(void **state)
{
    (void)state;
    group_remove(&group);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(cpu_time_agrees_with_cpuacct, clean),
        cmocka_unit_test_teardown(cpu_time_agrees_with_cpu_stat, clean),
        cmocka_unit_test_teardown(two_hundred_short_processes_are_in_the_totals, clean),
        cmocka_unit_test_teardown(orphans_belong_to_the_job, clean),
        cmocka_unit_test_teardown(io_is_exact_to_a_kib_per_task, clean),
        cmocka_unit_test_teardown(steps_of_v1_come_and_go, clean),
        cmocka_unit_test_teardown(steps_of_v2_come_and_go, clean),
        cmocka_unit_test_teardown(a_thread_that_calls_exec_is_counted_once, clean),
        cmocka_unit_test_teardown(a_job_without_a_cgroup_consists_of_descendants, clean),
        cmocka_unit_test_teardown(an_ended_job_has_a_last_sample, clean),
        cmocka_unit_test_teardown(a_job_between_two_ticks_has_its_cpu_time, clean),
        cmocka_unit_test_teardown(five_thousand_jobs_are_read, clean),
        cmocka_unit_test_teardown(failing_sockets_lose_no_counts, clean),
        cmocka_unit_test_teardown(an_overflow_is_counted_and_compensated_from_the_cgroup, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
