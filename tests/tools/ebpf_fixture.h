/* Fixture of the eBPF tests: child processes that run a function on a signal from the test, and access to their counts.
 * The running kernel does the counting; without root or eBPF, `ebpf` is NULL and `error` says why. */
#ifndef SONDE_TESTS_TOOLS_EBPF_FIXTURE_H
#define SONDE_TESTS_TOOLS_EBPF_FIXTURE_H

#include "model/program_sets.h"
#include "syscalls/ebpf.h"
#include "proc/taskfile.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EACH 100

static struct ebpf *ebpf;
static struct batch batch;
static char error[512];

/* A child that waits for a byte before it runs its function. */
struct child {
    pid_t pid;
    int go_fd, done_fd;
};

static inline int setup(void **state)
{
    (void)state;
    batch_init(&batch);
    return 0;
}

static inline int open_all(void **state)
{
    (void)state;
    enum err err = ebpf_open(&ebpf, EBPF_MAY_TIME | EBPF_MAY_WATCH_CGROUPS, error, sizeof error);
    if (err && err != ABSENT && err != DENIED) /* a real failure */
        return -1;
    if (err)
        caller_assert_true(strlen(error) > 10);
    return 0;
}
#define open_all(...) (unit_called(__FILE__, __LINE__), (open_all)(__VA_ARGS__))

static inline int close_all(void **state)
{
    (void)state;
    ebpf_close(&ebpf);
    caller_assert_null(ebpf);
    ebpf_close(&ebpf);
    return 0;
}
#define close_all(...) (unit_called(__FILE__, __LINE__), (close_all)(__VA_ARGS__))

static inline int teardown(void **state)
{
    (void)state;
    batch_clear(&batch);
    return 0;
}

static inline void getppids(int count)
{
    for (int i = 0; i < count; i++)
        syscall(SYS_getppid);
}

static inline void start(struct child *child, void (*part)(void))
{
    int go[2], done[2];
    char byte;
    caller_assert_int_equal(pipe(go) | pipe(done), 0);
    child->pid = fork();
    if (child->pid == 0) {
        close(go[1]);
        close(done[0]);
        if (read(go[0], &byte, 1) == 1)
            part();
        (void)!write(done[1], "d", 1);
        (void)!read(go[0], &byte, 1); /* children forked later hold the pipe open: wait for a byte, not for EOF */
        _exit(0);
    }
    caller_assert_true(child->pid > 0);
    close(go[0]);
    close(done[1]);
    child->go_fd = go[1];
    child->done_fd = done[0];
}
#define start(...) (unit_called(__FILE__, __LINE__), (start)(__VA_ARGS__))

/* Waits until the child blocks in its first read. */
static inline void await_asleep(const struct child *child)
{
    struct taskfile_stat stat = { 0 };
    int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (taskfile_read_stat(proc_fd, (uint32_t)child->pid, &stat) == OK && stat.state != 'S')
        usleep(1000);
    close(proc_fd);
    caller_assert_int_equal(stat.state, 'S');
}
#define await_asleep(...) (unit_called(__FILE__, __LINE__), (await_asleep)(__VA_ARGS__))

static inline void release(const struct child *child)
{
    caller_assert_int_equal(write(child->go_fd, "g", 1), 1);
}
#define release(...) (unit_called(__FILE__, __LINE__), (release)(__VA_ARGS__))

static inline void await_done(const struct child *child)
{
    char byte;
    caller_assert_int_equal(read(child->done_fd, &byte, 1), 1);
}
#define await_done(...) (unit_called(__FILE__, __LINE__), (await_done)(__VA_ARGS__))

static inline void end(struct child *child)
{
    release(child);
    close(child->go_fd);
    close(child->done_fd);
    waitpid(child->pid, NULL, 0);
}

static inline const struct sample *find(struct ebpf_job *job, const struct set *set, const char *instance)
{
    batch_reset(&batch);
    caller_assert_int_equal(ebpf_job_read(job, "7", &batch), OK);
    for (size_t i = 0; i < batch.count; i++)
        if (batch.samples[i].set == set && strcmp(batch.samples[i].instance, instance) == 0)
            return &batch.samples[i];
    return NULL;
}
#define find(...) (unit_called(__FILE__, __LINE__), (find)(__VA_ARGS__))

static inline uint64_t number_of(struct ebpf_job *job, const char *instance, size_t metric)
{
    const struct sample *sample = find(job, &syscall_set, instance);
    if (!sample)
        return 0;
    caller_assert_true(sample->known[metric]);
    caller_assert_string_equal(sample->job, "7");
    return sample->values[metric].u64;
}
#define number_of(...) (unit_called(__FILE__, __LINE__), (number_of)(__VA_ARGS__))

static inline uint64_t calls_of(struct ebpf_job *job, const char *instance)
{
    return number_of(job, instance, SYSCALL_CALLS);
}

/* Counts one function from start to end. */
static inline struct ebpf_job *count(void (*part)(void), bool with_time)
{
    struct ebpf_job *job;
    struct child child;
    start(&child, part);
    caller_assert_int_equal(ebpf_job_begin(ebpf, with_time, &job), OK);
    caller_assert_int_equal(ebpf_job_add(job, child.pid), OK);
    caller_assert_int_equal(ebpf_job_add(job, child.pid), OK);
    caller_assert_true(ebpf_job_has(job, child.pid));
    release(&child);
    await_done(&child);
    end(&child);
    caller_assert_int_equal(ebpf_job_alive(job), 0);
    caller_assert_false(ebpf_job_has(job, child.pid));
    return job;
}
#define count(...) (unit_called(__FILE__, __LINE__), (count)(__VA_ARGS__))

#endif
