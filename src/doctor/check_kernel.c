/* Tries the kernel's interfaces for process events and accounting one by one. */
#include "doctor/check_kernel.h"

#include "base/file.h"
#include "base/scan.h"
#include "proc/delay_accounting.h"
#include "proc/taskstats_exits.h"
#include "proc/proc_connector.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_FEW 256

void check_kernel_subreaper(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    int before = 0;
    if (prctl(PR_GET_CHILD_SUBREAPER, &before) || prctl(PR_SET_CHILD_SUBREAPER, 1)) {
        finding_missing(finding, "Use Linux 3.4 or newer", "Orphaned processes are not recorded");
        return;
    }
    prctl(PR_SET_CHILD_SUBREAPER, before);
    finding_available(finding, "orphaned processes are recorded");
}

void check_kernel_connector(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    struct proc_connector forks;
    enum err err = proc_connector_open(&forks);
    if (!err) {
        finding_available(finding, "every fork, exec and exit is reported%s",
                          proc_connector_has_large_buffer(&forks) ? "" : ", with a small buffer for bursts");
        proc_connector_close(&forks);
    } else if (err == DENIED) {
        finding_missing(finding, "Run as root, or use Linux 6.6 or newer, which lets users listen",
                        "Permission denied: processes without the probe are recorded only if they are waited for");
    } else {
        finding_missing(finding, "Run in the initial network and pid namespace, on a kernel with CONFIG_PROC_EVENTS",
                        "No response in this namespace: processes without the probe are recorded only if they are "
                        "waited for");
    }
}

void check_kernel_taskstats(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    struct taskstats_exits exits;
    enum err err = taskstats_exits_open(&exits);
    if (!err) {
        finding_available(finding, "the kernel's accounting record of every thread that exits");
        taskstats_exits_close(&exits);
    } else if (err == DENIED) {
        finding_missing(finding, "Run as root",
                        "Only root may listen: threads of processes without the probe have no data");
    } else {
        finding_missing(finding, "Run in the initial pid namespace, on a kernel with CONFIG_TASKSTATS",
                        "Not supported by this kernel or namespace: threads of processes without the probe have no "
                        "data");
    }
}

void check_kernel_delays(const struct doctor_target *target, struct finding *finding)
{
    static const struct { const char *how, *fix; } wrong[] = {
        [DELAY_ACCOUNTING_UNAVAILABLE] = { "not supported by this kernel", "Use a kernel with CONFIG_TASK_DELAY_ACCT" },
        [DELAY_ACCOUNTING_OFF] = { "off", "sysctl kernel.task_delayacct=1" },
        [DELAY_ACCOUNTING_OFF_AT_BOOT] = { "disabled at boot", "Boot without the parameter nodelayacct" },
    };
    enum delay_accounting delays = delay_accounting_read(target->root);
    if (delays == DELAY_ACCOUNTING_ON)
        finding_available(finding, "disk wait time is available");
    else
        finding_missing(finding, wrong[delays].fix, "It is %s: disk wait time is unavailable", wrong[delays].how);
}

void check_kernel_schedstat(const struct doctor_target *target, struct finding *finding)
{
    char text[128];
    const char *at = text;
    uint64_t on_cpu_ns = 0;
    enum err err = file_read_line(target->root, "/proc/self/schedstat", text, sizeof text);
    if (!err && scan_u64(&at, &on_cpu_ns) && on_cpu_ns)
        finding_available(finding, "CPU time and CPU wait time are available");
    else
        finding_missing(finding, "Use a kernel with CONFIG_SCHED_INFO",
                        "Not supported by this kernel: CPU wait time is unavailable");
}

void check_kernel_io(const struct doctor_target *target, struct finding *finding)
{
    char text[512];
    uint64_t rchar;
    enum err err = file_read(target->root, "/proc/self/io", text, sizeof text, NULL);
    if (!err && scan_line_u64(text, "rchar:", &rchar))
        finding_available(finding, "bytes read and written are available");
    else if (err == DENIED)
        finding_missing(finding, "Run outside of this container or sandbox",
                        "Permission denied for /proc/self/io: bytes read and written are unavailable");
    else
        finding_missing(finding, "Use a kernel with CONFIG_TASK_IO_ACCOUNTING",
                        "Not supported by this kernel: bytes read and written are unavailable");
}

/* "22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=invisible" */
static bool find_hidepid(const char *mounts, char *value, size_t size)
{
    for (const char *line = mounts; line; line = scan_next_line(line)) {
        size_t length = strcspn(line, "\n");
        const char *mount = memmem(line, length, " /proc ", 7), *option = memmem(line, length, "hidepid=", 8);
        if (!mount || !option)
            continue;
        snprintf(value, size, "%.*s", (int)strcspn(option, ", \n"), option);
        return strcmp(value, "hidepid=0") && strcmp(value, "hidepid=off");
    }
    return false;
}

void check_kernel_hidepid(const struct doctor_target *target, struct finding *finding)
{
    char mounts[32 << 10], option[64];
    enum err err = file_read(target->root, "/proc/self/mountinfo", mounts, sizeof mounts, NULL);
    if (err)
        finding_missing(finding, "Mount /proc", "Cannot read /proc (%s)", err_text(err));
    else if (geteuid() && find_hidepid(mounts, option, sizeof option))
        finding_missing(finding, "Run as root, or: mount -o remount,hidepid=0 /proc",
                        "/proc is mounted with %s: processes of other users, such as set-uid programs, are missing "
                        "from the samples", option);
    else
        finding_available(finding, "all processes are visible");
}

void check_kernel_children(const struct doctor_target *target, struct finding *finding)
{
    char path[FILE_PATH_MAX], file[64];
    snprintf(file, sizeof file, "/proc/self/task/%d/children", (int)getpid());
    if (!file_path(path, target->root, file) && !access(path, R_OK))
        finding_available(finding, "children are found without scanning /proc");
    else
        finding_missing(finding, "", "This kernel lacks CONFIG_PROC_CHILDREN: all of /proc is scanned at each sample, "
                                     "which costs more on a busy node");
}

void check_kernel_clock(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    clockid_t clock;
    struct timespec time;
    pid_t other = getppid() > 0 ? getppid() : 1;
    if (!clock_getcpuclockid(other, &clock) && !clock_gettime(clock, &time))
        finding_available(finding, "exact to the nanosecond");
    else
        finding_missing(finding, "",
                        "Cannot read the CPU clocks of other processes: samples of CPU time are only exact to 10 ms");
}

void check_kernel_descriptors(const struct doctor_target *target, struct finding *finding)
{
    (void)target;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        finding_missing(finding, "", "Cannot read the limit of open files");
    else if (limit.rlim_max < DESCRIPTORS_FEW)
        finding_missing(finding, "ulimit -Hn 4096",
                        "Only %llu files may be open: too few for perf events of many threads",
                        (unsigned long long)limit.rlim_max);
    else
        finding_available(finding, "%llu, maximum %llu", (unsigned long long)limit.rlim_cur,
                          (unsigned long long)limit.rlim_max);
}
