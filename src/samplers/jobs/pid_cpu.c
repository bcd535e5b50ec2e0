/* Sums over the processes of a job, from /proc/PID/stat. */
#include "samplers/jobs/pid_cpu.h"

#include "base/clock.h"
#include "samplers/jobs/tasks.h"
#include "proc/taskfile.h"

#include <unistd.h>

enum err pidcpu_open(struct pidcpu *pidcpu, const char *root)
{
    long ticks = sysconf(_SC_CLK_TCK);
    *pidcpu = (struct pidcpu){ .ns_per_tick = NS_PER_S / (uint64_t)(ticks > 0 ? ticks : 100) };
    return job_groups_open(&pidcpu->groups, root, JOB_GROUPS_PROCESSES);
}

void pidcpu_close(struct pidcpu *pidcpu)
{
    job_groups_close(&pidcpu->groups);
    pidlist_clear(&pidcpu->found);
}

enum err pidcpu_read(struct pidcpu *pidcpu, uint32_t pid, uint64_t *cpu_ns)
{
    const struct job job = { .cgroup = "", .pid = pid };
    struct job_tasks tasks = { .job = &job };
    struct taskfile_stat stat;
    uint64_t ticks = 0;
    pidcpu->found.count = 0;
    enum err err = job_tasks_list(&pidcpu->groups, &tasks, NULL, &pidcpu->found);
    for (size_t i = 0; !err && i < pidcpu->found.count; i++)
        if (taskfile_read_stat(pidcpu->groups.proc_fd, pidcpu->found.ids[i], &stat) == OK)
            ticks += stat.own_ticks + stat.children_ticks;
    if (!err && !pidcpu->found.count)
        err = GONE;
    if (!err)
        *cpu_ns = ticks * pidcpu->ns_per_tick;
    return err;
}
