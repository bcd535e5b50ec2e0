/* Warm job samplers: no reading allocates and nothing grows, whatever comes and goes between two readings. */
#include "samplers/all.h"
#include "tools/group.h"
#include "tools/sensing.h"

#include <dirent.h>

/* Counts allocations, unless a sanitizer replaces malloc. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 1
static volatile unsigned allocations;
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
void *malloc(size_t size) { allocations++; return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { allocations++; return __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { allocations++; return __libc_realloc(memory, size); }
#endif

#define JOBS 6

static struct group mounts[JOBS];
static pid_t pids[JOBS];

static void come_and_go(void *context)
{
    (void)context;
    for (;;) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
        usleep(2000);
    }
}

static void stop_jobs(void)
{
    for (int i = 0; i < JOBS; i++) {
        if (pids[i] > 0) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
        group_remove(&mounts[i]);
    }
}

static bool start_jobs(void)
{
    for (int i = 0; i < JOBS; i++) {
        pids[i] = 0;
        if (!group_make(&mounts[i], i % 2, (unsigned)i))
            return false;
        pids[i] = group_start(&mounts[i], come_and_go, NULL);
    }
    usleep(50000);
    return true;
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void read_often(struct sensing *s, int times)
{
    for (int i = 0; i < times; i++, usleep(3000))
        assert_int_equal(sensing_read(s), OK);
}

static unsigned writes_allocate; /* allocated by the test itself */

static void read_few(struct sensing *s, const char *root, int times)
{
    for (int i = 0; i < times; i++) {
        if (i % 100 == 50) {
#ifdef COUNTS_ALLOCATIONS
            unsigned before = allocations;
#endif
            sensing_put(root, "cg/x_9/cgroup.procs", i % 200 == 50 ? "101\n103\n" : "101\n102\n");
#ifdef COUNTS_ALLOCATIONS
            writes_allocate += allocations - before;
#endif
        }
        assert_int_equal(sensing_read(s), OK);
    }
}

/* Out of 60 readings. A burst of processes elsewhere on the node may grow tables; a leak would allocate in each
 * reading. */
static unsigned fewest_allocations(struct sensing *s)
{
    unsigned fewest = UINT32_MAX;
    for (int i = 0; i < 6 && fewest; i++) {
#ifdef COUNTS_ALLOCATIONS
        unsigned before = allocations;
        read_often(s, 60);
        fewest = allocations - before < fewest ? allocations - before : fewest;
#else
        read_often(s, 60);
        fewest = 0;
#endif
    }
    return fewest;
}

static void warm(const struct sampler *sampler, const char *key, const char *text)
{
    struct sensing s;
    if (!start_jobs()) {
        stop_jobs();
        leave_out("no cgroups here");
    }
    sensing_init(&s, sampler, "");
    if (key)
        sensing_set(&s, key, text);
    if (sensing_open(&s)) {
        stop_jobs();
        leave_out("the sensor is not there");
    }
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(sensing_job(&s, &mounts[i].job, JOB_BEGIN), OK);
    read_often(&s, 60);
    for (int i = 0; s.batch.count && i < 64; i++) /* capacity for any number of simultaneous processes */
        assert_non_null(batch_add(&s.batch, s.batch.samples[0].set, 0, ""));
    unsigned descriptors = open_descriptors();
    unsigned fewest = fewest_allocations(&s);
    unsigned now = open_descriptors();
    sensing_end(&s);
    stop_jobs();
    assert_in_range(now, descriptors > 2 * JOBS ? descriptors - 2 * JOBS : 0, descriptors + 2 * JOBS); /* of the short ones */
    assert_int_equal(fewest, 0);
}

static void taskstats_is_warm(void **state)
{
    (void)state;
    warm(&sampler_taskstats, NULL, NULL);
}

static void process_is_warm(void **state)
{
    (void)state;
    warm(&sampler_process, "each", "yes");
}

static void perf_is_warm(void **state)
{
    (void)state;
    warm(&sampler_perf, "events", "page_faults,context_switches,task_clock");
}

/* Two processes, one of which is replaced from time to time. */
static void a_hundred_thousand_readings_use_no_more_memory(void **state)
{
    (void)state;
    static const struct job job = { .id = "9", .other_id = "", .source = "", .user = "", .cgroup = "/x_9" };
    struct sensing s;
    char root[TEMP_PATH_MAX];
    temp_dir(root);
    sensing_put(root, "proc/self/mountinfo", "25 20 0:22 / /cg rw - cgroup cgroup rw,cpuacct\n");
    for (unsigned pid = 101; pid <= 103; pid++) {
        char name[32];
        snprintf(name, sizeof name, "proc/%u/status", pid);
        sensing_put(root, name, "State:\tS\nPPid:\t1\nVmRSS:\t7 kB\nThreads:\t2\n");
        snprintf(name, sizeof name, "proc/%u/io", pid);
        sensing_put(root, name, "rchar: 5\nwchar: 6\n");
    }
    sensing_put(root, "cg/x_9/cgroup.procs", "101\n102\n");
    assert_int_equal(sensing_begin(&s, &sampler_process, root), OK);
    assert_int_equal(sensing_job(&s, &job, JOB_BEGIN), OK);
    read_few(&s, root, 200);
    writes_allocate = 0;
    unsigned descriptors = open_descriptors();
#ifdef COUNTS_ALLOCATIONS
    unsigned before = allocations;
    read_few(&s, root, 100000);
    before = allocations - before - writes_allocate;
#else
    unsigned before = 0;
    read_few(&s, root, 1000);
#endif
    assert_int_equal(sensing_find(&s, "", "9", "processes")->u64, 2);
    assert_int_equal(open_descriptors(), descriptors);
    sensing_end(&s);
    temp_remove(root);
    assert_int_equal(before, 0);
}

static int clean(void **state)
{
    (void)state;
    for (int i = 0; i < JOBS; i++)
        group_remove(&mounts[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(taskstats_is_warm, clean),
        cmocka_unit_test_teardown(process_is_warm, clean),
        cmocka_unit_test_teardown(perf_is_warm, clean),
        cmocka_unit_test(a_hundred_thousand_readings_use_no_more_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
