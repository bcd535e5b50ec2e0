/* Frames into a buffer; questions to a merged run. */
#include "tools/spool_maker.h"

#include "tools/unit.h"

#define SPOOL_MAX (256u << 20)

#define X(number, name, fields) \
    void spool_maker_##name(struct spool_maker *maker, const struct name##_record *record) \
    { \
        static uint8_t frame[1u << 20]; \
        struct packer p = { frame + FRAME_HEAD, frame + sizeof frame - 8, false }; \
        record_pack_##name(&p, record); \
        assert_false(p.full); \
        size_t size = frame_finish(frame, RECORD_KIND_##name, (size_t)(p.at - frame) - FRAME_HEAD); \
        buf_add(&maker->buf, frame, size); \
    }
RECORD_KINDS(X)
#undef X

void spool_maker_init_empty(struct spool_maker *maker)
{
    buf_init(&maker->buf, SPOOL_MAX);
}

void spool_maker_init(struct spool_maker *maker)
{
    spool_maker_init_empty(maker);
    spool_add(maker, run, .run_id = PATH("run-1"), .job_id = PATH("job-1"), .name = PATH("test"), .user = PATH("user"),
              .command = TEXT("sh\0-c\0:"), .host = PATH("node"), .cores = 4, .period_ns = 1000000000,
              .time_ns = MAKER_START_NS, .pid = MAKER_RUN_PID);
}

void spool_maker_clear(struct spool_maker *maker)
{
    buf_clear(&maker->buf);
}

struct counters usage_us(uint64_t user_us, uint64_t system_us)
{
    struct counters c = { 0 };
    counters_set(&c, COUNTER_usertime, user_us);
    counters_set(&c, COUNTER_systemtime, system_us);
    return c;
}

struct counters counters_with(enum counter first, uint64_t value, ...)
{
    struct counters c = { 0 };
    va_list list;
    counters_set(&c, first, value);
    va_start(list, value);
    for (int next; (next = va_arg(list, int)) != COUNTERS_SIZE;)
        counters_set(&c, (enum counter)next, va_arg(list, uint64_t));
    va_end(list);
    return c;
}

void spool_fork(struct spool_maker *maker, uint32_t pid, uint32_t ppid, double ms)
{
    spool_add(maker, fork, .pid = pid, .ppid = ppid, .time_ns = AT(ms));
}

static struct bytes args_of(const char *path)
{
    return (struct bytes){ path, strlen(path) + 1 };
}

void spool_image(struct spool_maker *maker, uint32_t pid, uint32_t ppid, double ms, const char *path)
{
    spool_add(maker, image, .pid = pid, .ppid = ppid, .pgid = 50, .sid = 40, .uid = 1000, .time_ns = AT(ms),
              .path = bytes_of(path), .args = args_of(path), .cwd = PATH("/home"));
}

void spool_exec(struct spool_maker *maker, uint32_t pid, double ms, const char *path, uint64_t self_us)
{
    spool_add(maker, exec, .pid = pid, .time_ns = AT(ms), .copied = 1, .path = bytes_of(path), .args = args_of(path),
              .self = usage_us(self_us, 0), .children = usage_us(0, 0));
}

void spool_end(struct spool_maker *maker, uint32_t pid, double ms, uint64_t self_us, uint64_t children_us)
{
    spool_add(maker, end, .pid = pid, .time_ns = AT(ms), .threads = 1, .main = usage_us(self_us, 0),
              .self = usage_us(self_us, 0), .children = usage_us(children_us, 0));
}

void spool_wait(struct spool_maker *maker, uint32_t waiter, uint32_t pid, double ms, int status, uint64_t us)
{
    spool_add(maker, wait, .waiter = waiter, .pid = pid, .time_ns = AT(ms), .status = (uint32_t)status,
              .usage = usage_us(us, 0));
}

void spool_kernel_fork(struct spool_maker *maker, uint32_t pid, uint32_t ppid, double ms)
{
    spool_add(maker, kernel_fork, .pid = pid, .ppid = ppid, .time_ns = AT(ms), .tid = pid);
}

void spool_kernel_exec(struct spool_maker *maker, uint32_t pid, double ms, const char *path)
{
    spool_add(maker, kernel_exec, .pid = pid, .time_ns = AT(ms), .path = bytes_of(path), .args = args_of(path));
}

void spool_kernel_exit(struct spool_maker *maker, uint32_t pid, double ms, int status)
{
    spool_add(maker, kernel_exit, .pid = pid, .tid = pid, .time_ns = AT(ms), .status = (uint32_t)status);
}

void spool_taskstats(struct spool_maker *maker, uint32_t pid, uint32_t ppid, double start_ms, double end_ms, uint64_t us)
{
    spool_add(maker, taskstats, .pid = pid, .tid = pid, .ppid = ppid, .uid = 1000, .start_ns = AT(start_ms),
              .end_ns = AT(end_ms), .process_ended = 1, .name = PATH("comm"), .counters = usage_us(us, 0));
}

void spool_run_end(struct spool_maker *maker, double ms, uint64_t total_us)
{
    spool_add(maker, run_end, .time_ns = AT(ms), .status_known = 1, .total = usage_us(total_us, 0));
}

void spool_merge(const struct spool_maker *maker, struct merged *merged)
{
    assert_false(maker->buf.failed);
    assert_int_equal(merge_bytes(merged, (struct bytes){ maker->buf.data, maker->buf.size }), OK);
    run_check_tree(&merged->run);
}

size_t run_count(const struct run *run, uint32_t pid)
{
    size_t count = 0;
    for (size_t i = 0; i < run->process_count; i++)
        count += run->processes[i].pid == pid;
    return count;
}

const struct process *run_process(const struct run *run, uint32_t pid, uint32_t image)
{
    const struct process *found = NULL;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct process *p = &run->processes[i];
        if (p->pid != pid || p->image != image)
            continue;
        assert_null(found);
        found = p;
    }
    assert_non_null(found);
    return found;
}

void run_check_tree(const struct run *run)
{
    uint32_t threads = 0;
    for (uint32_t i = 0; i < run->process_count; i++) {
        const struct process *p = &run->processes[i];
        uint64_t inclusive_us = 0;
        assert_true(p->last >= i && p->last < run->process_count);
        if (p->parent != PROCESS_NO_PARENT) {
            assert_true(p->parent < i);
            assert_true(p->last <= run->processes[p->parent].last);
        }
        for (uint32_t below = i; below <= p->last; below++) {
            inclusive_us += counters_cpu_us(&run->processes[below].counters);
            assert_true(below == i || (run->processes[below].parent >= i && run->processes[below].parent <= p->last));
        }
        assert_int_equal(p->inclusive_cpu_us, inclusive_us);
        assert_true(p->thread_count >= 1);
        if (p->thread_count == 1)
            continue;
        assert_int_equal(p->thread_first, threads);
        assert_int_equal(run->threads[p->thread_first].tid, p->pid);
        threads += p->thread_count;
    }
    assert_int_equal(threads, run->thread_count);
}
