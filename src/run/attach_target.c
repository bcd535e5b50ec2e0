/* Reads the target from /proc/PID/status. */
#include "run/attach_target.h"

#include "base/file.h"
#include "base/log.h"
#include "base/scan.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATUS_MAX 4096
#define MAPS_BLOCK 16384
#define CALLS_PROBE "libsonde-calls.so"
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

static void copy_word(char *to, size_t size, const char *from)
{
    from = from ? from + strspn(from, " \t") : "";
    snprintf(to, size, "%.*s", (int)strcspn(from, "\n"), from);
}

static enum err read_status(pid_t pid, char status[STATUS_MAX])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return file_read(NULL, path, status, STATUS_MAX, NULL) == OK ? OK : GONE;
}

enum err attach_target_read(pid_t pid, struct attach_target *target)
{
    char status[STATUS_MAX], state[16];
    uint64_t number;
    *target = (struct attach_target){ .pid = pid };
    if (read_status(pid, status) != OK)
        return GONE;
    if (scan_line_u64(status, "Tgid:", &number))
        target->pid = (pid_t)number;
    if (scan_line_u64(status, "TracerPid:", &number))
        target->tracer = (pid_t)number;
    if (scan_line_u64(status, "Uid:", &number))
        target->uid = (uint32_t)number;
    copy_word(target->name, sizeof target->name, scan_line(status, "Name:"));
    copy_word(state, sizeof state, scan_line(status, "State:"));
    bool is_dead = state[0] == 'Z' || state[0] == 'X'; /* the main thread is; others may be running */
    target->is_leaderless = is_dead && scan_line_u64(status, "Threads:", &number) && number > 1;
    target->is_zombie = is_dead && !target->is_leaderless;
    target->is_kernel = !is_dead && !scan_line(status, "VmSize:");
    if (target->tracer && read_status(target->tracer, status) == OK)
        copy_word(target->tracer_name, sizeof target->tracer_name, scan_line(status, "Name:"));
    return OK;
}

enum err attach_target_check(const struct attach_target *target)
{
    if (target->is_zombie)
        return GONE;
    return target->is_kernel || target->pid == getpid() ? USAGE : OK;
}

/* The list of mappings may be long: read it in blocks that overlap. */
static bool has_calls_probe(uint32_t pid)
{
    char path[64], text[MAPS_BLOCK + 1];
    size_t kept = 0, tail = strlen(CALLS_PROBE) - 1;
    bool is_there = false;
    int fd;
    snprintf(path, sizeof path, "/proc/%u/maps", (unsigned)pid);
    if (file_open(NULL, path, &fd) != OK)
        return false;
    for (ssize_t got; !is_there && (got = read(fd, text + kept, MAPS_BLOCK - kept)) > 0;) {
        size_t size = kept + (size_t)got;
        is_there = memmem(text, size, CALLS_PROBE, tail + 1) != NULL;
        kept = size < tail ? size : tail;
        memmove(text, text + size - kept, kept);
    }
    close(fd);
    return is_there;
}

bool attach_target_lacks_calls_probe(const struct pidlist *pids)
{
    for (size_t i = 0; i < pids->count; i++) {
        if (!has_calls_probe(pids->ids[i]))
            continue;
        log_warn("--tell: process %u already reports its system calls to the agent through " CALLS_PROBE "; to avoid duplicates, "
                 "nothing more is sent from here. The table and the report include all calls", (unsigned)pids->ids[i]);
        return false;
    }
    return true;
}

static const char *user_name(uint32_t uid, char number[16])
{
    const struct passwd *entry = getpwuid(uid);
    snprintf(number, 16, "%u", (unsigned)uid);
    return entry ? entry->pw_name : number;
}

/* The kernel shows the executable only to users who may trace the process. */
static bool may_read_exe(pid_t pid)
{
    char path[64], name[16];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, name, sizeof name) >= 0;
}

/* Same user, but still denied. */
static void explain_refusal(const struct attach_target *target, struct buf *error)
{
    char scope[16] = "";
    if (file_read_line(NULL, YAMA, scope, sizeof scope) == OK && scope[0] != '0')
        buf_printf(error, "on this node only root and the ancestors of a process may trace it (%s is %s). Start it with "
                   "'sonde run -s' instead, attach as root, or set kernel.yama.ptrace_scope = 0", YAMA, scope);
    else if (geteuid() != 0 && !may_read_exe(target->pid))
        buf_printf(error, "permission denied: it has more privileges than you have (set-uid), or does not allow tracing. "
                   "Attach as root");
    else
        buf_printf(error, "permission denied. Another tracer may have been attached a moment ago: try again");
}

static void explain_denied(const struct attach_target *target, struct buf *error)
{
    struct attach_target now;
    char number[16];
    if (!target->tracer && attach_target_read(target->pid, &now) == OK && now.tracer)
        target = &now; /* another tracer was faster, between our check and our attempt */
    if (target->tracer)
        buf_printf(error,
                   "process %d (%s) is already traced by process %d (%s), and only one tracer is possible. End that one first",
                   (int)target->pid, target->name, (int)target->tracer, target->tracer_name);
    else if (geteuid() != 0 && target->uid != geteuid())
        buf_printf(error, "process %d (%s) belongs to user %s. Attach as that user or as root", (int)target->pid,
                   target->name,
                   user_name(target->uid, number));
    else {
        buf_printf(error, "process %d (%s) cannot be traced: ", (int)target->pid, target->name);
        explain_refusal(target, error);
    }
}

void attach_target_explain(const struct attach_target *target, enum err err, struct buf *error)
{
    if (target->is_zombie)
        buf_printf(error, "process %d (%s) has already exited; its parent has not reaped it yet", (int)target->pid,
                   target->name);
    else if (target->is_kernel)
        buf_printf(error, "process %d (%s) is a kernel thread, which makes no system calls", (int)target->pid,
                   target->name);
    else if (target->pid == getpid())
        buf_add_text(error, "sonde cannot attach to itself: give another PID");
    else if (err == GONE)
        buf_printf(error, "no such process: %d", (int)target->pid);
    else if (err == DENIED)
        explain_denied(target, error);
    else
        buf_printf(error, "cannot attach to process %d (%s): %s", (int)target->pid, target->name, err_text(err));
}
