/* Reads the CPU time of one cgroup. */
#include "samplers/jobs/cgroup_cpu.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "proc/number.h"

#include <stdio.h>

#define MOUNTINFO_MAX (64 << 10)

void cgroup_cpu_find_mounts(const char *root, struct cgroup_cpu_mounts *mounts)
{
    char text[MOUNTINFO_MAX], top[CGROUP_PATH_MAX];
    mounts->cpuacct[0] = mounts->unified[0] = '\0';
    if (file_read(root, "/proc/self/mountinfo", text, sizeof text, NULL))
        return;
    if (cgroup_parse_mount(text, "cpuacct", mounts->cpuacct, top))
        mounts->cpuacct[0] = '\0';
    if (cgroup_parse_mount(text, NULL, mounts->unified, top))
        mounts->unified[0] = '\0';
}

enum err cgroup_cpu_path(const struct cgroup_cpu_mounts *mounts, const struct job *job, char *path, size_t size)
{
    const char *mount = job->unified ? mounts->unified : mounts->cpuacct;
    if (!mount[0] || !job->cgroup[0])
        return ABSENT;
    int length = snprintf(path, size, "%s%s/%s", mount, job->cgroup, job->unified ? "cpu.stat" : "cpuacct.usage");
    return length >= 0 && (size_t)length < size ? OK : FULL;
}

static enum err read_unified(int fd, uint64_t *cpu_ns)
{
    char text[1024];
    uint64_t us;
    enum err err = file_read_fd(fd, text, sizeof text, NULL);
    if (err)
        return err;
    if (!scan_line_u64(text, "usage_usec ", &us) || us > UINT64_MAX / NS_PER_US)
        return CORRUPT;
    *cpu_ns = us * NS_PER_US;
    return OK;
}

enum err cgroup_cpu_read(int fd, bool unified, uint64_t *cpu_ns)
{
    enum err err = unified ? read_unified(fd, cpu_ns) : number_read_u64(fd, cpu_ns);
    return err == ABSENT ? GONE : err; /* ENODEV: the cgroup was removed while the file is open */
}
