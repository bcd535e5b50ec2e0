/* Tries one perf event of each type, as sonde run -e would. */
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

static void try_event(const struct doctor_target *target, const char *name, struct finding *finding)
{
    struct perf_event_spec spec;
    struct perf_problem problem;
    char paranoid[32];
    if (file_read_line(target->root, "/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid))
        snprintf(paranoid, sizeof paranoid, "missing");
    enum err err = perf_resolve_one(name, &spec, &problem);
    if (err == DENIED)
        finding_missing(finding, problem.fix, "%s: %s (kernel.perf_event_paranoid is %s)", name, problem.reason,
                        paranoid);
    else if (err)
        finding_missing(finding, problem.fix, "%s: %s", name, problem.reason);
    else
        finding_available(finding, "%s works%s", name,
                          spec.exclude & PROBE_EXCLUDE_KERNEL ? ", in user mode only (kernel.perf_event_paranoid)" : "");
}

void check_perf_software(const struct doctor_target *target, struct finding *finding)
{
    try_event(target, "page-faults", finding);
}

void check_perf_kernel(const struct doctor_target *target, struct finding *finding)
{
    try_event(target, "context-switches", finding);
}

void check_perf_hardware(const struct doctor_target *target, struct finding *finding)
{
    try_event(target, "instructions", finding);
}

/* One online CPU is enough for a test. */
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

static void report_group(const struct cgroup_mounts *groups, const char *root, struct finding *finding)
{
    const char *mount = cgroup_mounts_perf(groups);
    enum err err = mount ? try_group(root, mount) : ABSENT;
    if (!mount)
        finding_missing(finding, "Boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)",
                        "Neither cgroup v2 nor the v1 hierarchy perf_event is mounted: no perf events for jobs");
    else if (err == DENIED)
        finding_missing(finding, "Run the agent as root, or with CAP_PERFMON",
                        "Permission denied to count for a cgroup");
    else if (err)
        finding_missing(finding, "Use a kernel with CONFIG_CGROUP_PERF", "Cannot count page-faults for %s: %s", mount,
                        err_text(err));
    else if (groups->v1[0])
        finding_available(finding, "counted for jobs with a cgroup below %s (not for Slurm with cgroup v1)", mount);
    else
        finding_available(finding, "counted for jobs with a cgroup");
}

void check_perf_jobs(const struct doctor_target *target, struct finding *finding)
{
    struct cgroup_mounts groups;
    enum err err = cgroup_mounts_open(&groups, target->root, CGROUP_MOUNTS_PROCESSES);
    if (err) {
        finding_missing(finding, "Mount /proc", "Cannot read the cgroup mounts (%s)", err_text(err));
        return;
    }
    report_group(&groups, target->root, finding);
    cgroup_mounts_close(&groups);
}

void check_perf_libpfm(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    if (perf_pfm_is_available())
        finding_available(finding, "the processor's own event names are supported");
    else
        finding_missing(finding, "apt install libpfm4",
                        "The library is not installed: only the kernel's event names are supported");
}
