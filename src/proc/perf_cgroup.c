/* perf_event_open with PERF_FLAG_PID_CGROUP: the kernel counts while a task of the cgroup runs on the CPU. */
#include "proc/perf_cgroup.h"

#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

size_t perf_cgroup_fd_count(size_t event_count, const bool *cpus, size_t cpu_count)
{
    size_t count = 0;
    for (size_t cpu = 0; cpu < cpu_count; cpu++)
        count += cpus[cpu];
    return count * event_count + 1;
}

static enum err err_from_open(int number)
{
    switch (number) {
    case EMFILE: case ENFILE: return FULL;
    case ENOENT: case EINVAL: case EBADF: case ENODEV: case EOPNOTSUPP: return ABSENT;
    default: return err_from_errno(number);
    }
}

static void close_cpu(struct perf_cgroup *group, size_t cpu)
{
    for (size_t event = 0; event < group->event_count; event++) {
        struct perf_cgroup_count *count = &group->counts[cpu * group->event_count + event];
        if (count->fd >= 0)
            close(count->fd);
        *count = (struct perf_cgroup_count){ .fd = -1 };
    }
}

/* A CPU that goes offline meanwhile is skipped. */
static enum err open_cpu(struct perf_cgroup *group, const struct perf_event_spec *specs, size_t cpu)
{
    for (size_t event = 0; event < group->event_count; event++) {
        struct perf_event_attr attr;
        perf_event_attr_init(&specs[event], &attr);
        int fd = perf_event_open_call(&attr, group->directory_fd, (int)cpu, -1,
                                      PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && errno != ENODEV && errno != ENXIO)
            return err_from_open(errno);
        group->counts[cpu * group->event_count + event] = (struct perf_cgroup_count){ .fd = fd };
    }
    return OK;
}

static enum err reserve(struct perf_cgroup *group, size_t cpu_count)
{
    if (cpu_count <= group->cpu_capacity)
        return OK;
    if (array_resize(group->counts, cpu_count * group->event_count))
        return NOMEM;
    for (size_t i = group->cpu_capacity * group->event_count; i < cpu_count * group->event_count; i++)
        group->counts[i] = (struct perf_cgroup_count){ .fd = -1 };
    group->cpu_capacity = cpu_count;
    return OK;
}

enum err perf_cgroup_change_cpus(struct perf_cgroup *group, const struct perf_event_spec *specs, const bool *cpus,
                                 size_t cpu_count)
{
    enum err err = reserve(group, cpu_count);
    for (size_t cpu = 0; cpu < group->cpu_capacity && !err; cpu++) {
        bool wanted = cpu < cpu_count && cpus[cpu], is_open = group->counts[cpu * group->event_count].fd >= 0;
        if (is_open && !wanted)
            close_cpu(group, cpu);
        else if (wanted && !is_open)
            err = open_cpu(group, specs, cpu);
    }
    return err;
}

enum err perf_cgroup_open(struct perf_cgroup *group, const char *directory, const struct perf_event_spec *specs,
                          size_t event_count, const bool *cpus, size_t cpu_count)
{
    *group = (struct perf_cgroup){ .event_count = event_count, .is_open = true };
    group->directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err err = group->directory_fd < 0 ? err_from_open(errno) : OK;
    group->totals = calloc(event_count, sizeof *group->totals);
    if (!err)
        err = group->totals ? perf_cgroup_change_cpus(group, specs, cpus, cpu_count) : NOMEM;
    if (err)
        perf_cgroup_close(group);
    return err;
}

enum err perf_cgroup_try(const char *directory, const struct perf_event_spec *spec, const bool *cpus, size_t cpu_count)
{
    struct perf_cgroup group;
    size_t first = 0;
    while (first < cpu_count && !cpus[first])
        first++;
    enum err err = first < cpu_count ? perf_cgroup_open(&group, directory, spec, 1, cpus, first + 1) : ABSENT;
    if (!err)
        perf_cgroup_close(&group);
    return err;
}

/* While the event has no hardware counter, its rate is assumed to be the same as in the rest of the interval. */
void perf_cgroup_add(struct perf_cgroup_total *total, struct perf_cgroup_count *last, const uint64_t now[3])
{
    if (now[0] < last->value || now[1] < last->enabled || now[2] < last->running)
        *last = (struct perf_cgroup_count){ .fd = last->fd }; /* it was reset */
    uint64_t value = now[0] - last->value, enabled = now[1] - last->enabled, running = now[2] - last->running;
    total->was_scheduled |= enabled != 0;
    total->was_counted |= running != 0;
    if (enabled && !running)
        return; /* no estimate yet: the next reading covers this time too */
    total->value += running && enabled > running ? (double)value * ((double)enabled / (double)running) : (double)value;
    *last = (struct perf_cgroup_count){ last->fd, now[0], now[1], now[2] };
}

void perf_cgroup_read(struct perf_cgroup *group)
{
    for (size_t i = 0; i < group->cpu_capacity * group->event_count; i++) {
        uint64_t now[3]; /* value, enabled, running */
        struct perf_cgroup_count *count = &group->counts[i];
        if (count->fd >= 0 && read(count->fd, now, sizeof now) == (ssize_t)sizeof now)
            perf_cgroup_add(&group->totals[i % group->event_count], count, now);
    }
}

bool perf_cgroup_total(const struct perf_cgroup *group, size_t event, uint64_t *value)
{
    const struct perf_cgroup_total *total = &group->totals[event];
    *value = (uint64_t)(total->value + 0.5);
    return total->was_counted || !total->was_scheduled;
}

void perf_cgroup_close(struct perf_cgroup *group)
{
    if (!group->is_open)
        return;
    for (size_t cpu = 0; cpu < group->cpu_capacity; cpu++)
        close_cpu(group, cpu);
    if (group->directory_fd >= 0)
        close(group->directory_fd);
    free(group->counts);
    free(group->totals);
    *group = (struct perf_cgroup){ 0 };
}
