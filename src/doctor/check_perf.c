/* Performance events: one of each sort is tried, as sonde run -e would. */
#include "doctor/check_perf.h"

#include "base/file.h"
#include "proc/cpulist.h"
#include "samplers/jobs/cgroup_mounts.h"
#include "proc/perf.h"
#include "proc/perf_cgroup.h"
#include "proc/perf_pfm.h"
#include "spool/probe_env.h"

#include <stdio.h>

#define CPUS_MAX 4096

static void try_event(const struct place *place, const char *name, struct finding *finding)
{
    struct perf_event_spec spec;
    struct perf_problem problem;
    char paranoid[32];
    if (file_read_line(place->root, "/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid))
        snprintf(paranoid, sizeof paranoid, "not there");
    enum err err = perf_resolve_one(name, &spec, &problem);
    if (err == DENIED)
        finding_missing(finding, problem.fix, "%s: %s (kernel.perf_event_paranoid is %s)", name, problem.reason,
                        paranoid);
    else if (err)
        finding_missing(finding, problem.fix, "%s: %s", name, problem.reason);
    else
        finding_there(finding, "%s works%s", name,
                      spec.exclude & PROBE_EXCLUDE_KERNEL ? ", in user mode only (kernel.perf_event_paranoid)" : "");
}

void doctor_perf_software(const struct place *place, struct finding *finding)
{
    try_event(place, "page-faults", finding);
}

void doctor_perf_kernel(const struct place *place, struct finding *finding)
{
    try_event(place, "context-switches", finding);
}

void doctor_perf_hardware(const struct place *place, struct finding *finding)
{
    try_event(place, "instructions", finding);
}

/* One CPU that is online is enough to try it out. */
static enum err try_group(const char *root, const char *mount)
{
    struct perf_event_spec spec;
    struct perf_problem problem;
    char path[FILE_PATH_MAX], online[1024];
    bool cpus[CPUS_MAX];
    enum err err = perf_resolve_one("page-faults", &spec, &problem);
    if (!err)
        err = file_read_line(root, "/sys/devices/system/cpu/online", online, sizeof online);
    if (!err)
        err = file_path(path, root, mount);
    return err ? err : perf_cgroup_try(path, &spec, cpus, cpulist_flags(online, cpus, CPUS_MAX));
}

static void judge_group(const struct cgroup_mounts *groups, const char *root, struct finding *finding)
{
    const char *mount = cgroup_mounts_perf(groups);
    enum err err = mount ? try_group(root, mount) : ABSENT;
    if (!mount)
        finding_missing(finding, "Boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)",
                        "Neither cgroup v2 nor the v1 hierarchy perf_event is mounted: events are not counted for jobs");
    else if (err == DENIED)
        finding_missing(finding, "Run the agent as root, or with CAP_PERFMON", "This user may not count for a cgroup");
    else if (err)
        finding_missing(finding, "Use a kernel with CONFIG_CGROUP_PERF", "page-faults cannot be counted for %s: %s", mount,
                        err_text(err));
    else if (groups->mounts[0])
        finding_there(finding, "counted for jobs that have a cgroup below %s, which Slurm does not make with cgroup v1",
                      mount);
    else
        finding_there(finding, "counted for jobs that have a cgroup");
}

void doctor_perf_jobs(const struct place *place, struct finding *finding)
{
    struct cgroup_mounts groups;
    enum err err = cgroup_mounts_open(&groups, place->root, CGROUP_MOUNTS_PROCESSES);
    if (err) {
        finding_missing(finding, "Mount /proc", "The mounts of cgroups cannot be read (%s)", err_text(err));
        return;
    }
    judge_group(&groups, place->root, finding);
    cgroup_mounts_close(&groups);
}

void doctor_perf_libpfm(const struct place *place, struct finding *finding)
{
    (void)place;
    if (perf_pfm_is_available())
        finding_there(finding, "the processor's own event names are known");
    else
        finding_missing(finding, "apt install libpfm4",
                        "The library is not installed: events have the kernel's names only");
}
