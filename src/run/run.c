/* sonde run from start to end: creates the spool, opens the data sources, starts the command, runs the loop, writes
 * the last records. */
#include "run/run.h"

#include "base/clock.h"
#include "base/install_paths.h"
#include "base/log.h"
#include "appmetrics/segment_format.h"
#include "model/process.h"
#include "proc/delay_accounting.h"
#include "run/nested_run.h"
#include "run/launch.h"
#include "run/survivors.h"
#include "run/run_record.h"
#include "run/agent_notify.h"
#include "run/monitor.h"
#include "spool/probe_env.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS_TEXT_MAX 8192
#define ARGS_MAX (8 << 20)

/* One per process, because run_monitor_survivors continues where run_command left off. */
static struct monitor monitor;

/* What is needed until the command runs. */
struct preparation {
    struct perf_event_spec specs[PROCESS_EVENTS_MAX];
    size_t spec_count;
    struct buf events; /* for the probe's environment */
    char probe[PATH_MAX], mpi_probe[PATH_MAX], calls_probe[PATH_MAX];
    char flags[64];
    struct launch_limits raised;
    struct job_id job;
    struct limits limits;
    struct tracer_launch launch; /* until ticks takes it over */
    struct perf_command command;
};

static void prepare_perf(struct preparation *preparation, const struct run_settings *settings)
{
    if (!preparation->spec_count || settings->no_probe)
        return;
    enum err err = perf_counts_open(&monitor.perf, monitor.spool.dir, preparation->spec_count, &monitor.writer);
    if (err)
        log_warn("cannot count perf events: cannot create a socket in %s: %s", monitor.spool.dir, err_text(err));
    else
        perf_counts_describe(preparation->specs, preparation->spec_count, &preparation->events);
}

/* The inode of our pid namespace, and our pid in it. */
static void add_namespace_flag(char *flags, size_t capacity)
{
    struct stat st;
    char holder[16] = "";
    if (monitor.spool.is_locked)
        snprintf(holder, sizeof holder, "%c%u", PROBE_FLAG_LOCK_HOLDER, (unsigned)getpid());
    if (stat("/proc/self/ns/pid", &st) == 0)
        snprintf(flags, capacity, "%c%ju%s", PROBE_FLAG_NAMESPACE, (uintmax_t)st.st_ino, holder);
}

/* Only together with the process probe: its path is known to be suitable for LD_PRELOAD, and this one is in the same
 * directory. */
static void prepare_mpi(struct preparation *preparation)
{
    if (!preparation->probe[0]
        || install_paths_find(PROBE_LIBRARY_MPI, preparation->mpi_probe, sizeof preparation->mpi_probe) == OK)
        return;
    preparation->mpi_probe[0] = '\0';
    log_warn("MPI calls are not counted: libsonde-mpi.so is neither next to the sonde executable nor in its library directory. "
             "It is built if the headers of OpenMPI or MPICH are installed.");
}

static void prepare_probe(struct preparation *preparation, const struct run_settings *settings)
{
    char *flag = preparation->flags;
    if (settings->no_probe)
        return;
    if (install_paths_find(PROBE_LIBRARY, preparation->probe, sizeof preparation->probe) != OK) {
        preparation->probe[0] = '\0';
        log_warn("libsonde-process.so is neither next to the sonde executable nor in its library directory: recording kernel "
                 "data only. Install it there, or use --no-probe.");
    } else if (strpbrk(preparation->probe, " :")) {
        log_warn("cannot load the probe from %s: the path has a blank or a colon. Install Sonde elsewhere.",
                 preparation->probe);
        preparation->probe[0] = '\0';
    }
    if (settings->mpi)
        prepare_mpi(preparation);
    if (preparation->probe[0])
        proc_events_expect_probe(&monitor.events, monitor.spool.notices);
    if (monitor.events.unprobed.notices_fd >= 0)
        *flag++ = PROBE_FLAG_NOTICES;
    if (monitor.events.exits.fd >= 0)
        *flag++ = PROBE_FLAG_TASKSTATS;
    /* even if taskstats is not available to us: the probe reads it itself */
    if (delay_accounting_read("") == DELAY_ACCOUNTING_ON)
        *flag++ = PROBE_FLAG_DELAYS;
    if (preparation->launch.page || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER)
        *flag++ = PROBE_FLAG_SECCOMP;
    if (monitor.events.forks.fd >= 0)
        add_namespace_flag(flag, (size_t)(preparation->flags + sizeof preparation->flags - flag));
}

/* False: the command is not monitored, and the user has been told why. */
static bool create_spool(const struct run_settings *settings, const struct run_record_facts *facts,
                       const struct preparation *preparation)
{
    char path[PATH_MAX];
    enum err err = spool_dir_create(&monitor.spool, settings->out_dir, facts->run_id, path);
    if (err) {
        log_warn("cannot create the spool in %s: %s. The command is not monitored; to monitor it, %s.", path,
                 spool_dir_reason(err),
                 spool_dir_fix(err));
        return false;
    }
    spool_writer_init_take(&monitor.writer, monitor.spool.fd);
    monitor.spool.fd = -1;
    spool_io_begin(&monitor.spool_io);
    run_record_write(&monitor.writer, settings, facts, preparation->specs, preparation->spec_count);
    spool_writer_flush(&monitor.writer);
    if (monitor.writer.lost) {
        log_warn("cannot write the spool in %s: no space left. The command is not monitored; to monitor it, choose another "
                 "directory with -o DIR.", monitor.spool.dir);
        spool_writer_close(&monitor.writer);
        spool_dir_remove(&monitor.spool);
        return false;
    }
    return true;
}

static void read_spool_io(void *unused, struct sampler_probe_io *own)
{
    (void)unused;
    spool_io_read(&monitor.spool_io, &monitor.writer, own);
}

static bool next_alive(void *unused, size_t *at, uint32_t *pid)
{
    (void)unused;
    for (const struct run_member *member; (member = members_next(&monitor.events.members, at));)
        if (member->threads) {
            *pid = member->pid;
            return true;
        }
    return false;
}

static void prepare_ticks(const struct run_settings *settings)
{
    static struct sampler_context context;
    context = (struct sampler_context){
        .root = settings->root ? settings->root : "", .pid = getpid(), .helper = monitor.signals.sentinel.pid,
        .tracer = (pid_t)monitor.events.tracer, .is_brief = true,
        .probe_io = read_spool_io, .next_process = next_alive,
    };
    enum err err = ticks_open(&monitor.ticks, &context, settings->period_ns, &monitor.writer);
    if (err)
        log_warn("cannot sample the timeline: %s", err_text(err));
}

static void add_flag(struct preparation *preparation, char flag)
{
    size_t size = strlen(preparation->flags);
    if (size + 1 < sizeof preparation->flags)
        preparation->flags[size] = flag;
}

/* Without /dev/shm, program metrics are not recorded; nothing else changes. */
static void prepare_segments(struct preparation *preparation)
{
    if (monitor.ticks.fd < 0 || !preparation->probe[0])
        return;
    enum err err = run_segments_open(&monitor.ticks.segments, monitor.spool.spool);
    if (!err && monitor.events.exits.fd < 0)
        add_flag(preparation, PROBE_FLAG_BATCHES);
    if (err)
        log_info("program metrics are not recorded: cannot create a directory in " SEGMENT_DIR ": %s", err_text(err));
}

/* Before our children are listed: the tracer does not belong to the job. */
static void prepare_tracer(struct preparation *preparation, const struct run_settings *settings)
{
    if (!settings->calls || !settings->wants_ptrace)
        return;
    enum err err = tracer_launch_open(&preparation->launch, settings->calls == RUN_SYSCALLS_TIME);
    if (err)
        log_warn("cannot count with ptrace: tracing our own child failed: %s. Check kernel.yama.ptrace_scope, or the rules of "
                 "the container. System calls are counted as without --ptrace.", err_text(err));
}

/* The ticks read its counts. */
static void pass_tracer_to_ticks(struct preparation *preparation)
{
    if (monitor.ticks.fd >= 0)
        monitor.ticks.calls.launch = preparation->launch;
    else
        tracer_launch_close(&preparation->launch);
    preparation->launch = (struct tracer_launch){ .request_fd = -1 };
}

/* If neither eBPF nor the agent count, libsonde-calls.so counts inside the programs. */
static enum err prepare_calls_probe(struct preparation *preparation)
{
    enum err err = ABSENT;
    if (preparation->probe[0] && run_segments_dir(&monitor.ticks.segments))
        err = install_paths_find(PROBE_LIBRARY_CALLS, preparation->calls_probe, sizeof preparation->calls_probe);
    if (err)
        preparation->calls_probe[0] = '\0';
    return err;
}

/* A warning only if the agent would have counted everything, but does not respond. */
static void log_calls_probe(enum err err, const char *reason)
{
    static const char text[] = "counting only system calls made through libc: %s";
    if (err == AGAIN)
        log_warn(text, reason);
    else
        log_info(text, reason);
}

/* Last: processes that we start before do not belong to the command. */
static void prepare_calls(struct preparation *preparation, const struct run_settings *settings)
{
    char reason[RUN_SYSCALLS_ERROR_MAX] = "requested with --libc";
    if (!settings->calls || monitor.ticks.fd < 0 || monitor.ticks.calls.launch.page)
        return;
    enum err err = DENIED;
    if (!settings->wants_libc)
        err = run_syscalls_open(&monitor.ticks.calls, settings->calls, &preparation->job, &preparation->limits, reason);
    if (!err) {
        ticks_record_syscall_way(&monitor.ticks, SYSCALL_WAY_KERNEL);
    } else if (prepare_calls_probe(preparation) == OK) {
        ticks_record_syscall_way(&monitor.ticks, SYSCALL_WAY_LIBC);
        log_calls_probe(err, reason);
    } else {
        log_warn("cannot count system calls: %s",
                 settings->wants_libc ? "libsonde-calls.so was not found, or cannot use " SEGMENT_DIR : reason);
    }
}

static void prepare(struct preparation *preparation, const struct run_settings *settings)
{
    struct run_record_facts facts;
    buf_init(&preparation->events, EVENTS_TEXT_MAX);
    run_record_facts(&facts, settings);
    preparation->job = facts.job;
    preparation->limits = facts.limits;
    if (settings->events && !settings->no_probe)
        preparation->spec_count = perf_resolve(settings->events, preparation->specs, PROCESS_EVENTS_MAX);
    if (!create_spool(settings, &facts, preparation))
        return;
    prepare_perf(preparation, settings);
    prepare_tracer(preparation, settings);
    proc_events_open(&monitor.events, settings->root, &monitor.writer, &monitor.perf);
    monitor.events.other = (uint32_t)monitor.signals.sentinel.pid;
    monitor.events.tracer = (uint32_t)preparation->launch.tracer;
    prepare_probe(preparation, settings);
    prepare_ticks(settings);
    pass_tracer_to_ticks(preparation);
    prepare_segments(preparation);
    prepare_calls(preparation, settings);
    ticks_sample_first(&monitor.ticks); /* the node's counters before the command */
}

static bool in_job(void *context, pid_t pid)
{
    return proc_events_has(context, (uint32_t)pid);
}

/* Last, after all other flags. */
static void prepare_command(struct preparation *preparation, uint64_t start_ns)
{
    size_t size = strlen(preparation->flags);
    preparation->command = (struct perf_command){ preparation->specs, preparation->spec_count, monitor.perf.path, start_ns };
    if (monitor.perf.fd >= 0)
        snprintf(preparation->flags + size, sizeof preparation->flags - size, PERF_COMMAND_FLAG);
}

static enum err start(const struct preparation *preparation, const struct run_settings *settings, int *error)
{
    struct launch_probe probe = {
        .library = preparation->probe,
        .extra = { preparation->mpi_probe, preparation->calls_probe },
        .calls = preparation->calls_probe[0] && settings->calls == RUN_SYSCALLS_TIME ? "time" : NULL,
        .spool = monitor.spool.spool,
        .flags = preparation->flags,
        .segments = run_segments_dir(&monitor.ticks.segments),
        .events = monitor.perf.fd >= 0 ? buf_text(&preparation->events) : NULL,
        .socket = monitor.perf.fd >= 0 ? monitor.perf.path : NULL,
    };
    struct launch launch = {
        .command = settings->command,
        .probe = preparation->probe[0] && monitor.writer.fd != SPOOL_WRITER_NONE ? &probe : NULL,
        .signals = &monitor.signals,
        .limits = &preparation->raised,
        .tracer_launch = monitor.ticks.calls.launch.page ? &monitor.ticks.calls.launch : NULL,
        .perf = monitor.perf.fd >= 0 ? &preparation->command : NULL,
    };
    getrusage(RUSAGE_CHILDREN, &monitor.children_before);
    enum err err = launch_start(&launch, &monitor.command, error);
    if (err == AGAIN && monitor.signals.sentinel.pid) {
        pgrp_sentinel_end(&monitor.signals.sentinel); /* the command needs the process more */
        getrusage(RUSAGE_CHILDREN, &monitor.children_before);
        err = launch_start(&launch, &monitor.command, error);
    }
    run_syscalls_started(&monitor.ticks.calls);
    if (!err && launch.tracer_launch && run_syscalls_log_tracer(&monitor.ticks.calls))
        ticks_record_syscall_way(&monitor.ticks, SYSCALL_WAY_PTRACE);
    return err;
}

/* Nothing ran, so there is nothing to save. */
static void discard(void)
{
    perf_counts_close(&monitor.perf);
    spool_writer_close(&monitor.writer);
    spool_dir_remove(&monitor.spool);
}

/* As if the command had received the signal. */
static void end_early(int signal)
{
    discard();
    monitor_close(&monitor);
    run_exit_like(signal);
}

/* Message and exit status as in a shell. */
static void explain_failure(const struct run_settings *settings, struct run_result *result, int error)
{
    log_error("%s: %s", settings->command[0], error == ENOENT && !strchr(settings->command[0], '/')
              ? "command not found" : strerror(error));
    result->status = launch_status(error) << 8;
}

/* We cannot create a process or descriptor besides the command's, or a system call we need is forbidden: exec the
 * command in this process, without monitoring. Returns the errno if that fails. */
static int run_unmonitored(const struct preparation *preparation, const struct run_settings *settings, enum err err,
                            int error)
{
    bool forbidden = err == DENIED || err == ABSENT;
    struct launch launch = {
        .command = settings->command, .signals = &monitor.signals, .limits = &preparation->raised,
    };
    monitor_close(&monitor);
    prctl(PR_SET_CHILD_SUBREAPER, 0L); /* it survives exec, and the command would inherit orphans */
    log_warn("cannot monitor: %s. The command is not monitored; check %s.", error ? strerror(error) : err_text(err),
             forbidden ? "the system calls that this container or service allows: signalfd4, epoll_create1, epoll_ctl"
                       : "'ulimit -u' and 'ulimit -n'");
    launch_exec_in_place(&launch, &error);
    return error;
}

/* If the command is static, no probe will record it. The path is valid only if it still is what we started: it may
 * have called exec. */
static void record_command(const struct run_settings *settings, uint64_t start_ns)
{
    struct proc_snapshot snapshot = { 0 };
    struct buf args;
    if (monitor.writer.fd == SPOOL_WRITER_NONE)
        return;
    buf_init(&args, ARGS_MAX);
    for (char *const *arg = settings->command; *arg; arg++)
        buf_add(&args, *arg, strlen(*arg) + 1);
    proc_snapshot_read(&monitor.events.proc, (uint32_t)monitor.command, UINT32_MAX, &snapshot);
    spool_writer_add_spawn(&monitor.writer, &(struct spawn_record){
        .pid = (uint64_t)monitor.command, .ppid = (uint64_t)getpid(), .time_ns = start_ns,
        .path = bytes_equal(snapshot.args, (struct bytes){ args.data, args.size }) ? snapshot.path : (struct bytes){ 0 },
        .args = { args.data, args.size },
    });
    spool_writer_flush(&monitor.writer);
    buf_clear(&args);
}

static void monitor_command(const struct run_settings *settings, struct run_result *result)
{
    monitor.wait_all = settings->wait_all;
    monitor.signals.command = monitor.command;
    monitor.signals.in_job = in_job;
    monitor.signals.context = &monitor.events;
    monitor_until_end(&monitor);
    uint32_t running = monitor_finish(&monitor);
    result->running = monitor.signals.quit ? 0 : running; /* we were asked to end: do not stay for them */
    result->status = monitor.status;
    result->is_recorded = monitor.writer.fd != SPOOL_WRITER_NONE;
    if (result->is_recorded)
        snprintf(result->spool, sizeof result->spool, "%s", monitor.spool.spool);
}

void run_command(const struct run_settings *settings, struct run_result *result)
{
    struct preparation preparation = { 0 };
    int error = 0;
    *result = (struct run_result){ 0 };
    if (!settings->separately && nested_run_is_recorded(settings)) {
        launch_exec_in_place(&(struct launch){ .command = settings->command }, &error);
        explain_failure(settings, result, error);
        return;
    }
    monitor = (struct monitor){
        .epoll_fd = -1, .ticks.fd = -1, .writer.fd = SPOOL_WRITER_NONE, .perf.fd = -1, .spool.fd = -1,
        .events = { .execs.fd = -1, .forks.fd = -1, .exits.fd = -1, .proc.proc_fd = -1, .unprobed.notices_fd = -1 },
    };
    launch_raise_limits(&preparation.raised);
    enum err err = signals_open(&monitor.signals);
    prctl(PR_SET_CHILD_SUBREAPER, 1L);
    if (!err) {
        prepare(&preparation, settings);
        err = monitor_open(&monitor);
    }
    uint64_t start_ns = clock_realtime_ns();
    int early = signals_early();
    if (early)
        end_early(early);
    bool is_ready = !err;
    prepare_command(&preparation, start_ns);
    if (is_ready)
        err = start(&preparation, settings, &error);
    if (!err) {
        record_command(settings, start_ns);
        agent_notify_begin(&preparation.job, &preparation.limits, start_ns);
        monitor_command(settings, result);
    } else {
        discard();
        if (!is_ready || (err != ABSENT && err != DENIED)) /* else the command itself is at fault */
            error = run_unmonitored(&preparation, settings, err, error);
        explain_failure(settings, result, error);
    }
    buf_clear(&preparation.events);
    if (!result->running) {
        agent_notify_end();
        monitor_close(&monitor);
    }
}

bool run_monitor_survivors(const struct run_result *result)
{
    if (!result->running || !result->is_recorded)
        return false;
    monitor_reap(&monitor); /* reap those that ended meanwhile, while we are still their parent */
    spool_writer_flush(&monitor.writer);
    pid_t pid = fork();
    if (pid < 0)
        monitor_close(&monitor);
    if (pid != 0) {
        signals_close(&monitor.signals); /* everything else belongs to the child now */
        return false;
    }
    survivors_monitor(&monitor);
    monitor_close(&monitor);
    return true;
}

void run_exit_like(int status)
{
    if (!WIFSIGNALED(status))
        exit(WEXITSTATUS(status));
    int signal = WTERMSIG(status);
    struct sigaction standard = { .sa_handler = SIG_DFL };
    sigset_t one;
    fflush(NULL);
    prctl(PR_SET_DUMPABLE, 0L); /* a core file of sonde would be mistaken for one of the command */
    sigaction(signal, &standard, NULL);
    kill(getpid(), signal);
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + signal);
}
