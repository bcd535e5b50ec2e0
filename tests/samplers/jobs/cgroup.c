/* The cgroups of jobs on captured nodes, on one that changes, and on this node. */
#include "samplers/all.h"

#include "base/clock.h"
#include "tools/burn.h"
#include "tools/job_sampling.h"
#include "tools/jobs_fixture.h"
#include "tools/node.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define U64(metric) job_sampling_u64(&s, job, step, metric)
#define UNKNOWN(metric) assert_null(job_sampling_find(&s, job, step, metric))

static void slurm_on_v1(void **state)
{
    (void)state;
    struct job_sampling s;
    const char *job = "5", *step = "";
    job_sampling_begin(&s, &sampler_cgroup, node_root("slurm-v1"));
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(s.batch.count, 6); /* two jobs, two steps each */
    assert_int_equal(U64("cpu"), 17142); /* us, of ns */
    assert_int_equal(U64("cpu_user"), 8000);
    assert_int_equal(U64("cpu_system"), 12000);
    assert_int_equal(U64("memory"), 1732608);
    assert_int_equal(U64("memory_peak"), 2179072);
    assert_int_equal(U64("memory_limit"), 62914560);
    UNKNOWN("io_read"); /* this node has no blkio */
    UNKNOWN("cpu_some");
    assert_non_null(job_sampling_sample(&s, "5", "0"));
    assert_non_null(job_sampling_sample(&s, "4", "extern"));
    assert_int_equal(job_sampling_u64(&s, "4", "", "memory_limit"), 73400320);
    job_sampling_end(&s);
}

static void slurm_on_v2(void **state)
{
    (void)state;
    struct job_sampling s;
    const char *job = "1", *step = "";
    job_sampling_begin(&s, &sampler_cgroup, node_root("slurm-v2"));
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(U64("cpu"), 1390000);
    assert_int_equal(U64("cpu_user"), 1380000);
    assert_int_equal(U64("memory"), 786432);
    assert_int_equal(U64("memory_peak"), 2723840);
    UNKNOWN("memory_limit"); /* "max" is not a number */
    assert_non_null(job_sampling_sample(&s, "1", "0"));
    assert_non_null(job_sampling_sample(&s, "3", "extern"));
    job_sampling_end(&s);
}

static void every_metric_of_v2(void **state)
{
    (void)state;
    struct job_sampling s;
    const char *job = "3385", *step = "";
    job_sampling_begin(&s, &sampler_cgroup, node_root("slurm-sluid"));
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(U64("cpu"), 1000000);
    assert_int_equal(U64("cpu_periods"), 10);
    assert_int_equal(U64("cpu_throttled_periods"), 2);
    assert_int_equal(U64("cpu_throttled"), 5000);
    assert_int_equal(U64("memory_limit"), 4294967296);
    assert_int_equal(U64("memory_anonymous"), 52428800);
    assert_int_equal(U64("memory_file"), 26214400);
    assert_int_equal(U64("memory_kernel"), 65536);
    assert_int_equal(U64("memory_shared"), 12288);
    assert_int_equal(U64("page_faults"), 4321);
    assert_int_equal(U64("major_page_faults"), 7);
    assert_int_equal(U64("swap_peak"), 8192);
    UNKNOWN("swap_limit");
    assert_int_equal(U64("memory_limit_hits"), 3);
    assert_int_equal(U64("oom_kills"), 1);
    assert_int_equal(U64("io_read"), 4096);
    assert_int_equal(U64("io_writes"), 2);
    assert_int_equal(U64("pids"), 5);
    assert_int_equal(U64("pids_peak"), 9);
    assert_int_equal(U64("cpu_some"), 1000);
    assert_int_equal(U64("io_full"), 102);
    assert_int_equal(job_sampling_u64(&s, "3385", "0", "cpu"), 900000);
    job_sampling_end(&s);
}

static void an_old_kernel_with_v1(void **state)
{
    (void)state;
    struct job_sampling s;
    const char *job = "4711", *step = "";
    job_sampling_begin(&s, &sampler_cgroup, node_root("oar-v1"));
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(s.batch.count, 2);
    assert_int_equal(U64("cpu"), 123456);
    assert_int_equal(U64("cpu_user"), 100000); /* from cpuacct.stat, for lack of a better file */
    assert_int_equal(U64("cpu_throttled"), 7000);
    UNKNOWN("memory_limit"); /* a number that means no limit */
    assert_int_equal(U64("memory_anonymous"), 8192);
    assert_int_equal(U64("swap"), 512);
    assert_int_equal(U64("memory_limit_hits"), 5);
    assert_int_equal(U64("oom_kills"), 2);
    assert_int_equal(U64("io_read"), 4097);
    assert_int_equal(U64("io_written"), 2);
    assert_int_equal(U64("io_reads"), 1);
    assert_int_equal(job_sampling_u64(&s, "4712", "", "cpu"), 246913);
    job_sampling_end(&s);
}

static void bytes_are_not_counted_twice(void **state)
{
    (void)state;
    struct job_sampling s;
    const char *job = "4712[3].head", *step = "";
    job_sampling_begin(&s, &sampler_cgroup, node_root("pbs-v2"));
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(U64("io_read"), 1001); /* without device mapper and loop, which are counted by the disk */
    assert_int_equal(U64("io_writes"), 24);
    job_sampling_end(&s);
}

static void damaged_files_are_tolerated(void **state)
{
    (void)state;
    struct job_sampling s;
    const char *job = "1", *step = "";
    job_sampling_begin(&s, &sampler_cgroup, node_root("jobs-sick"));
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(U64("cpu"), 1000000);
    assert_int_equal(U64("cpu_system"), 250000);
    UNKNOWN("cpu_user");
    UNKNOWN("memory");
    UNKNOWN("memory_peak");
    UNKNOWN("memory_limit");
    UNKNOWN("memory_anonymous");
    assert_int_equal(U64("memory_file"), 4096);
    UNKNOWN("oom_kills");
    assert_int_equal(U64("io_written"), 11);
    assert_int_equal(U64("io_read"), 7);
    UNKNOWN("pids");
    UNKNOWN("pids_limit");
    UNKNOWN("cpu_some");
    assert_int_equal(U64("cpu_full"), 9);
    UNKNOWN("memory_some");
    job_sampling_end(&s);
}

#define JOB "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7"

/* Unlike files of a cgroup, a removed file can still be read while it is open: so it is not kept open. */
static void begin(struct job_sampling *s, const struct fixture *f)
{
    job_sampling_begin_with(s, &sampler_cgroup, f->root, "keep_open", "no");
}

static void write_group(const struct fixture *f, const char *below, uint64_t usage_us)
{
    char path[512], text[64];
    snprintf(path, sizeof path, JOB "%s/cpu.stat", below);
    snprintf(text, sizeof text, "usage_usec %llu\n", (unsigned long long)usage_us);
    fixture_write(f, path, text);
}

static void steps_come_and_go(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v2(&f);
    write_group(&f, "", 100);
    begin(&s, &f);
    job_sampling_read(&s);
    assert_int_equal(s.batch.count, 1);
    write_group(&f, "/step_0", 50);
    jobs_read(s.jobs);
    job_sampling_read(&s);
    assert_int_equal(job_sampling_u64(&s, "7", "0", "cpu"), 50);
    fixture_remove(&f, JOB "/step_0");
    jobs_read(s.jobs);
    job_sampling_read(&s);
    assert_int_equal(job_sampling_u64(&s, "7", "0", "cpu"), 50); /* again, until the end */
    job_sampling_read(&s);
    assert_null(job_sampling_sample(&s, "7", "0"));
    assert_int_equal(s.batch.count, 1);
    job_sampling_end(&s);
    temp_remove(f.root);
}

#define V1_STEP "/slurm/uid_1000/job_7/step_0"

/* Slurm creates a step in one hierarchy after the other, and each may be an event. */
static void controllers_of_a_step_appear_one_by_one(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    fixture_begin_v1(&f);
    fixture_write(&f, "/sys/fs/cgroup/pids/cgroup.procs", "");
    fixture_write(&f, "/sys/fs/cgroup/memory" V1_STEP "/memory.usage_in_bytes", "4096\n");
    begin(&s, &f);
    for (size_t i = 0; i < 9; i++)
        job_sampling_read(&s);
    assert_null(job_sampling_find(&s, "7", "0", "pids"));
    fixture_write(&f, "/sys/fs/cgroup/pids" V1_STEP "/pids.current", "3\n");
    jobs_read(s.jobs);
    job_sampling_read(&s);
    assert_int_equal(job_sampling_u64(&s, "7", "0", "pids"), 3);
    job_sampling_end(&s);
    temp_remove(f.root);
}

/* A job whose cgroup was removed and created again between two steps. */
static void a_recreated_cgroup_continues_its_counters(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    const char *job = "7", *step = "";
    fixture_begin_v2(&f);
    write_group(&f, "", 100000);
    fixture_write(&f, JOB "/memory.current", "1\n");
    begin(&s, &f);
    write_group(&f, "", 5);
    job_sampling_read(&s);
    assert_int_equal(U64("cpu"), 100005);
    write_group(&f, "", 20);
    job_sampling_read(&s);
    assert_int_equal(U64("cpu"), 100020);
    fixture_remove(&f, JOB "/cpu.stat"); /* noticed while it does not exist: then the new value may be larger */
    fixture_remove(&f, JOB "/memory.current");
    job_sampling_read(&s);
    write_group(&f, "", 30);
    for (int i = 0; i < 64; i++) /* files that did not exist are retried now and then */
        job_sampling_read(&s);
    assert_int_equal(U64("cpu"), 100050);
    job_sampling_end(&s);
    temp_remove(f.root);
}

/* Hybrid: the same cgroup in both; the controllers are in v1, pressure is in v2. */
static void v1_and_v2_at_once(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    const char *job = "45670", *step = "";
    static const char slice[] = "/oar.slice/oar-u1000.slice/oar-u1000-j45670.slice";
    char path[512];
    fixture_begin_v1(&f);
    fixture_write(&f, "/sys/fs/cgroup/unified/cgroup.controllers", "");
    snprintf(path, sizeof path, "/sys/fs/cgroup/unified%s/cpu.pressure", slice);
    fixture_write(&f, path, "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n");
    snprintf(path, sizeof path, "/sys/fs/cgroup/memory%s/memory.usage_in_bytes", slice);
    fixture_write(&f, path, "4096\n");
    begin(&s, &f);
    assert_int_equal(jobs_count(s.jobs), 1);
    assert_false(jobs_find(s.jobs, job)->unified);
    job_sampling_read(&s);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(U64("memory"), 4096);
    assert_int_equal(U64("cpu_some"), 77);
    snprintf(path, sizeof path, "/sys/fs/cgroup/memory%s", slice);
    fixture_remove(&f, path);
    jobs_read(s.jobs);
    assert_int_equal(jobs_count(s.jobs), 1); /* it still exists in the other */
    snprintf(path, sizeof path, "/sys/fs/cgroup/unified%s", slice);
    fixture_remove(&f, path);
    jobs_read(s.jobs);
    assert_int_equal(jobs_count(s.jobs), 0);
    assert_int_equal(U64("memory"), 4096);
    job_sampling_end(&s);
    temp_remove(f.root);
}

static size_t open_files(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 2048; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void many_jobs_with_few_descriptors(void **state)
{
    (void)state;
    struct job_sampling s;
    struct fixture f;
    struct rlimit before, few;
    char path[256];
    fixture_begin_v2(&f);
    for (int i = 0; i < 2000; i++) {
        snprintf(path, sizeof path, "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_%d/cpu.stat", i);
        fixture_write(&f, path, "usage_usec 5\n");
    }
    getrlimit(RLIMIT_NOFILE, &before);
    few = (struct rlimit){ .rlim_cur = 128, .rlim_max = before.rlim_max };
    size_t files = open_files();
    setrlimit(RLIMIT_NOFILE, &few);
    job_sampling_begin(&s, &sampler_cgroup, f.root);
    assert_int_equal(job_sampling_read(&s), OK);
    assert_int_equal(s.batch.count, 2000);
    assert_true(open_files() < files + 32);
    setrlimit(RLIMIT_NOFILE, &before);
    job_sampling_end(&s);
    assert_int_equal(open_files(), files);
    temp_remove(f.root);
}

static void nothing_is_allocated_once_warm(void **state)
{
    (void)state;
    struct job_sampling s;
    job_sampling_begin(&s, &sampler_cgroup, node_root("slurm-v1"));
    job_sampling_read(&s);
    const void *samples = s.batch.samples, *values = s.batch.values;
    size_t files = open_files();
    for (int i = 0; i < 200; i++) {
        batch_reset(&s.batch);
        enum err err = sampler_cgroup.read(s.state, &s.batch);
        assert_true(err == OK || err == AGAIN);
    }
    assert_ptr_equal(s.batch.samples, samples);
    assert_ptr_equal(s.batch.values, values);
    assert_int_equal(open_files(), files);
    job_sampling_end(&s);
}

/* A child in a cgroup of its own on this node: the CPU time equals that of wait4. */
static void this_node_agrees_with_wait4(void **state)
{
    (void)state;
    struct job_sampling s;
    struct rusage usage;
    char procs[256], directory[128];
    static char path[64];
    snprintf(path, sizeof path, "/sonde-test-%d", (int)getpid());
    snprintf(directory, sizeof directory, "/sys/fs/cgroup/cpuacct%s", path);
    if (mkdir(directory, 0755) != 0)
        leave_out("no cpuacct hierarchy that we may write to");
    snprintf(procs, sizeof procs, "%s/cgroup.procs", directory);
    struct job job = { .id = "live", .other_id = "", .source = "told", .user = "", .cgroup = path, .uid = UINT32_MAX };
    job_sampling_begin(&s, &sampler_cgroup, "");
    assert_int_equal(jobs_begin(s.jobs, &job), OK);
    pid_t pid = fork();
    if (!pid) {
        int fd = open(procs, O_WRONLY);
        if (write(fd, "0", 1) != 1)
            _exit(1);
        burn(CLOCK_PROCESS_CPUTIME_ID, 100);
        _exit(0);
    }
    int status;
    wait4(pid, &status, 0, &usage);
    assert_int_equal(status, 0);
    assert_int_equal(job_sampling_read(&s), OK);
    uint64_t cpu_us = job_sampling_u64(&s, "live", "", "cpu");
    assert_true(cpu_us >= 99000 && cpu_us < 150000);
    batch_reset(&s.batch);
    assert_int_equal(jobs_end(s.jobs, "live", 0), OK);
    assert_int_equal(job_sampling_u64(&s, "live", "", "cpu"), cpu_us);
    assert_int_equal(rmdir(directory), 0);
    job_sampling_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_on_v1),
        cmocka_unit_test(slurm_on_v2),
        cmocka_unit_test(every_metric_of_v2),
        cmocka_unit_test(an_old_kernel_with_v1),
        cmocka_unit_test(bytes_are_not_counted_twice),
        cmocka_unit_test(damaged_files_are_tolerated),
        cmocka_unit_test(steps_come_and_go),
        cmocka_unit_test(controllers_of_a_step_appear_one_by_one),
        cmocka_unit_test(a_recreated_cgroup_continues_its_counters),
        cmocka_unit_test(v1_and_v2_at_once),
        cmocka_unit_test(many_jobs_with_few_descriptors),
        cmocka_unit_test(nothing_is_allocated_once_warm),
        cmocka_unit_test(this_node_agrees_with_wait4),
    };
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1); /* creates thousands of directories */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
