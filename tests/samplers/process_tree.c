/* Resource usage of a run: exact on captured nodes, and live compared with getrusage. */
#include "base/clock.h"
#include "samplers/all.h"
#include "tools/node.h"
#include "tools/sampling.h"
#include "tools/temp.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

static uint64_t us_of_ticks(uint64_t ticks)
{
    return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void a_captured_tree_adds_up(void **state)
{
    (void)state;
    struct sampling s;
    sampling_begin(&s, &sampler_process_tree, node_root("vm"), 8991);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(sampling_u64(&s, "processes"), 3); /* 8991 itself is the monitoring process */
    assert_int_equal(sampling_u64(&s, "threads"), 6);
    assert_int_equal(sampling_u64(&s, "cpu"), us_of_ticks(23 + 1 + 3 + 1));
    assert_int_equal(sampling_u64(&s, "rss"), (425 + 3502 + 445) * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(sampling_u64(&s, "rchar"), 6976 + 1871083 + 6976);
    assert_int_equal(sampling_u64(&s, "wchar"), 1699);
    assert_int_equal(sampling_u64(&s, "read_bytes"), 40960 + 16384);
    assert_int_equal(sampling_u64(&s, "vol_ctxsw"), 1 + 23 + 1 + 2 + 1 + 5);
    assert_int_equal(sampling_u64(&s, "invol_ctxsw"), 83 + 2);
    sampling_end(&s);
}

static void without_children_files_it_adds_up(void **state)
{
    (void)state;
    struct sampling s;
    sampling_begin(&s, &sampler_process_tree, node_root("big"), 500);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(sampling_u64(&s, "processes"), 3); /* the fourth has exited */
    assert_int_equal(sampling_u64(&s, "threads"), 131);
    assert_int_equal(sampling_u64(&s, "cpu"), us_of_ticks(30 + 700 + 102000 + 1 + 4));
    assert_int_equal(sampling_u64(&s, "rss"), (250 + 26214400ull + 100) * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(sampling_u64(&s, "wchar"), 2000 + 60000 + 1 + 5);
    assert_int_equal(sampling_u64(&s, "vol_ctxsw"), 10 + 150 + 2 + 3);
    sampling_end(&s);
}

static void put(const char *root, const char *name, const char *text)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    temp_write(path, text, strlen(text));
}

static void put_process(const char *root, unsigned pid, unsigned ticks, unsigned start)
{
    char name[64], text[256];
    snprintf(name, sizeof name, "proc/%u/stat", pid);
    snprintf(text, sizeof text, "%u (x) S 10 1 1 0 -1 0 0 0 0 0 %u 0 0 0 20 0 1 0 %u 1 1 1\n", pid, ticks, start);
    put(root, name, text);
}

/* After an expensive reading, as on a busy node, the next ones are skipped for a while. */
static size_t read_when_due(struct sampling *s)
{
    size_t count = 0;
    for (int i = 0; i < 3000 && !count; i++) {
        usleep(20000);
        count = sampling_read(s);
    }
    return count;
}

static void a_child_missing_from_the_kernels_list_is_found(void **state)
{
    (void)state;
    char root[TEMP_PATH_MAX];
    struct sampling s;
    temp_dir(root);
    put(root, "proc/10/task/10/children", "11 12 ");
    put_process(root, 11, 5, 100);
    put_process(root, 12, 7, 101);
    sampling_begin(&s, &sampler_process_tree, root, 10);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(sampling_u64(&s, "processes"), 2);
    assert_null(sampling_find(&s, "rchar")); /* there is no io file */

    put(root, "proc/10/task/10/children", "11 ");
    assert_int_equal(read_when_due(&s), 1);
    assert_int_equal(sampling_u64(&s, "processes"), 2);
    assert_int_equal(sampling_u64(&s, "cpu"), us_of_ticks(12));

    put_process(root, 12, 900, 555); /* the pid was reused */
    assert_int_equal(read_when_due(&s), 1);
    assert_int_equal(sampling_u64(&s, "processes"), 1);
    assert_int_equal(sampling_u64(&s, "cpu"), us_of_ticks(12));
    sampling_end(&s);
    temp_remove(root);
}

/* Pages shared by several processes count once; a process that may not be inspected counts in full. */
static void shared_memory_counts_once(void **state)
{
    (void)state;
    char root[TEMP_PATH_MAX];
    struct sampling s;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    temp_dir(root);
    put(root, "proc/self/smaps_rollup", "Pss: 0 kB\n");
    put(root, "proc/10/task/10/children", "11 ");
    put_process(root, 11, 5, 100);
    sampling_begin(&s, &sampler_process_tree, root, 10);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(sampling_u64(&s, "pss"), page); /* one process: its resident memory */
    put(root, "proc/10/task/10/children", "11 12 13 ");
    put_process(root, 12, 7, 101);
    put_process(root, 13, 7, 102);
    put(root, "proc/11/smaps_rollup", "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 4 kB\nPss: 1 kB\nPss_Dirty: 9 kB\n");
    put(root, "proc/12/smaps_rollup", "Rss: 4 kB\nPss: 2 kB\n");
    assert_int_equal(read_when_due(&s), 1);
    assert_int_equal(sampling_u64(&s, "rss"), 3 * page);
    assert_int_equal(sampling_u64(&s, "pss"), 3 * 1024 + page);
    sampling_end(&s);
    temp_remove(root);
}

/* 32 MiB and four forked copies of it: the sum of resident sizes is five times as large as what exists. */
static void forked_copies_share_their_memory(void **state)
{
    (void)state;
    size_t size = 32 << 20;
    struct sampling s;
    pid_t pids[4];
    char *memory = malloc(size);
    assert_non_null(memory);
    memset(memory, 1, size);
    for (int i = 0; i < 4; i++)
        if ((pids[i] = fork()) == 0) {
            pause();
            _exit(0);
        }
    sampling_begin(&s, &sampler_process_tree, "", getpid());
    size_t count = sampling_read(&s);
    for (int i = 0; i < 4; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    free(memory);
    assert_int_equal(count, 1);
    assert_true(sampling_u64(&s, "rss") > 4 * size);
    assert_in_range(sampling_u64(&s, "pss"), size / 2, size * 3 / 2); /* we ourselves are not part of the run */
    sampling_end(&s);
}

static void without_a_run_it_is_absent(void **state)
{
    (void)state;
    struct sampling s;
    sampling_begin(&s, &sampler_process_tree, "", 0);
    assert_int_equal(sampling_read(&s), 0);
    sampling_end(&s);
}

static void burn(uint64_t ns)
{
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns < ns) { }
}

static void *sleep_long(void *unused)
{
    pause();
    return unused;
}

static void read_and_write(size_t bytes)
{
    static char part[65536];
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    for (size_t done = 0; done < bytes; done += sizeof part) {
        ssize_t got = read(zero, part, sizeof part);
        got = write(null, part, sizeof part);
        (void)got;
    }
    close(zero);
    close(null);
}

/* 5 threads, an orphan below us, a waited-for child; signals readiness through a pipe. */
static void crowd(int ready)
{
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, sleep_long, NULL);
    }
    pid_t middle = fork();
    if (middle == 0) {
        if (fork() == 0) {
            pause();
            _exit(0);
        }
        burn(100 * NS_PER_MS);
        read_and_write(1 << 20);
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    burn(50 * NS_PER_MS);
    read_and_write(2 << 20);
    ssize_t ignored = write(ready, "x", 1);
    (void)ignored;
    pause();
    _exit(0);
}

static pid_t start_crowd(void)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0)
        crowd(ends[1]);
    ssize_t ignored = read(ends[0], &byte, 1);
    (void)ignored;
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void kill_all(pid_t first)
{
    char path[64], text[64] = "";
    for (pid_t pid = first; pid > 0;) { /* the orphan is our child: we are the subreaper */
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", getpid(), getpid());
        int fd = open(path, O_RDONLY);
        ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        close(fd);
        text[got > 0 ? got : 0] = '\0';
        pid = (pid_t)strtol(text, NULL, 10);
    }
}

static uint64_t children_cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000
           + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void a_live_tree_agrees_with_the_kernel(void **state)
{
    (void)state;
    struct sampling s;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sampling_begin(&s, &sampler_process_tree, "", getpid());
    assert_int_equal(sampling_read(&s), 1);
    uint64_t rchar_before = sampling_u64(&s, "rchar"), before_us = sampling_u64(&s, "cpu");
    pid_t pid = start_crowd();
    assert_int_equal(read_when_due(&s), 1);
    assert_int_equal(sampling_u64(&s, "processes"), 2);
    assert_int_equal(sampling_u64(&s, "threads"), 6);
    uint64_t live_us = sampling_u64(&s, "cpu");
    uint64_t rchar = sampling_u64(&s, "rchar") - rchar_before;
    assert_in_range(rchar, 3 << 20, (3 << 20) + 100000);
    assert_true(sampling_u64(&s, "rss") > 100000);

    kill_all(pid);
    assert_int_equal(read_when_due(&s), 1);
    assert_int_equal(sampling_u64(&s, "processes"), 0);
    uint64_t end_us = sampling_u64(&s, "cpu");
    assert_int_equal(end_us, children_cpu_us());
    assert_true(end_us >= 150000 + before_us);
    /* children waited for by others are counted in ticks, rounded down: at most two are missing */
    assert_in_range(live_us, end_us - us_of_ticks(2) - 20000, end_us);
    sampling_end(&s);
}

static void say_own(void *callback_context, struct sampler_probe_io *probe_io)
{
    *probe_io = *(struct sampler_probe_io *)callback_context;
}

/* A child that writes 100 bytes, 60 of which are attributed to the probe, and waits 50 times between two readings. */
static void write_and_wait(void)
{
    int null = open("/dev/null", O_WRONLY);
    ssize_t written = 0;
    for (int i = 0; i < 50; i++, usleep(100))
        written += write(null, "xx", 2);
    _exit(written == 100 ? 0 : 1);
}

static void probe_io_is_subtracted_and_short_processes_are_counted(void **state)
{
    (void)state;
    struct sampling s;
    struct sampler_probe_io probe_io = { 0 };
    s = (struct sampling){ .list = { &sampler_process_tree, NULL },
                           .context = { .root = "", .pid = getpid(), .probe_io = say_own, .callback_context = &probe_io } };
    batch_init(&s.batch);
    assert_int_equal(samplers_open(&s.samplers, s.list, &s.context), OK);
    assert_int_equal(sampling_read(&s), 1);
    uint64_t before = sampling_u64(&s, "wchar");
    assert_int_equal(sampling_u64(&s, "vol_ctxsw"), 0); /* other tests had children too */
    pid_t pid = fork();
    if (pid == 0)
        write_and_wait();
    waitpid(pid, NULL, 0);
    probe_io.written_bytes = 60;
    assert_int_equal(read_when_due(&s), 1);
    assert_int_equal(sampling_u64(&s, "wchar") - before, 40);
    assert_in_range(sampling_u64(&s, "vol_ctxsw"), 50, 1000);
    sampling_end(&s);
}

static bool next_listed(void *callback_context, size_t *at, uint32_t *pid)
{
    *pid = *(uint32_t *)callback_context;
    return (*at)++ == 0 && *pid;
}

/* In the forked process: a 50 ms burner that was listed before, and one that is only reported. What we waited for is
 * kept. */
static int judge_as_copy(struct sampling *s, uint64_t before_us)
{
    for (int i = 0; i < 300 && !sampling_read(s); i++)
        usleep(20000);
    bool is_good = s->batch.count == 1 && sampling_u64(s, "processes") == 2 && sampling_u64(s,
                                                                                            "cpu") >= before_us + 50000
                   && sampling_u64(s, "cpu") < before_us + 90000;
    return is_good ? 0 : 1;
}

static pid_t start_burner(void)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    burn(50 * NS_PER_MS);
    pause();
    _exit(0);
}

static void a_forked_monitor_continues(void **state)
{
    (void)state;
    uint32_t told = 0;
    int status = -1;
    struct sampling s = { .list = { &sampler_process_tree, NULL },
                          .context = { .root = "", .pid = getpid(), .next_process = next_listed, .callback_context = &told } };
    batch_init(&s.batch);
    assert_int_equal(samplers_open(&s.samplers, s.list, &s.context), OK);
    pid_t seen = start_burner();
    usleep(300000);
    assert_int_equal(read_when_due(&s), 1);
    assert_int_equal(sampling_u64(&s, "processes"), 1);
    uint64_t before_us = sampling_u64(&s, "cpu");
    told = (uint32_t)start_burner();
    usleep(300000);
    pid_t copy = fork();
    if (copy == 0)
        _exit(judge_as_copy(&s, before_us));
    waitpid(copy, &status, 0);
    kill_all(seen);
    sampling_end(&s);
    assert_int_equal(status, 0);
}

static void usage_of_unwaited_children_is_kept(void **state)
{
    (void)state;
    struct sampling s;
    int ends[2], hold[2];
    char byte;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sampling_begin(&s, &sampler_process_tree, "", getpid());
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(hold), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(hold[1]);
        signal(SIGCHLD, SIG_IGN); /* the kernel drops the usage of these children */
        if (fork() == 0) {
            burn(200 * NS_PER_MS);
            ssize_t told = write(ends[1], "x", 1);
            told += read(hold[0], &byte, 1); /* until it was read */
            _exit(told == 1 ? 0 : 1);
        }
        pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(sampling_read(&s), 1);
    uint64_t with_us = sampling_u64(&s, "cpu");
    close(hold[0]);
    close(hold[1]);
    usleep(300000); /* it has exited now, or does so between two of these */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_when_due(&s), 1);
        assert_in_range(sampling_u64(&s, "cpu"), with_us, with_us + 20000);
    }
    kill_all(pid);
    close(ends[0]);
    close(ends[1]);
    sampling_end(&s);
}

/* Reading again at once would cost too much and is skipped; the last reading is not. */
static void the_last_reading_is_not_skipped(void **state)
{
    (void)state;
    struct sampling s;
    sampling_begin(&s, &sampler_process_tree, node_root("vm"), 8991);
    assert_int_equal(sampling_read(&s), 1);
    assert_int_equal(sampling_read(&s), 0);
    batch_reset(&s.batch);
    samplers_read_last(s.samplers, &s.batch);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(sampling_u64(&s, "processes"), 3);
    assert_int_equal(sampling_u64(&s, "vol_ctxsw"), 1 + 23 + 1 + 2 + 1 + 5);
    sampling_end(&s);
}

static void nothing_is_allocated_once_it_is_warm(void **state)
{
    (void)state;
#ifdef COUNTS_ALLOCATIONS
    struct sampling s;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sampling_begin(&s, &sampler_process_tree, "", getpid());
    pid_t pid = start_crowd();
    for (int i = 0; i < 3; i++, usleep(20000))
        sampling_read(&s);
    unsigned before = allocations, samples = 0;
    for (int i = 0; i < 10; i++, usleep(20000))
        samples += (unsigned)sampling_read(&s);
    unsigned after = allocations;
    kill_all(pid);
    sampling_end(&s);
    assert_true(samples > 0);
    assert_int_equal(after, before);
#else
    leave_out("the sanitizer has its own allocator");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_tree_adds_up),
        cmocka_unit_test(without_children_files_it_adds_up),
        cmocka_unit_test(a_child_missing_from_the_kernels_list_is_found),
        cmocka_unit_test(shared_memory_counts_once),
        cmocka_unit_test(without_a_run_it_is_absent),
        cmocka_unit_test(a_live_tree_agrees_with_the_kernel),
        cmocka_unit_test(probe_io_is_subtracted_and_short_processes_are_counted),
        cmocka_unit_test(a_forked_monitor_continues),
        cmocka_unit_test(usage_of_unwaited_children_is_kept),
        cmocka_unit_test(the_last_reading_is_not_skipped),
        cmocka_unit_test(nothing_is_allocated_once_it_is_warm),
        cmocka_unit_test(forked_copies_share_their_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
