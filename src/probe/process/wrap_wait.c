/* The wait family: the one place where the kernel reports the total CPU usage of a child, so each reaped child gives
 * a record. All calls go to libc's wait4 with a struct rusage, which preserves results, errno and cancellation. */
#include "probe/process/probe.h"

#include <signal.h>
#include <sys/wait.h>

/* Not written before a wait unless there are other threads: until the child execs, it shares the page, and copying
 * it costs 3 us. Only another thread could see the value. */
static _Atomic unsigned waiting, reaped;

unsigned wait_reaped(void)
{
    return reaped;
}

bool wait_in_flight(void)
{
    return waiting;
}

static bool wait_begin(void)
{
    bool is_seen = threads_made();
    if (is_seen)
        waiting++;
    return is_seen;
}

static void wait_end(bool is_seen)
{
    if (is_seen)
        waiting--;
}

void wait_emit(pid_t pid, int status, const struct rusage *usage, bool memory_known)
{
    uint8_t frame[EMIT_BOUND(1)];
    struct wait_record record = {
        .waiter = (uint64_t)sys_getpid(),
        .pid = (uint64_t)pid,
        .time_ns = probe_now_ns(),
        .status = (uint64_t)status,
    };
    reaped++;
    read_usage_from(&record.usage, usage);
    if (!memory_known)
        record.usage.known &= ~(1ull << COUNTER_rssmax);
    struct packer packer = emit_begin(frame, sizeof frame);
    record_pack_wait(&packer, &record);
    emit_later(frame, &packer, RECORD_KIND_wait);
}

static pid_t wait_recorded(pid_t pid, int *status, int options, struct rusage *usage)
{
    int own_status;
    struct rusage own_usage;
    status = status ? status : &own_status;
    usage = usage ? usage : &own_usage;
    bool is_seen = wait_begin();
    pid_t result = NEXT(wait4)(pid, status, options, usage);
    if (result > 0 && (WIFEXITED(*status) || WIFSIGNALED(*status)))
        wait_emit(result, *status, usage, true);
    wait_end(is_seen);
    return result;
}

static pid_t wait_any(pid_t pid, int *status, int options, struct rusage *usage)
{
    return probe_is_active() ? wait_recorded(pid, status, options, usage) : NEXT(wait4)(pid, status, options, usage);
}

PROBE_EXPORT pid_t wait(int *status)
{
    return wait_any(-1, status, 0, NULL);
}

PROBE_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
    return wait_any(pid, status, options, NULL);
}

PROBE_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
    return wait_any(-1, status, options, usage);
}

PROBE_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    return wait_any(pid, status, options, usage);
}

/* The status as wait4 reports it. */
static int status_of(const siginfo_t *info)
{
    switch (info->si_code) {
    case CLD_EXITED: return (info->si_status & 0xff) << 8;
    case CLD_DUMPED: return (info->si_status & 0x7f) | WCOREFLAG;
    default: return info->si_status & 0x7f;
    }
}

static bool has_ended(const siginfo_t *info)
{
    return info->si_pid != 0 &&
           (info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED);
}

/* libc's waitid does not return usage: make the system call directly, as a cancellation point in the same way as
 * libc. */
static long waitid_call(idtype_t type, id_t id, siginfo_t *info, int options, struct rusage *usage)
{
    int type_before;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type_before);
    long result = sys5(SYS_waitid, type, id, info, options, usage);
    pthread_setcanceltype(type_before, &type_before);
    return result;
}

PROBE_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    siginfo_t own_info;
    struct rusage usage;
    info = info ? info : &own_info;
    bool is_seen = wait_begin();
    long result = waitid_call(type, id, info, options, &usage);
    if (result == 0 && probe_is_active() && !(options & WNOWAIT) && has_ended(info))
        wait_emit(info->si_pid, status_of(info), &usage, true);
    wait_end(is_seen);
    if (result == 0)
        return 0;
    errno = (int)-result;
    return -1;
}
