/* Sums over the processes of a job, from /proc/PID/stat. */
#include "samplers/jobs/pid_cpu.h"

#include "base/clock.h"
#include "proc/taskfile.h"
#include "samplers/jobs/job_tasks.h"

#include <unistd.h>

enum err pid_cpu_open(struct pid_cpu *pid_cpu, const char *root)
{
    long ticks = sysconf(_SC_CLK_TCK);
    *pid_cpu = (struct pid_cpu){ .ns_per_tick = NS_PER_S / (uint64_t)(ticks > 0 ? ticks : 100) };
    return cgroup_mounts_open(&pid_cpu->mounts, root, CGROUP_MOUNTS_PROCESSES);
}

void pid_cpu_close(struct pid_cpu *pid_cpu)
{
    cgroup_mounts_close(&pid_cpu->mounts);
    pidlist_clear(&pid_cpu->found);
}

enum err pid_cpu_read(struct pid_cpu *pid_cpu, uint32_t pid, uint64_t *cpu_ns)
{
    const struct job job = { .cgroup = "", .pid = pid };
    struct job_tasks tasks = { .job = &job };
    struct taskfile_stat stat;
    uint64_t ticks = 0;
    pid_cpu->found.count = 0;
    enum err err = job_tasks_list(&pid_cpu->mounts, &tasks, NULL, &pid_cpu->found);
    for (size_t i = 0; !err && i < pid_cpu->found.count; i++)
        if (taskfile_read_stat(pid_cpu->mounts.proc_fd, pid_cpu->found.ids[i], &stat) == OK)
            ticks += stat.own_ticks + stat.children_ticks;
    if (!err && !pid_cpu->found.count)
        err = GONE;
    if (!err)
        *cpu_ns = ticks * pid_cpu->ns_per_tick;
    return err;
}
