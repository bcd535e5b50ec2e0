/* sonde tau-run: implements tau_metric_proxy_run. Starts a command with the probes that count its MPI and system calls,
 * reports its start and end to the agent, and exits like the command. */
#include "cli/command_start.h"
#include "base/install_paths.h"
#include "base/parse.h"
#include "compat/commands/tau_job.h"

#include "base/clock.h"
#include "base/log.h"
#include "run/attach.h"
#include "run/launch.h"
#include "spool/probe_env.h"
#include "compat/tau/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MPI_PROBE "libsonde-mpi.so"
#define CALLS_PROBE "libsonde-calls.so"
#define PROXY "TAU_METRIC_PROXY"
#define INHIBIT "TAU_METRIC_PROXY_INIHIBIT_CLIENT" /* tau's spelling */
#define EXEC_NAME "tau_metric_proxy_run_total{operation=\"exec\"}"
#define TIME_NAME "tau_metric_proxy_run_total{metric=\"time\"}"
#define BAD_NAME "tau_metric_proxy_run_total{operation=\"badreturn\"}"
#define ATTACH_NAME "tau_metric_proxy_run_total{operation=\"attach\"}"
#define ERROR_MAX 1024
#define COMMAND_MAX (128 << 10) /* the kernel's limit for one environment variable (MAX_ARG_STRLEN) */

struct tau_run_options {
    bool mpi, calls, verbose;
    const char *period, *socket, *pid;
};

/* Publish nothing, neither ourselves nor, as with tau when it finds no proxy, through the probes. */
static bool is_inhibited(void)
{
    const char *value = getenv(INHIBIT);
    return value && strtol(value, NULL, 10) != 0;
}

/* Prepends to what is already preloaded. */
static void preload(const char *name)
{
    char path[PATH_MAX];
    struct buf value;
    const char *before = getenv("LD_PRELOAD");
    if (install_paths_find(name, path, sizeof path)) {
        log_warn("%s is not installed; the command runs without it", name);
        return;
    }
    buf_init(&value, COMMAND_MAX);
    buf_printf(&value, "%s%s%s", path, before && *before ? ":" : "", before ? before : "");
    if (!buf_err(&value))
        setenv("LD_PRELOAD", buf_text(&value), 1);
    buf_clear(&value);
}

/* tau's clients send it to the agent, whose profiles then show the user's command. */
static void set_target(char *const *command)
{
    struct buf line;
    buf_init(&line, COMMAND_MAX - 64);
    for (; *command; command++)
        buf_printf(&line, "%s%s", line.size ? " " : "", *command);
    if (!buf_err(&line))
        setenv("TAU_LAUNCHER_TARGET_CMD", buf_text(&line), 1);
    buf_clear(&line);
}

/* The given socket, else the user's own, else the node's. The command's programs use the same one. */
static void connect_agent(struct tau_client *client, const struct tau_run_options *settings)
{
    const char *named = settings->socket ? settings->socket : getenv(PROXY);
    char default_path[TAU_CLIENT_PATH_MAX];
    if (is_inhibited()) {
        log_info(INHIBIT " is set: nothing is published");
        return;
    }
    if (named && *named) {
        enum err err = tau_client_connect(client, named, false);
        if (err)
            log_info("no agent at %s: %s", named, err_text(err));
        return;
    }
    tau_client_default_path(default_path);
    enum err err = tau_client_connect(client, default_path, true);
    if (err == ABSENT) {
        snprintf(default_path, sizeof default_path, "/tmp/tau_metric_proxy.0.unix");
        err = tau_client_connect(client, default_path, true);
        if (!err)
            setenv(PROXY, default_path, 1);
    }
    if (err)
        log_info("no agent at %s: %s. The command runs without it", default_path, err_text(err));
}

/* False: the connection is lost. */
static bool count(struct tau_client *client, const char *name, const char *doc, double value)
{
    return client->fd >= 0 && !tau_client_describe(client, TAU_COUNTER, name, doc) && !tau_client_send_value(client, name, value);
}

struct tau_run {
    const struct tau_run_options *settings;
    struct tau_job job;
    struct tau_client client;
    bool is_begin_reported; /* its start was reported */
    uint64_t start_ns;
};

static bool report_begin(struct tau_run *run)
{
    if (run->client.fd < 0)
        connect_agent(&run->client, run->settings);
    if (run->client.fd < 0 || tau_client_job(&run->client, &run->job))
        return false;
    if (!run->is_begin_reported)
        run->is_begin_reported = count(&run->client, EXEC_NAME, "Number of launch with the tau_metric_proxy_run command", 1);
    return run->is_begin_reported;
}

static bool report_end(struct tau_run *run, double seconds, bool is_bad)
{
    return count(&run->client, TIME_NAME, "Total seconds that commands of tau_metric_proxy_run ran", seconds)
           && (!is_bad || count(&run->client, BAD_NAME, "Number of commands that did not end with 0", 1));
}

/* An agent that started, or restarted, while the command ran gets both reports now. */
static void finish(struct tau_run *run, bool is_bad)
{
    double seconds = (double)(clock_monotonic_ns() - run->start_ns) / (double)NS_PER_S;
    log_set_level(0); /* a missing agent was logged at the start */
    if (!report_end(run, seconds, is_bad) && report_begin(run))
        report_end(run, seconds, is_bad);
    tau_client_close(&run->client);
}

/* The command's programs may have another working directory, and metrics segments are named after the socket. */
static void set_socket(const struct tau_run_options *settings)
{
    const char *named = settings->socket ? settings->socket : getenv(PROXY);
    char path[TAU_CLIENT_RESOLVED_MAX];
    if (!named || !*named)
        return;
    tau_client_resolve_path(path, named);
    setenv(PROXY, path, 1);
}

static void set_environment(const struct tau_run_options *settings, char *const *command)
{
    set_socket(settings);
    if (settings->period)
        setenv("TAU_METRIC_FREQ", settings->period, 1);
    if (settings->verbose)
        setenv("TAU_METRIC_PROXY_VERBOSE", "1", 1);
    set_target(command);
    if (is_inhibited())
        return;
    if (settings->mpi)
        preload(MPI_PROBE);
}

/* --- system calls: as sonde attach counts them, in the kernel or with ptrace, in a process of our own --- */

struct counting {
    pid_t pid;             /* of the process that counts; 0: none */
    int pid_fds[2];        /* the command's process sends its pid, before exec, */
    int ready_fds[2];      /* ... and waits until it is counted */
};

static bool is_timed(void)
{
    const char *calls = getenv(PROBE_ENV_CALLS); /* tau's -s always measures times */
    return !calls || strcmp(calls, "count") != 0;
}

/* Exits when the command and its descendants have, or on SIGTERM. */
static void count_calls(const struct counting *counting)
{
    struct attach_settings settings = {
        .timed = is_timed(), .publishes = true, .is_not_recorded = true, .period_ns = NS_PER_S / 10,
        .ready_fd = counting->ready_fds[1],
    };
    struct attach_result result;
    struct buf error;
    setpgid(0, 0); /* Ctrl-C is for the command */
    close(counting->pid_fds[1]);
    buf_init(&error, ERROR_MAX);
    if (read(counting->pid_fds[0], &settings.pid, sizeof settings.pid) != (ssize_t)sizeof settings.pid)
        _exit(EXIT_FAILURE);
    if (attach_run(&settings, &result, &error))
        log_warn("cannot count system calls in the kernel or with ptrace: %s", buf_text(&error));
    _exit(EXIT_SUCCESS);
}

static void close_counting(struct counting *counting)
{
    for (int i = 0; i < 2; i++) {
        close(counting->pid_fds[i]);
        close(counting->ready_fds[i]);
    }
}

static void start_counting(struct counting *counting)
{
    if (pipe2(counting->pid_fds, O_CLOEXEC) || pipe2(counting->ready_fds, O_CLOEXEC)) {
        log_warn("system calls are not counted: %s", strerror(errno));
        return;
    }
    counting->pid = fork();
    if (counting->pid == 0)
        count_calls(counting);
}

/* Attempts of exec to find it in PATH would be counted as calls of the command. NULL: let exec report what is wrong. */
static const char *find_executable(const char *command, char path[PATH_MAX])
{
    const char *at = strchr(command, '/') ? NULL : getenv("PATH");
    while (at) {
        size_t size = strcspn(at, ":");
        int all = snprintf(path, PATH_MAX, "%.*s/%s", size ? (int)size : 1, size ? at : ".", command);
        struct stat st;
        if (all < PATH_MAX && access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
            return path;
        at = at[size] ? at + size + 1 : NULL;
    }
    return NULL;
}

/* In the process that becomes the command. */
static void wait_for_counting(void *context)
{
    struct counting *counting = context;
    pid_t pid = getpid();
    char ready = 0;
    close(counting->ready_fds[1]);
    prctl(PR_SET_PTRACER, (unsigned long)counting->pid, 0, 0, 0);
    if (write(counting->pid_fds[1], &pid, sizeof pid) == (ssize_t)sizeof pid && read(counting->ready_fds[0], &ready, 1) == 1)
        return;
    log_warn("system calls are counted only where programs call them through libc, and not those of libc itself");
    preload(CALLS_PROBE);
    setenv(PROBE_ENV_CALLS, "time", 0);
}

/* What was counted is complete when this returns. */
static void finish_counting(struct counting *counting)
{
    if (counting->pid <= 0)
        return;
    kill(counting->pid, SIGTERM);
    while (waitpid(counting->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* All signals that may be sent to us, and SIGCHLD. */
static void passed_signals(sigset_t *set)
{
    static const int numbers[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH };
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(set, numbers[i]);
}

/* The command is started with the signal state we inherited, but waited for with SIGCHLD at its default: if it were
 * ignored, as some daemons leave it, the kernel would discard the exit status. */
static void prepare_signals(const sigset_t *set, struct signals *before)
{
    struct sigaction standard = { .sa_handler = SIG_DFL };
    sigprocmask(SIG_BLOCK, set, &before->mask_before);
    sigaction(SIGCHLD, &standard, &before->child_before);
}

/* Passes on signals sent to us; those from the terminal reach the command directly. Returns the wait status. */
static int wait_for(pid_t pid, const sigset_t *set)
{
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(set, &info), status = W_EXITCODE(EXIT_FAILURE, 0); /* if the exit status is lost */
        if (number == SIGCHLD) {
            if (waitpid(pid, &status, WNOHANG) != 0)
                return status;
        } else if (number > 0 && info.si_code <= 0) {
            kill(pid, number);
        } else if (number < 0 && errno != EINTR) {
            waitpid(pid, &status, 0);
            return status;
        }
    }
}

static int run_command(const struct command_call *call)
{
    struct tau_run run = { .settings = call->settings, .client = { -1 }, .start_ns = clock_monotonic_ns() };
    struct signals before = { .fd = -1 };
    struct counting counting = { 0 };
    char path[PATH_MAX];
    sigset_t set;
    pid_t pid;
    int error = 0;
    set_environment(call->settings, call->operands);
    tau_job_from_environment(&run.job, call->operands);
    if (*run.job.id)
        setenv("SONDE_JOB", run.job.id, 0); /* so that the probes count for the same job */
    report_begin(&run);
    passed_signals(&set);
    prepare_signals(&set, &before);
    if (run.settings->calls && !is_inhibited())
        start_counting(&counting);
    struct launch launch = { .command = call->operands, .signals = &before, .context = &counting };
    if (counting.pid > 0) {
        launch.before_exec = wait_for_counting;
        launch.file = find_executable(call->operands[0], path);
    }
    enum err err = launch_start(&launch, &pid, &error);
    if (counting.pid > 0)
        close_counting(&counting);
    if (err) {
        finish_counting(&counting);
        command_fail(call, "cannot run %s: %s", call->operands[0], strerror(error));
        finish(&run, true);
        return launch_status(error);
    }
    int status = wait_for(pid, &set);
    finish_counting(&counting);
    finish(&run, status != 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Continues as sonde attach. */
static int attach(const struct command_call *call, const char *pid)
{
    struct tau_client client = { -1 };
    struct command_globals globals = { .verbose = log_level() };
    char *args[] = { "--time", is_inhibited() ? "--time" : "--tell", (char *)pid, NULL };
    const struct command *command = command_find("attach");
    uint64_t number;
    if (parse_u64(pid, &number) != OK || number == 0 || number > INT32_MAX)
        return command_usage_error(call, "invalid PID '%s'", pid);
    if (!command)
        return command_fail(call, "this build of sonde cannot attach to a running process");
    set_socket(call->settings);
    connect_agent(&client, call->settings);
    if (kill((pid_t)number, 0) == 0) /* otherwise attach prints the error */
        count(&client, ATTACH_NAME, "Number of processes attached to", 1);
    tau_client_close(&client);
    return command_start(command, &globals, 3, args);
}

static int tau_run_run(const struct command_call *call)
{
    const struct tau_run_options *settings = call->settings;
    log_set_level(settings->verbose);
    if (settings->pid)
        return attach(call, settings->pid);
    if (!call->count)
        return command_usage_error(call, "missing COMMAND: tau_metric_proxy_run [OPTIONS] -- COMMAND");
    return run_command(call);
}

#define AT(field) .offset = offsetof(struct tau_run_options, field)
static const struct option options[] = {
    { .letter = 'm', .name = "mpi", .type = OPTION_FLAG, AT(mpi), .help = "Count MPI calls" },
    { .letter = 's', .name = "calls", .type = OPTION_FLAG, AT(calls), .help = "Count system calls" },
    { .letter = 'v', .name = "verbose", .type = OPTION_FLAG, AT(verbose), .help = "Print more details on standard error" },
    { .letter = 'F', .name = "freq", .argument = "SECONDS", .type = OPTION_TEXT, AT(period),
      .help = "Interval at which programs with tau's library send their values" },
    { .letter = 'u', .name = "unix", .argument = "PATH", .type = OPTION_TEXT, AT(socket), .help = "Socket of the agent" },
    { .letter = 'S', .name = "attach", .argument = "PID", .type = OPTION_TEXT, AT(pid),
      .help = "Count the system calls of a running process" },
    OPTION_END,
};

static const struct command_fact environment[] = {
    { PROXY, "socket of the agent, if -u is not given" },
    { INHIBIT, "1: publish and count nothing; only run the command" },
    { 0 },
};

const struct command command_tau_run = {
    .name = "tau-run",
    .about = "run a command as tau_metric_proxy_run does",
    .usage = "[OPTIONS] -- COMMAND...",
    .description = "Runs COMMAND with the requested probes, reports it to the agent, and exits with its exit status, or with "
                   "128 plus the number of the signal that terminated it.",
    .options = options,
    .settings_size = sizeof(struct tau_run_options),
    .shares = COMMAND_OWN_VERBOSE,
    .operands_max = -1,
    .operand = "COMMAND",
    .first_operand_ends = true,
    .hidden = true,
    .environment = environment,
    .see_also = "run",
    .run = tau_run_run,
};
