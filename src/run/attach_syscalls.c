/* Tries eBPF first, then ptrace. */
#include "run/attach_syscalls.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Twice: the second pass finds children created before their parent was counted. */
static enum err add_tree(struct ebpf_job *job, struct attach_tree *tree, pid_t pid)
{
    enum err err = ebpf_job_add(job, pid);
    for (int round = 0; !err && round < 2; round++) {
        if (attach_tree_refresh(tree, pid) != OK)
            break;
        for (size_t i = 1; i < tree->pids.count; i++)
            ebpf_job_add(job, (pid_t)tree->pids.ids[i]);
    }
    return err;
}

static enum err open_kernel(struct attach_syscalls *calls, pid_t pid, bool timed, char *error, size_t error_size)
{
    enum err err = ebpf_open(&calls->syscalls, timed ? EBPF_MAY_TIME : 0, error, error_size);
    if (err)
        return err;
    calls->way = SYSCALL_WAY_KERNEL;
    calls->end_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    err = calls->end_fd < 0 ? err_from_errno(errno) : ebpf_job_begin(calls->syscalls, timed, &calls->job);
    if (!err)
        err = add_tree(calls->job, calls->tree, pid);
    if (err)
        attach_syscalls_close(calls);
    return err;
}

enum err attach_syscalls_open(struct attach_syscalls *calls, const struct attach_syscalls_settings *settings, char *error,
                           size_t error_size)
{
    pid_t pid = settings->pid;
    bool timed = settings->timed;
    *calls = (struct attach_syscalls){ .end_fd = -1, .tracer = { .end_fd = -1, .pid = -1 }, .tree = settings->tree };
    if (!settings->wants_ptrace && open_kernel(calls, pid, timed, error, error_size) == OK)
        return OK;
    enum err err = tracer_process_start(&calls->tracer, pid, timed, settings->processes);
    calls->way = SYSCALL_WAY_PTRACE;
    calls->end_fd = calls->tracer.end_fd;
    return err;
}

void attach_syscalls_read(const struct attach_syscalls *calls, struct batch *out)
{
    if (calls->way == SYSCALL_WAY_KERNEL)
        ebpf_job_read(calls->job, NULL, out);
    else
        syscall_counts_sample(&calls->tracer.page->counts, clock_realtime_ns(), out);
}

bool attach_syscalls_are_over(struct attach_syscalls *calls)
{
    if (calls->way != SYSCALL_WAY_KERNEL)
        return true;
    calls->is_orphaned = true;
    return ebpf_job_alive(calls->job) == 0;
}

enum err attach_syscalls_list(const struct attach_syscalls *calls, struct pidlist *pids)
{
    pids->count = 0;
    return ebpf_job_processes(calls->job, pids);
}

size_t attach_syscalls_alive(const struct attach_syscalls *calls)
{
    return calls->way == SYSCALL_WAY_KERNEL ? ebpf_job_alive(calls->job) : calls->tracer.page->alive;
}

void attach_syscalls_stop(struct attach_syscalls *calls)
{
    if (calls->way == SYSCALL_WAY_KERNEL)
        ebpf_job_stop(calls->job);
    else
        tracer_process_stop(&calls->tracer);
}

void attach_syscalls_close(struct attach_syscalls *calls)
{
    if (calls->way == SYSCALL_WAY_KERNEL && calls->end_fd >= 0)
        close(calls->end_fd);
    calls->end_fd = -1;
    ebpf_close(&calls->syscalls); /* also closes the job */
    calls->job = NULL;
    tracer_process_close(&calls->tracer);
}

void attach_syscalls_gather(const struct batch *batch, bool timed, struct syscall_counts *counts)
{
    memset(counts, 0, sizeof *counts);
    counts->timed = timed;
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        unsigned number;
        if (sample->set != &syscall_set || strchr(sample->instance, '/') || !syscall_names_read(sample->instance, &number))
            continue;
        struct syscall_count *count = &counts->of[number];
        const union value *values = sample->values;
        count->calls = values[SYSCALL_CALLS].u64;
        count->errors = values[SYSCALL_ERRORS].u64;
        count->bytes = sample->known[SYSCALL_BYTES] ? values[SYSCALL_BYTES].u64 : 0;
        count->time_ns = sample->known[SYSCALL_TIME] ? values[SYSCALL_TIME].u64 : 0;
    }
}
