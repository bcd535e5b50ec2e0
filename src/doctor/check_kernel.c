/* What the kernel tells about processes, tried out one by one: from system calls and /proc to findings. */
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

void doctor_kernel_subreaper(const struct place *place, struct finding *finding)
{
    (void)place;
    int before = 0;
    if (prctl(PR_GET_CHILD_SUBREAPER, &before) || prctl(PR_SET_CHILD_SUBREAPER, 1)) {
        finding_missing(finding, "Use Linux 3.4 or newer", "Processes that lose their parent are lost to us too");
        return;
    }
    prctl(PR_SET_CHILD_SUBREAPER, before);
    finding_there(finding, "processes that lose their parent stay ours");
}

void doctor_kernel_connector(const struct place *place, struct finding *finding)
{
    (void)place;
    struct proc_connector forks;
    enum err err = proc_connector_open(&forks);
    if (!err) {
        finding_there(finding, "every fork, exec and exit is told%s",
                      proc_connector_has_large_buffer(&forks) ? "" : ", with little room for bursts");
        proc_connector_close(&forks);
    } else if (err == DENIED) {
        finding_missing(finding, "Run as root, or use Linux 6.6 or newer, where users may listen too",
                        "This user may not listen: programs without the probe are seen when they are waited for only");
    } else {
        finding_missing(finding, "Run in the initial network and pid namespace, on a kernel with CONFIG_PROC_EVENTS",
                        "Nobody answers in this namespace: programs without the probe are seen when they are waited "
                        "for only");
    }
}

void doctor_kernel_taskstats(const struct place *place, struct finding *finding)
{
    (void)place;
    struct taskstats_exits exits;
    enum err err = taskstats_exits_open(&exits);
    if (!err) {
        finding_there(finding, "the kernel's own record of every thread that ends");
        taskstats_exits_close(&exits);
    } else if (err == DENIED) {
        finding_missing(finding, "Run as root",
                        "Only root may listen: programs without the probe have no numbers of their threads");
    } else {
        finding_missing(finding, "Run in the initial pid namespace, on a kernel with CONFIG_TASKSTATS",
                        "This kernel or namespace has none: programs without the probe have no numbers of their "
                        "threads");
    }
}

void doctor_kernel_delays(const struct place *place, struct finding *finding)
{
    static const struct { const char *how, *remedy; } wrong[] = {
        [DELAY_ACCOUNTING_UNAVAILABLE] = { "not in this kernel", "Use a kernel with CONFIG_TASK_DELAY_ACCT" },
        [DELAY_ACCOUNTING_OFF] = { "switched off", "sysctl kernel.task_delayacct=1" },
        [DELAY_ACCOUNTING_OFF_AT_BOOT] = { "switched off at boot", "Boot without the parameter nodelayacct" },
    };
    enum delay_accounting delays = delay_accounting_read(place->root);
    if (delays == DELAY_ACCOUNTING_ON)
        finding_there(finding, "time blocked for disk I/O is known");
    else
        finding_missing(finding, wrong[delays].remedy,
                        "It is %s: how long programs were blocked for disk I/O is not known", wrong[delays].how);
}

void doctor_kernel_schedstat(const struct place *place, struct finding *finding)
{
    char text[128];
    const char *at = text;
    uint64_t on_cpu_ns = 0;
    enum err err = file_read_line(place->root, "/proc/self/schedstat", text, sizeof text);
    if (!err && scan_u64(&at, &on_cpu_ns) && on_cpu_ns)
        finding_there(finding, "time on and time waiting for a CPU are known");
    else
        finding_missing(finding, "Use a kernel with CONFIG_SCHED_INFO",
                        "This kernel does not keep it: how long programs waited for a CPU is not known");
}

void doctor_kernel_io(const struct place *place, struct finding *finding)
{
    char text[512];
    uint64_t rchar;
    enum err err = file_read(place->root, "/proc/self/io", text, sizeof text, NULL);
    if (!err && scan_line_u64(text, "rchar:", &rchar))
        finding_there(finding, "bytes read and written are known");
    else if (err == DENIED)
        finding_missing(finding, "Run outside of this container or sandbox",
                        "/proc/self/io may not be read: bytes read and written are not known");
    else
        finding_missing(finding, "Use a kernel with CONFIG_TASK_IO_ACCOUNTING",
                        "This kernel does not count it: bytes read and written are not known");
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

void doctor_kernel_hidepid(const struct place *place, struct finding *finding)
{
    char mounts[32 << 10], option[64];
    enum err err = file_read(place->root, "/proc/self/mountinfo", mounts, sizeof mounts, NULL);
    if (err)
        finding_missing(finding, "Mount /proc", "/proc cannot be read (%s)", err_text(err));
    else if (geteuid() && find_hidepid(mounts, option, sizeof option))
        finding_missing(finding, "Run as root, or: mount -o remount,hidepid=0 /proc",
                        "/proc is mounted with %s: processes of other users, such as set-uid programs, are left out of "
                        "the samples", option);
    else
        finding_there(finding, "all processes can be seen");
}

void doctor_kernel_children(const struct place *place, struct finding *finding)
{
    char path[FILE_PATH_MAX], file[64];
    snprintf(file, sizeof file, "/proc/self/task/%d/children", (int)getpid());
    if (!file_path(path, place->root, file) && !access(path, R_OK))
        finding_there(finding, "children are found without a look at the whole node");
    else
        finding_missing(finding, "", "This kernel has no CONFIG_PROC_CHILDREN: all of /proc is read at each sample, "
                        "which costs more on a busy node and nothing else");
}

void doctor_kernel_clock(const struct place *place, struct finding *finding)
{
    (void)place;
    clockid_t clock;
    struct timespec time;
    pid_t other = getppid() > 0 ? getppid() : 1;
    if (!clock_getcpuclockid(other, &clock) && !clock_gettime(clock, &time))
        finding_there(finding, "exact to the ns");
    else
        finding_missing(finding, "", "The CPU clocks of other processes cannot be read: samples of CPU time are exact "
                        "to 10 ms only");
}

void doctor_kernel_descriptors(const struct place *place, struct finding *finding)
{
    (void)place;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        finding_missing(finding, "", "The limit of open files cannot be read");
    else if (limit.rlim_max < DESCRIPTORS_FEW)
        finding_missing(finding, "ulimit -Hn 4096",
                        "Only %llu files may be open: perf events of many threads at once do not fit",
                        (unsigned long long)limit.rlim_max);
    else
        finding_there(finding, "%llu, at most %llu", (unsigned long long)limit.rlim_cur,
                      (unsigned long long)limit.rlim_max);
}
