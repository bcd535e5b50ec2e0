/* Perf events of jobs: software events live in v2 cgroups of the test; hardware with a replacement of the system call
 * that simulates counters which are multiplexed, missing, or offline with their CPU. */
#include "base/clock.h"
#include "proc/perf.h"
#include "proc/perf_cgroup.h"
#include "proc/perf_names.h"
#include "samplers/all.h"
#include "tools/burn.h"
#include "tools/caught.h"
#include "tools/group.h"
#include "tools/sensing.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct sensing sensing;
static struct group group;
static int (*real_open)(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);

/* Captures stderr. */
static uint64_t value(const char *job, const char *metric)
{
    const union value *v = sensing_find(&sensing, "", job, metric);
    assert_non_null(v);
    return v->u64;
}

static void colmets_names_are_known(void **state)
{
    (void)state;
    static const struct { const char *name; uint32_t type; uint64_t config; } pairs[] = {
        { "cpu_cycles", 0, 0 }, { "instructions", 0, 1 }, { "cache_references", 0, 2 }, { "cache_misses", 0, 3 },
        { "branch_instructions", 0, 4 }, { "branch_misses", 0, 5 }, { "bus_cycles", 0, 6 }, { "ref_cpu_cycles", 0, 9 },
        { "cache_l1d", 3, 0 }, { "cache_ll", 3, 2 }, { "cache_dtlb", 3, 3 }, { "cache_itlb", 3, 4 },
        { "cache_bpu", 3, 5 }, { "cache_node", 3, 6 }, { "cache_op_read", 3, 0 }, { "cache_op_prefetch", 3, 2 },
        { "cache_result_access", 3, 0 }, { "cpu_clock", 1, 0 }, { "task_clock", 1, 1 }, { "page_faults", 1, 2 },
        { "context_switches", 1, 3 }, { "cpu_migrations", 1, 4 }, { "page_faults_min", 1, 5 },
        { "page_faults_maj", 1, 6 }, { "alignment_faults", 1, 7 }, { "emulation_faults", 1, 8 }, { "dummy", 1, 9 },
        { "bpf_output", 1, 10 },
    };
    assert_int_equal(sizeof pairs / sizeof *pairs, 28);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct perf_event_spec spec = { 0 };
        assert_int_equal(perf_names_encode(pairs[i].name, &spec), OK);
        assert_int_equal(spec.type, pairs[i].type);
        assert_int_equal(spec.config, pairs[i].config);
    }
}

/* Live. */

static bool begin_live(const char *events, bool unified)
{
    if (!group_make(&group, unified, 4))
        return false;
    sensing_init(&sensing, &sampler_perf, "");
    sensing_set(&sensing, "events", events);
    if (sensing_open(&sensing)) {
        group_remove(&group);
        return false;
    }
    assert_int_equal(sensing_job(&sensing, &group.job, JOB_BEGIN), OK);
    return true;
}

#define PAGES 3000

static void work(void *context)
{
    (void)context;
    char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        pages[i * 4096] = 1;
    burn(CLOCK_PROCESS_CPUTIME_ID, 200);
    for (int i = 0; i < 50; i++)
        usleep(100);
}

static void software_events_of_a_cgroup_are_exact(void **state)
{
    (void)state;
    if (!begin_live("page_faults,task_clock,cpu-clock,context_switches,page_faults_min,page_faults_maj,cpu-migrations",
                    true))
        leave_out("no perf events, or no v2 cgroup, here");
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value(group.id, "page_faults"), 0);
    assert_int_equal(sensing.batch.samples[0].set->size, 7); /* more than five */
    assert_int_equal(group_run(&group, work, NULL), 0);
    uint64_t truth_ns = group_cpu_ns(&group);
    assert_int_equal(sensing_job(&sensing, &group.job, JOB_END), OK);
    assert_in_range(value(group.id, "page_faults"), PAGES, PAGES + 2000);
    assert_int_equal(value(group.id, "page_faults"), value(group.id, "page_faults_min") + value(group.id,
                                                                                                "page_faults_maj"));
    assert_in_range(value(group.id, "task_clock"), 190 * NS_PER_MS, truth_ns + truth_ns / 10);
    assert_in_range(value(group.id, "cpu_clock"), 190 * NS_PER_MS, truth_ns + truth_ns / 10);
    assert_true(value(group.id, "context_switches") >= 50);
    assert_string_equal(sensing.batch.samples[0].set->metrics[2].source, "cpu-clock");
    assert_null(sensing.batch.samples[0].set->metrics[0].source);
    sensing_end(&sensing);
    group_remove(&group);
}

static void steps_are_included(void **state)
{
    (void)state;
    char step[512];
    if (!begin_live("page_faults", true))
        leave_out("no perf events, or no v2 cgroup, here");
    group_step_path(step, &group, "/step_0");
    assert_int_equal(mkdir(step, 0755), 0);
    pid_t pid = fork();
    if (pid == 0) {
        group_enter(&group, "/step_0");
        work(NULL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_in_range(value(group.id, "page_faults"), PAGES, PAGES + 2000);
    group_remove_path(step);
    sensing_end(&sensing);
    group_remove(&group);
}

static void a_job_without_a_perf_cgroup_has_no_sample(void **state)
{
    (void)state;
    if (!begin_live("page_faults", false))
        leave_out("no perf events, or no v1 cgroup, here");
    if (access("/sys/fs/cgroup/perf_event", F_OK) != 0) {
        assert_int_equal(sensing_read(&sensing), OK);
        assert_int_equal(sensing.batch.count, 0);
    }
    sensing_end(&sensing);
    group_remove(&group);
}

/* A node with hardware counters. Each descriptor is a file with the three numbers. */
static char machine[TEMP_PATH_MAX];
static int opened[64], opened_cpu[64];
static size_t opened_count;
static bool lacks_cache, denies_groups;

static int play_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    (void)group_fd;
    if (lacks_cache && attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CACHE_MISSES) {
        errno = ENOENT;
        return -1;
    }
    if (!(flags & PERF_FLAG_PID_CGROUP))
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (denies_groups) {
        errno = EACCES;
        return -1;
    }
    struct stat st;
    if (fstat(pid, &st) || !S_ISDIR(st.st_mode) || cpu < 0) {
        errno = EINVAL;
        return -1;
    }
    FILE *file = tmpfile();
    int fd = dup(fileno(file));
    fclose(file);
    assert_true(opened_count < 64);
    opened[opened_count] = fd;
    opened_cpu[opened_count++] = cpu;
    return fd;
}

static void count_to(size_t i, uint64_t count, uint64_t enabled, uint64_t running)
{
    uint64_t numbers[3] = { count, enabled, running };
    assert_int_equal(pwrite(opened[i], numbers, sizeof numbers, 0), sizeof numbers);
    lseek(opened[i], 0, SEEK_SET);
}

/* Unlike an event, a file has a position that read advances. */
static void rewind_all(void)
{
    for (size_t i = 0; i < opened_count; i++)
        lseek(opened[i], 0, SEEK_SET);
}

static const struct job played = { .id = "6", .other_id = "", .source = "", .user = "", .cgroup = "/oar/x_6", .slot = 1 };

static enum err open_machine(const char *events, const char *cpus)
{
    temp_dir(machine);
    sensing_put(machine, "proc/self/mountinfo", "30 20 0:30 / /cg/perf rw - cgroup cgroup rw,perf_event\n");
    sensing_put(machine, "cg/perf/oar/x_6/tasks", "");
    sensing_put(machine, "sys/devices/system/cpu/online", cpus);
    opened_count = 0;
    perf_event_open_call = play_open;
    sensing_init(&sensing, &sampler_perf, machine);
    sensing_set(&sensing, "events", events);
    return sensing_open(&sensing);
}

static void begin_machine(const char *events, const char *cpus)
{
    assert_int_equal(open_machine(events, cpus), OK);
    opened_count = 0; /* one was opened to check the permission */
    assert_int_equal(sensing_job(&sensing, &played, JOB_BEGIN), OK);
}

static int put_real_back(void **state)
{
    (void)state;
    perf_event_open_call = real_open;
    lacks_cache = denies_groups = false;
    group_remove(&group);
    if (machine[0])
        temp_remove(machine);
    machine[0] = '\0';
    return 0;
}

static void counts_of_all_cpus_are_added_and_scaled(void **state)
{
    (void)state;
    begin_machine("cpu_cycles instructions", "0,2-3\n");
    assert_int_equal(opened_count, 6);
    assert_int_equal(opened_cpu[0], 0);
    assert_int_equal(opened_cpu[2], 2);
    assert_int_equal(opened_cpu[5], 3);
    for (size_t i = 0; i < 6; i++)
        count_to(i, 1000 * (i + 1), 100, i % 2 ? 50 : 100); /* instructions had a counter half of the time */
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "cpu_cycles"), 1000 + 3000 + 5000);
    assert_int_equal(value("6", "instructions"), 2 * (2000 + 4000 + 6000));
    count_to(1, 2500, 200, 150); /* all of the time since */
    rewind_all();
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "instructions"), 2 * (2000 + 4000 + 6000) + 500);
    sensing_end(&sensing);
}

static void an_event_without_a_counter_is_unknown(void **state)
{
    (void)state;
    begin_machine("cpu_cycles,instructions,branch_misses", "0\n");
    count_to(0, 1000, 100, 100);
    count_to(1, 0, 100, 0);
    count_to(2, 0, 0, 0);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "cpu_cycles"), 1000);
    assert_null(sensing_find(&sensing, "", "6", "instructions"));
    assert_int_equal(value("6", "branch_misses"), 0); /* nothing ran: the count is known to be 0 */
    count_to(1, 300, 400, 100);
    rewind_all();
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "instructions"), 1200); /* the first interval is covered too */
    sensing_end(&sensing);
}

static void cpus_come_and_go(void **state)
{
    (void)state;
    begin_machine("cpu_cycles", "0-1\n");
    count_to(0, 10, 1, 1);
    count_to(1, 20, 1, 1);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "cpu_cycles"), 30);
    sensing_put(machine, "sys/devices/system/cpu/online", "0\n");
    rewind_all();
    count_to(0, 15, 2, 2);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "cpu_cycles"), 35); /* the count of the other CPU is kept */
    sensing_put(machine, "sys/devices/system/cpu/online", "0-1\n");
    lseek(opened[0], 0, SEEK_SET);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(opened_count, 3);
    assert_int_equal(opened_cpu[2], 1);
    count_to(2, 7, 1, 1);
    lseek(opened[0], 0, SEEK_SET);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "cpu_cycles"), 42);
    sensing_end(&sensing);
}

static void a_missing_event_is_logged_once(void **state)
{
    (void)state;
    lacks_cache = true;
    catch_stderr();
    begin_machine("cache_misses,cpu_cycles,no_such_event", "0\n");
    for (int i = 0; i < 3; i++)
        sensing_read(&sensing);
    const char *text = caught_text();
    assert_int_equal(lines_in(text), 2);
    assert_non_null(strstr(text, "event cache_misses is not counted"));
    assert_non_null(strstr(text, "event no_such_event is not counted"));
    assert_int_equal(sensing.batch.samples[0].set->size, 3); /* they keep their place, which Colmet's columns depend on */
    assert_string_equal(sensing.batch.samples[0].set->metrics[1].name, "cpu_cycles");
    assert_null(sensing_find(&sensing, "", "6", "cache_misses"));
    count_to(0, 77, 1, 1);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "cpu_cycles"), 77);
    sensing_end(&sensing);
}

static void missing_default_events_are_not_warned_about(void **state)
{
    (void)state;
    lacks_cache = true;
    catch_stderr();
    begin_machine("instructions,cache_misses,page_faults,cpu_cycles,cache_references", "0\n");
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(sensing.batch.samples[0].set->size, 5);
    struct job elsewhere = { .id = "7", .cgroup = "/slurm/uid_0/job_7", .slot = 2 };
    assert_int_equal(sensing_job(&sensing, &elsewhere, JOB_BEGIN), OK);
    for (int reading = 0; reading < 20; reading++)
        assert_int_equal(sensing_read(&sensing), OK);
    assert_string_equal(caught_text(), "");
    sensing_end(&sensing);
}

static void missing_permission_is_logged_once_if_events_were_configured(void **state)
{
    (void)state;
    static const char *const events[] = { "instructions,cache_misses,page_faults,cpu_cycles,cache_references", "page_faults",
                                          "page_faults" };
    static const unsigned lines[] = { 0, 1, 0 };
    for (size_t i = 0; i < 3; i++) {
        denies_groups = true;
        catch_stderr();
        enum err err = open_machine(events[i], "1\n");
        assert_int_equal(lines_in(caught_text()), lines[i]);
        assert_int_equal(err, DENIED);
        put_real_back(state);
    }
}

/* Slurm's v1 plugins use other hierarchies; a job declared by its process has no cgroup at all. */
static void a_job_without_a_perf_cgroup_is_logged_once(void **state)
{
    (void)state;
    struct job jobs[] = { played, played };
    jobs[0].cgroup = "/slurm/uid_0/job_7";
    jobs[1].cgroup = "";
    jobs[1].pid = 1;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(open_machine("cpu_cycles", "0\n"), OK);
        assert_int_equal(sensing_job(&sensing, &jobs[i], JOB_BEGIN), OK);
        catch_stderr();
        sensing_read(&sensing); /* it may still appear */
        assert_string_equal(caught_text(), "");
        catch_stderr();
        for (int reading = 0; reading < 20; reading++)
            assert_int_equal(sensing_read(&sensing), OK);
        const char *text = caught_text();
        assert_int_equal(lines_in(text), 1);
        assert_non_null(strstr(text, "perf events of job 6"));
        assert_non_null(strstr(text, "perf_event"));
        sensing_end(&sensing);
        put_real_back(state);
    }
}

static void a_late_cgroup_is_counted_without_a_warning(void **state)
{
    (void)state;
    struct job job = played;
    job.cgroup = "";
    assert_int_equal(open_machine("cpu_cycles", "0\n"), OK);
    opened_count = 0;
    catch_stderr();
    assert_int_equal(sensing_job(&sensing, &job, JOB_BEGIN), OK);
    for (int reading = 0; reading < 20; reading++)
        assert_int_equal(sensing_read(&sensing), OK);
    job.cgroup = played.cgroup;
    assert_int_equal(sensing_job(&sensing, &job, JOB_CHANGE), OK);
    assert_string_equal(caught_text(), "");
    assert_int_equal(opened_count, 1);
    count_to(0, 10, 1, 1);
    assert_int_equal(sensing_read(&sensing), OK);
    assert_int_equal(value("6", "cpu_cycles"), 10);
    sensing_end(&sensing);
}

static void missing_descriptors_are_logged_once(void **state)
{
    (void)state;
    struct rlimit before, small = { 64, 0 };
    struct job others[40];
    char ids[40][8];
    getrlimit(RLIMIT_NOFILE, &before);
    small.rlim_max = before.rlim_max;
    catch_stderr(); /* before descriptors are scarce */
    setrlimit(RLIMIT_NOFILE, &small);
    begin_machine("cpu_cycles,instructions", "0-1\n");
    for (unsigned i = 0; i < 40; i++) {
        snprintf(ids[i], sizeof ids[i], "%u", 100 + i);
        others[i] = played;
        others[i].id = ids[i];
        others[i].slot = 10 + i;
        assert_int_equal(sensing_job(&sensing, &others[i], JOB_BEGIN), OK);
    }
    assert_int_equal(sensing_read(&sensing), OK);
    size_t before_end = sensing.batch.count;
    assert_int_equal(sensing_job(&sensing, &played, JOB_END), OK);
    assert_int_equal(sensing.batch.count, 1);
    assert_int_equal(sensing_read(&sensing), OK); /* its descriptors are reused */
    size_t after_end = sensing.batch.count;
    sensing_end(&sensing);
    setrlimit(RLIMIT_NOFILE, &before);
    const char *text = caught_text();
    assert_int_equal(lines_in(text), 1);
    assert_non_null(strstr(text, "descriptors"));
    assert_int_equal(before_end, 6);
    assert_int_equal(after_end, 6);
}

static int keep_real(void **state)
{
    (void)state;
    real_open = perf_event_open_call;
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, put_real_back)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(colmets_names_are_known),
        TEST(software_events_of_a_cgroup_are_exact),
        TEST(steps_are_included),
        TEST(a_job_without_a_perf_cgroup_has_no_sample),
        TEST(counts_of_all_cpus_are_added_and_scaled),
        TEST(an_event_without_a_counter_is_unknown),
        TEST(cpus_come_and_go),
        TEST(a_missing_event_is_logged_once),
        TEST(missing_default_events_are_not_warned_about),
        TEST(missing_permission_is_logged_once_if_events_were_configured),
        TEST(a_job_without_a_perf_cgroup_is_logged_once),
        TEST(a_late_cgroup_is_counted_without_a_warning),
        TEST(missing_descriptors_are_logged_once),
    };
    return cmocka_run_group_tests(tests, keep_real, NULL);
}
