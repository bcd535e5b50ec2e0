/* System calls counted in the running kernel, compared with the calls that were made. Needs root and eBPF. */
#include "syscalls/ebpf.h"

#include "tools/ebpf_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#define THREADS 8

static void call_plainly(void)
{
    char bytes[100];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    getppids(EACH);
    for (int i = 0; i < 7; i++)
        (void)!close(-1);
    (void)!read(zero, bytes, 100);
    (void)!read(zero, bytes, 50);
    (void)!pwrite(null, bytes, 30, 0);
    (void)!read(-1, bytes, 1);
}

static void calls_errors_and_bytes_are_exact(void **state)
{
    (void)state;
    if (!ebpf)
        leave_out(error);
    struct ebpf_job *job = count(call_plainly, false);
    assert_int_equal(calls_of(job, "getppid"), EACH);
    assert_int_equal(number_of(job, "getppid", SYSCALL_ERRORS), 0);
    assert_false(find(job, &syscall_set, "getppid")->known[SYSCALL_BYTES]);
    assert_false(find(job, &syscall_set, "getppid")->known[SYSCALL_TIME]);
    assert_null(find(job, &syscall_time_set, "getppid"));
    assert_int_equal(number_of(job, "close", SYSCALL_ERRORS), 7);
    assert_int_equal(calls_of(job, "read"), 5); /* two from the pipe, one that fails */
    assert_int_equal(number_of(job, "read", SYSCALL_BYTES), 152);
    assert_int_equal(number_of(job, "read", SYSCALL_ERRORS), 1);
    assert_int_equal(number_of(job, "read/device", SYSCALL_BYTES), 150);
    assert_int_equal(number_of(job, "read/pipe", SYSCALL_BYTES), 2);
    assert_int_equal(number_of(job, "pwrite64/device", SYSCALL_BYTES), 30);
    assert_int_equal(calls_of(job, "exit_group"), 1);
    ebpf_job_end(&job);
    assert_null(job);
}

static void *call_in_thread(void *nothing)
{
    getppids(EACH);
    return nothing;
}

static void *become_another(void *nothing)
{
    execl("/bin/true", "true", (char *)NULL);
    return nothing;
}

static void make_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call_in_thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void fork_and_wait(void (*part)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        part();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void exec_in_thread(void)
{
    pthread_t thread;
    getppids(EACH);
    pthread_create(&thread, NULL, become_another, NULL);
    pthread_join(thread, NULL);
}

static void spawn(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
}

static void make_a_tree(void)
{
    make_threads();
    for (int i = 0; i < 3; i++)
        fork_and_wait(make_threads);
    fork_and_wait(exec_in_thread);
    spawn();
}

static void children_and_threads_are_followed(void **state)
{
    (void)state;
    if (!ebpf)
        leave_out(error);
    struct ebpf_job *job = count(make_a_tree, false);
    assert_int_equal(calls_of(job, "getppid"), 4 * THREADS * EACH + EACH);
    assert_int_equal(calls_of(job, "execve"), 2);
    assert_int_equal(calls_of(job, "vfork") + calls_of(job, "clone") + calls_of(job, "clone3"), 4 * THREADS + 1 + 5);
    assert_int_equal(calls_of(job, "exit_group"), 6); /* including that of the thread's executable */
    assert_int_equal(calls_of(job, "arch_prctl") > 0 || calls_of(job, "set_tid_address") > 0, 1); /* after the exec */
    ebpf_job_end(&job);
}

static void make_many(void)
{
    for (int i = 0; i < 1000; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            getppids(3);
            _exit(0);
        }
        if (i % 50 == 49)
            while (waitpid(-1, NULL, 0) > 0)
                continue;
    }
}

static void a_thousand_short_processes_are_counted(void **state)
{
    (void)state;
    if (!ebpf)
        leave_out(error);
    struct ebpf_job *job = count(make_many, false);
    assert_int_equal(calls_of(job, "getppid"), 3000);
    assert_int_equal(calls_of(job, "exit_group"), 1001);
    ebpf_job_end(&job);
}

static void call_slowly(void)
{
    getppids(EACH);
    usleep(30000);
}

static void times_match_the_calls(void **state)
{
    (void)state;
    if (!ebpf)
        leave_out(error);
    struct ebpf_job *job = count(call_slowly, true);
    uint64_t slept_ns = number_of(job, "clock_nanosleep", SYSCALL_TIME), sum = 0;
    assert_true(slept_ns >= 30000000 && slept_ns < 20000000000);
    const struct sample *times = find(job, &syscall_time_set, "clock_nanosleep");
    assert_non_null(times);
    for (size_t i = 0; i < SYSCALL_BUCKETS; i++)
        if (times->values[i].u64) {
            assert_true(i == SYSCALL_BUCKETS - 1 || slept_ns < 1ull << (8 + i));
            assert_true(i == 0 || slept_ns >= 1ull << (7 + i));
        }
    times = find(job, &syscall_time_set, "getppid");
    for (size_t i = 0; i < SYSCALL_BUCKETS; i++)
        sum += times->values[i].u64;
    assert_int_equal(sum, EACH);
    assert_true(number_of(job, "getppid", SYSCALL_TIME) > 0);
    ebpf_job_end(&job);
}

/* The kernel's /proc/PID/io of the same process. */
static bool read_io(pid_t pid, const char *key, uint64_t *value)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    const char *line = size > 0 ? strstr(text, key) : NULL;
    if (fd >= 0)
        close(fd);
    *value = line ? strtoull(line + strlen(key), NULL, 10) : 0;
    return line != NULL;
}

static void read_and_write(void)
{
    char bytes[1000];
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (int i = 0; i < EACH; i++) {
        (void)!read(zero, bytes, sizeof bytes);
        (void)!pread(zero, bytes, 10, 0);
        (void)!write(null, bytes, 700);
    }
}

static void bytes_match_proc_io(void **state)
{
    (void)state;
    struct ebpf_job *job;
    struct child child;
    uint64_t read_before, read_after, written_before, written_after;
    if (!ebpf)
        leave_out(error);
    start(&child, read_and_write);
    assert_int_equal(ebpf_job_begin(ebpf, false, &job), OK);
    assert_int_equal(ebpf_job_add(job, child.pid), OK);
    if (!read_io(child.pid, "rchar: ", &read_before) || !read_io(child.pid, "wchar: ", &written_before))
        leave_out("no /proc/PID/io");
    release(&child);
    await_done(&child);
    while (calls_of(job, "write/pipe") == 0) /* its last write woke us before it returned */
        usleep(1000);
    assert_true(read_io(child.pid, "rchar: ", &read_after) && read_io(child.pid, "wchar: ", &written_after));
    assert_int_equal(number_of(job, "read", SYSCALL_BYTES) + number_of(job, "pread64", SYSCALL_BYTES),
                     read_after - read_before);
    assert_int_equal(number_of(job, "write", SYSCALL_BYTES), written_after - written_before);
    end(&child);
    ebpf_job_end(&job);
}

#ifdef __x86_64__
/* Like a 32-bit program: 64 is getppid there, and semget here. */
static void call_as_32_bit(void)
{
    for (int i = 0; i < EACH; i++) {
        long result = 64;
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    }
}

/* The descriptor is in ebx; the register of 64-bit programs has another. */
static void read_as_32_bit(void)
{
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), pair[2];
    void *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (bytes == MAP_FAILED || pipe(pair) != 0)
        return;
    for (int i = 0; i < EACH; i++) {
        long result = 3;
        __asm__ volatile("int $0x80" : "+a"(result) : "b"((long)zero), "c"(bytes), "d"(7L), "D"((long)pair[1])
                         : "memory", "r8", "r9", "r10", "r11");
    }
}

static bool has_32_bit(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        call_as_32_bit();
        _exit(0);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status);
}

static void calls_of_32_bit_programs_are_mapped(void **state)
{
    (void)state;
    if (!ebpf)
        leave_out(error);
    if (!has_32_bit())
        leave_out("this kernel runs no 32-bit programs");
    struct ebpf_job *job = count(call_as_32_bit, false);
    assert_int_equal(calls_of(job, "getppid"), EACH);
    assert_int_equal(calls_of(job, "semget"), 0);
    ebpf_job_end(&job);
    job = count(read_as_32_bit, false);
    assert_int_equal(calls_of(job, "read/device"), EACH);
    assert_int_equal(number_of(job, "read/device", SYSCALL_BYTES), 7 * EACH);
    assert_int_equal(calls_of(job, "read/pipe"), 2); /* of the bytes that release and end the child */
    ebpf_job_end(&job);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_errors_and_bytes_are_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(children_and_threads_are_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thousand_short_processes_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(times_match_the_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_match_proc_io, setup, teardown),
#ifdef __x86_64__
        cmocka_unit_test_setup_teardown(calls_of_32_bit_programs_are_mapped, setup, teardown),
#endif
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
