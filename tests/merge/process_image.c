/* Process images: exec chains, failed execs, what belongs to which image, and when a forked copy is counted separately. */
#include "merge/process_image.h"

#include "tools/merge_fixture.h"

/* sh -> env -> nice -> model, each with its part of the CPU time. */
static void chain_of_execs(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    static const char *const paths[] = { "/bin/sh", "/usr/bin/env", "/usr/bin/nice", "/opt/model" };
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 1);
    for (int i = 0; i < 4; i++) {
        if (i)
            spool_exec(s, 11, 10 * i, paths[i], 1000 * (uint64_t)i);
        spool_kernel_exec(s, 11, 10 * i + 2, paths[i]);
        spool_image(s, 11, MAKER_RUN_PID, 10 * i + 3, paths[i]);
    }
    spool_end(s, 11, 100, 9000, 0);
    spool_wait(s, MAKER_RUN_PID, 11, 101, 4 << 8, 9500);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct process *p = run_process(run, 11, i);
        assert_int_equal(p->path.size, strlen(paths[i]));
        assert_memory_equal(p->path.data, paths[i], p->path.size);
        assert_int_equal(p->state, i < 3 ? PROCESS_EXECED : PROCESS_ENDED);
        assert_int_equal(p->status_known, i == 3);
        assert_int_equal(counters_cpu_us(&p->counters), i < 3 ? 1000 : 6500);
        assert_int_equal(p->start_ns, i ? AT(10 * i) : AT(1));
        assert_int_equal(p->end_ns, i < 3 ? AT(10 * (i + 1)) : AT(100));
        assert_int_equal(p->parent, PROCESS_NO_PARENT);
        assert_int_equal(p->sources & (USAGE_ESTIMATED | USAGE_WITH_OTHERS), 0);
    }
    assert_int_equal(run_process(run, 11, 3)->exit_code, 4);
}

/* What children used before the exec belongs to the image that waited for them. */
static void chain_separates_children_of_images(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 11, MAKER_RUN_PID, 1, "/bin/sh");
    spool_add(s, exec, .pid = 11, .copied = 1, .time_ns = AT(10), .path = PATH("/bin/b"), .args = TEXT("/bin/b"),
              .self = usage_us(100, 0), .children = usage_us(5000, 0));
    spool_image(s, 11, MAKER_RUN_PID, 11, "/bin/b");
    spool_end(s, 11, 20, 300, 7000);
    spool_wait(s, MAKER_RUN_PID, 11, 21, 0, 7400);
    const struct run *run = merge(f);
    const struct process *first = run_process(run, 11, 0), *second = run_process(run, 11, 1);
    assert_int_equal(counters_cpu_us(&first->counters), 100);
    assert_int_equal(first->counters.value[COUNTER_cutime], 5000);
    assert_int_equal(counters_cpu_us(&second->counters), 300);
    assert_int_equal(second->counters.value[COUNTER_cutime], 2000);
}

static void spool_complete_exec(struct spool_maker *s, uint64_t pid, int ms, const char *path)
{
    struct bytes command = { path, strlen(path) };
    spool_add(s, exec, .pid = pid, .copied = RECORD_EXEC_COPIED | RECORD_EXEC_WHOLE, .time_ns = AT(ms), .path = command,
              .args = command, .self = usage_us(50, 0), .pgid = 77, .sid = 78, .uid = 79, .cwd = PATH("/work"),
              .tags = PATH("a=b"));
}

/* The exec record contains what the image record would; the image itself writes nothing until its end. */
static void exec_record_describes_the_image(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_kernel_fork(s, 11, 10, 10);
    spool_complete_exec(s, 11, 11, "/usr/bin/a");
    spool_kernel_exec(s, 11, 12, "");
    spool_wait(s, 10, 11, 14, 9, 1600); /* killed */
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    const struct process *p = run_process(run, 11, 0);
    assert_bytes(p->path, "/usr/bin/a");
    assert_bytes(p->args, "/usr/bin/a");
    assert_bytes(p->cwd, "/work");
    assert_bytes(p->tags, "a=b");
    assert_true(p->pgid_known && p->pgid == 77 && p->sid_known && p->sid == 78 && p->uid_known && p->uid == 79);
    assert_true(p->sources & SEEN_PROBE);
    assert_int_equal(p->exit_signal, 9);
    assert_int_equal(counters_cpu_us(&p->counters), 1600);
}

/* Also if the kernel's exec events were lost, unless the exec failed. */
static void several_complete_exec_records(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 1);
    spool_complete_exec(s, 11, 10, "/usr/bin/a");
    spool_complete_exec(s, 11, 20, "/usr/bin/b");
    spool_complete_exec(s, 11, 30, "/usr/bin/c");
    spool_add(s, exec_failed, .pid = 11, .time_ns = AT(31));
    spool_end(s, 11, 40, 300, 0);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    assert_bytes(run_process(run, 11, 0)->path, "/usr/bin/a");
    assert_bytes(run_process(run, 11, 1)->path, "/usr/bin/b");
}

static void fork_then_exec_is_one_image(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 11, 10, 10);
    spool_exec(s, 11, 11, "/bin/a", 9999);
    spool_image(s, 11, 10, 12, "/bin/a");
    spool_end(s, 11, 13, 15000, 0);
    spool_wait(s, 10, 11, 14, 0, 16000);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 1);
    const struct process *p = run_process(run, 11, 0);
    assert_int_equal(p->start_ns, AT(10));
    assert_int_equal(counters_cpu_us(&p->counters), 16000);
}

static void busy_copy_is_its_own_image(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 11, 10, 10);
    spool_exec(s, 11, 31, "/bin/a", 10000);
    spool_image(s, 11, 10, 32, "/bin/a");
    spool_end(s, 11, 33, 15000, 0);
    spool_wait(s, 10, 11, 34, 0, 16000);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    const struct process *copy = run_process(run, 11, 0), *image = run_process(run, 11, 1);
    assert_bytes(copy->path, "/bin/sh");
    assert_int_equal(copy->state, PROCESS_EXECED);
    assert_int_equal(counters_cpu_us(&copy->counters), 10000);
    assert_int_equal(copy->start_ns, AT(10));
    assert_int_equal(image->start_ns, AT(31));
    assert_int_equal(counters_cpu_us(&image->counters), 6000);
    assert_int_equal(copy->parent, 0);
    assert_int_equal(image->parent, 0);
}

/* If the kernel reports forks, the probe does not; it is in the copy all the same. */
static void copy_that_execs_has_the_probe(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_kernel_fork(s, 11, 10, 10);
    spool_exec(s, 11, 31, "/bin/a", 10000);
    spool_kernel_exec(s, 11, 32, "/bin/a"); /* a static program */
    spool_wait(s, 10, 11, 34, 0, 16000);
    spool_kernel_fork(s, 12, 10, 40); /* a vfork child */
    spool_add(s, exec, .pid = 12, .ppid = 10, .time_ns = AT(41), .path = PATH("/bin/b"), .args = TEXT("b"));
    spool_add(s, exec_failed, .pid = 12, .time_ns = AT(42));
    spool_wait(s, 10, 12, 43, 127 << 8, 100);
    const struct run *run = merge(f);
    assert_true(run_process(run, 11, 0)->sources & SEEN_PROBE);
    assert_false(run_process(run, 11, 1)->sources & SEEN_PROBE);
    assert_true(run_process(run, 12, 0)->sources & SEEN_PROBE);
}

static void copy_with_children_is_its_own_image(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 11, 10, 10);
    spool_fork(s, 12, 11, 11);
    spool_exec(s, 11, 12, "/bin/a", 50);
    spool_image(s, 11, 10, 13, "/bin/a");
    spool_fork(s, 13, 11, 14);
    const struct run *run = merge(f);
    assert_int_equal(run_count(run, 11), 2);
    const struct process *copy = run_process(run, 11, 0), *image = run_process(run, 11, 1);
    assert_ptr_equal(&run->processes[run_process(run, 12, 0)->parent], copy);
    assert_ptr_equal(&run->processes[run_process(run, 13, 0)->parent], image);
    assert_bytes(run_process(run, 12, 0)->path, "/bin/sh");
    assert_bytes(run_process(run, 13, 0)->path, "/bin/a");
}

static void copy_that_never_execs(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_add(s, image, .pid = 10, .ppid = MAKER_RUN_PID, .pgid = 5, .sid = 6, .uid = 7, .time_ns = AT(1),
              .path = PATH("/bin/sh"), .args = TEXT("sh\0-c\0x"), .cwd = PATH("/home"), .tags = PATH("a:1"));
    spool_fork(s, 11, 10, 10);
    spool_add(s, end, .pid = 11, .time_ns = AT(11), .exit_code = 3, .pgid = 11, .threads = 1, .self = usage_us(40, 2));
    const struct process *p = run_process(merge(f), 11, 0);
    assert_bytes(p->path, "/bin/sh");
    assert_bytes(p->args, "sh\0-c\0x\0");
    assert_bytes(p->tags, "a:1");
    assert_bytes(p->name, "sh");
    assert_int_equal(p->cwd.size, 0); /* it may have changed */
    assert_int_equal(p->pgid, 11);
    assert_int_equal(p->sid, 6);
    assert_int_equal(p->uid, 7);
    assert_int_equal(p->exit_code, 3);
    assert_int_equal(p->sources, SEEN_PROBE);
}

/* 0 is root; an unreadable uid is unknown, and other records may provide it. */
static void unknown_user(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_add(s, alive, .pid = 10, .uid = RECORD_UID_UNKNOWN, .time_ns = AT(5), .path = PATH("/bin/a"));
    spool_add(s, alive, .pid = 11, .uid = 0, .time_ns = AT(5), .path = PATH("/bin/b"));
    spool_image(s, 12, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 13, 12, 2);
    spool_add(s, alive, .pid = 13, .ppid = 12, .uid = RECORD_UID_UNKNOWN, .time_ns = AT(5));
    const struct run *run = merge(f);
    assert_false(run_process(run, 10, 0)->uid_known);
    assert_true(run_process(run, 11, 0)->uid_known);
    assert_int_equal(run_process(run, 11, 0)->uid, 0);
    assert_true(run_process(run, 13, 0)->uid_known);
    assert_int_equal(run_process(run, 13, 0)->uid, 1000); /* its parent's */
}

/* A static program: announced, then no further record. */
static void static_program(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 11, 10, 10);
    spool_exec(s, 11, 11, "/opt/static", 50);
    spool_wait(s, 10, 11, 30, 0, 5000);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_bytes(p->path, "/opt/static");
    assert_int_equal(p->sources, SEEN_PARENT | SEEN_WAIT);
    assert_int_equal(counters_cpu_us(&p->counters), 5000);
}

/* A static program in the middle of a chain: what follows was not announced. */
static void static_program_in_a_chain(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 11, MAKER_RUN_PID, 1, "/bin/sh");
    spool_exec(s, 11, 10, "/opt/static", 1000);
    spool_add(s, image, .pid = 11, .ppid = MAKER_RUN_PID, .time_ns = AT(20), .path = PATH("/bin/b"),
              .args = TEXT("b\0-x"), .self = usage_us(4000, 0));
    spool_end(s, 11, 30, 9000, 0);
    spool_wait(s, MAKER_RUN_PID, 11, 31, 0, 9500);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 3);
    assert_bytes(run_process(run, 11, 1)->path, "/opt/static");
    assert_int_equal(counters_cpu_us(&run_process(run, 11, 0)->counters), 1000);
    assert_int_equal(counters_cpu_us(&run_process(run, 11, 1)->counters), 3000);
    assert_int_equal(counters_cpu_us(&run_process(run, 11, 2)->counters), 5500);
    assert_int_equal(run_process(run, 11, 1)->sources & SEEN_PROBE, 0);
}

/* The kernel reports both execs: no need to compare arguments. */
static void kernel_reports_both_execs(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 11, MAKER_RUN_PID, 1, "/bin/sh");
    spool_exec(s, 11, 10, "/opt/same", 1000);
    spool_kernel_exec(s, 11, 10.1, "/opt/same");
    spool_kernel_exec(s, 11, 15, "/opt/same");
    spool_image(s, 11, MAKER_RUN_PID, 15.5, "/opt/same");
    assert_int_equal(merge(f)->process_count, 3);
}

/* Interpreters insert arguments, links change the path: still the announced image. */
static void announced_with_another_path(void **state)
{
    const struct {
        struct bytes announced_path, announced_args, path, args;
    } rows[] = {
        { PATH("/bin/true"), TEXT("true"), PATH("/usr/bin/true"), TEXT("true") },
        { PATH("/x/job.sh"), TEXT("./job.sh\0a\0b"), PATH("/usr/bin/bash"), TEXT("/bin/bash\0/x/job.sh\0a\0b") },
        { PATH("/x/job.sh"), TEXT("job"), PATH("/usr/bin/bash"), TEXT("/bin/bash\0-e\0/x/job.sh") },
        { PATH("/usr/bin/awk"), TEXT("awk\0x"), PATH("/usr/bin/mawk"), TEXT("awk\0x") },
        { PATH("/lib/ld.so"), TEXT("ld.so\0prog\0-v"), PATH("/lib/ld.so"), TEXT("prog\0-v") },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f = { 0 };
        spool_maker_init(&f.spool);
        spool_image(&f.spool, 11, MAKER_RUN_PID, 1, "/bin/sh");
        spool_add(&f.spool, exec, .pid = 11, .copied = 1, .time_ns = AT(10), .path = rows[i].announced_path,
                  .args = rows[i].announced_args, .self = usage_us(20000, 0));
        spool_add(&f.spool, image, .pid = 11, .ppid = MAKER_RUN_PID, .time_ns = AT(11), .path = rows[i].path,
                  .args = rows[i].args);
        assert_int_equal(merge(&f)->process_count, 2);
        merge_clear(&f.merged);
        spool_maker_clear(&f.spool);
    }
    (void)state;
}

static void failed_exec(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 10, MAKER_RUN_PID, 1, "/bin/sh");
    spool_fork(s, 11, 10, 10);
    spool_exec(s, 11, 11, "/bin/none", 50);
    spool_add(s, exec_failed, .pid = 11, .time_ns = AT(11.1));
    spool_end(s, 11, 12, 60, 0);
    spool_wait(s, 10, 11, 13, 127 << 8, 70);
    const struct process *p = run_process(merge(f), 11, 0);
    assert_bytes(p->path, "/bin/sh");
    assert_int_equal(p->exit_code, 127);
}

/* No exec record has the usage: the last image includes the usage of the previous one, and is marked so. */
static void chain_without_exec_records(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_kernel_fork(s, 11, MAKER_RUN_PID, 1);
    spool_kernel_exec(s, 11, 2, "/bin/a");
    spool_kernel_exec(s, 11, 10, "/bin/b");
    spool_kernel_exit(s, 11, 20, 0);
    spool_taskstats(s, 11, MAKER_RUN_PID, 1, 20, 5000);
    spool_wait(s, MAKER_RUN_PID, 11, 21, 0, 5500);
    const struct run *run = merge(f);
    assert_int_equal(run->process_count, 2);
    assert_int_equal(run_process(run, 11, 0)->counters.known, 0);
    assert_int_equal(counters_cpu_us(&run_process(run, 11, 1)->counters), 5500);
    assert_true(run_process(run, 11, 1)->sources & USAGE_WITH_OTHERS);
}

/* The peak memory of a pid may be that of an earlier image. */
static void peak_memory_of_a_later_image(void **state)
{
    for (uint64_t last_kb = 3000; last_kb <= 9000; last_kb += 6000) {
        struct fixture f = { 0 };
        spool_maker_init(&f.spool);
        struct counters before = counters_with(COUNTER_usertime, 10, COUNTER_systemtime, (uint64_t)0, COUNTER_rssmax,
                                               (uint64_t)5000, COUNTERS_SIZE);
        struct counters after = before;
        counters_set(&after, COUNTER_rssmax, last_kb > 5000 ? last_kb : 5000);
        spool_image(&f.spool, 11, MAKER_RUN_PID, 1, "/bin/sh");
        spool_add(&f.spool, exec, .pid = 11, .copied = 1, .time_ns = AT(10), .path = PATH("/b"), .args = TEXT("b"),
                  .self = before);
        spool_add(&f.spool, end, .pid = 11, .time_ns = AT(20), .threads = 1, .self = after);
        const struct run *run = merge(&f);
        assert_int_equal(run_process(run, 11, 0)->counters.value[COUNTER_rssmax], 5000);
        const struct counters *last = &run_process(run, 11, 1)->counters;
        assert_int_equal(counters_has(last, COUNTER_rssmax), last_kb > 5000);
        if (last_kb > 5000)
            assert_int_equal(last->value[COUNTER_rssmax], last_kb);
        merge_clear(&f.merged);
        spool_maker_clear(&f.spool);
    }
    (void)state;
}

/* /proc was read after the pid had exec'd again: its arguments are not the announced ones. */
static void proc_read_too_late(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    spool_image(s, 11, MAKER_RUN_PID, 1, "/bin/sh");
    spool_exec(s, 11, 10, "/opt/static", 1000);
    spool_kernel_exec(s, 11, 10.1, "/opt/next");
    spool_kernel_exec(s, 11, 11, "/opt/next");
    const struct run *run = merge(f);
    assert_bytes(run_process(run, 11, 1)->path, "/opt/static");
    assert_bytes(run_process(run, 11, 2)->path, "/opt/next");
}

/* A pid that execs very often: every image is there, and the cost is not quadratic. */
static void many_images(void **state)
{
    struct fixture *f = *state;
    const uint32_t count = 20000;
    spool_kernel_fork(&f->spool, 11, MAKER_RUN_PID, 0.5);
    for (uint32_t i = 0; i < count; i++) {
        spool_kernel_exec(&f->spool, 11, 1 + i, "/bin/a");
        spool_image(&f->spool, 11, MAKER_RUN_PID, 1.1 + i, "/bin/a");
        spool_add(&f->spool, thread, .pid = 11, .tid = 12, .start_ns = AT(1.2 + i), .end_ns = AT(1.3 + i));
        spool_exec(&f->spool, 11, 1.9 + i, "/bin/a", 1000 * (uint64_t)(i + 1));
    }
    spool_wait(&f->spool, MAKER_RUN_PID, 11, 30000, 0, 1000 * (uint64_t)count + 500);
    merge_clear(&f->merged);
    assert_int_equal(merge_bytes(&f->merged, (struct bytes){ f->spool.buf.data, f->spool.buf.size }), OK);
    const struct run *run = &f->merged.run;
    assert_int_equal(run->process_count, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(run->processes[i].thread_count, 2);
        assert_int_equal(counters_cpu_us(&run->processes[i].counters), 1000);
    }
    assert_int_equal(counters_cpu_us(&run->processes[count].counters), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(chain_of_execs), T(chain_separates_children_of_images), T(exec_record_describes_the_image),
        T(several_complete_exec_records), T(fork_then_exec_is_one_image), T(busy_copy_is_its_own_image),
        T(copy_that_execs_has_the_probe),
        T(copy_with_children_is_its_own_image), T(copy_that_never_execs), T(unknown_user), T(static_program),
        T(static_program_in_a_chain), T(kernel_reports_both_execs), T(announced_with_another_path),
        T(failed_exec), T(chain_without_exec_records), T(peak_memory_of_a_later_image),
        T(proc_read_too_late), T(many_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
