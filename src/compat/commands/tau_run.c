/* sonde tau-run: what tau_metric_proxy_run does. Starts a command with the probes that count its MPI and system calls, tells the
 * gateway that it did, and ends as the command ended. */
#include "cli/command_start.h"
#include "compat/commands/tau_job.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/install_paths.h"
#include "base/text.h"
#include "run/launch.h"
#include "spool/probe_env.h"
#include "compat/tau/client.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MPI_PROBE "libsonde-mpi.so"
#define CALLS_PROBE "libsonde-calls.so"
#define PROXY "TAU_METRIC_PROXY"
#define INHIBIT "TAU_METRIC_PROXY_INIHIBIT_CLIENT" /* as tau spells it */
#define EXEC_NAME "tau_metric_proxy_run_total{operation=\"exec\"}"
#define TIME_NAME "tau_metric_proxy_run_total{metric=\"time\"}"
#define BAD_NAME "tau_metric_proxy_run_total{operation=\"badreturn\"}"
#define ATTACH_NAME "tau_metric_proxy_run_total{operation=\"attach\"}"
#define COMMAND_ROOM (128 << 10) /* of one variable in the environment the kernel takes no more */

struct settings {
    bool mpi, calls, verbose;
    const char *period, *socket, *pid;
};

/* Nothing shall be told: neither by us nor, as with tau where it finds no proxy, by probes. */
static bool is_inhibited(void)
{
    const char *value = getenv(INHIBIT);
    return value && strtol(value, NULL, 10) != 0;
}

/* In front of what is there already. */
static void preload(const char *name)
{
    char path[PATH_MAX];
    struct buf value;
    const char *before = getenv("LD_PRELOAD");
    if (self_find(name, path, sizeof path)) {
        log_warn("%s is not installed with this sonde: the command runs without it", name);
        return;
    }
    buf_init(&value, COMMAND_ROOM);
    buf_printf(&value, "%s%s%s", path, before && *before ? ":" : "", before ? before : "");
    if (!buf_err(&value))
        setenv("LD_PRELOAD", buf_text(&value), 1);
    buf_clear(&value);
}

/* Tau's clients tell it to the gateway, in whose profiles the command is that of the user. */
static void set_target(char *const *command)
{
    struct buf line;
    buf_init(&line, COMMAND_ROOM - 64);
    for (; *command; command++)
        buf_printf(&line, "%s%s", line.size ? " " : "", *command);
    if (!buf_err(&line))
        setenv("TAU_LAUNCHER_TARGET_CMD", buf_text(&line), 1);
    buf_clear(&line);
}

/* The one that is named; else the user's own; else the node's. What was found is for the command's programs too. */
static void connect_gateway(struct tau_client *client, const struct settings *settings)
{
    const char *named = settings->socket ? settings->socket : getenv(PROXY);
    char usual[TAU_CLIENT_PATH_MAX];
    if (is_inhibited()) {
        log_info(INHIBIT " is set: nothing is told");
        return;
    }
    if (named && *named) {
        enum err err = tau_client_connect(client, named, false);
        if (err)
            log_info("no gateway at %s: %s", named, err_text(err));
        return;
    }
    tau_client_usual_path(usual);
    enum err err = tau_client_connect(client, usual, true);
    if (err == ABSENT) {
        snprintf(usual, sizeof usual, "/tmp/tau_metric_proxy.0.unix");
        err = tau_client_connect(client, usual, true);
        if (!err)
            setenv(PROXY, usual, 1);
    }
    if (err)
        log_info("no gateway at %s: %s. The command runs without it", usual, err_text(err));
}

/* False: there is no connection any more. */
static bool count(struct tau_client *client, const char *name, const char *doc, double value)
{
    return client->fd >= 0 && !tau_client_describe(client, TAU_COUNTER, name, doc) && !tau_client_tell(client, name, value);
}

struct run {
    const struct settings *settings;
    struct tau_job job;
    struct tau_client client;
    bool is_told; /* that it began */
    uint64_t start_ns;
};

static bool tell_begin(struct run *run)
{
    if (run->client.fd < 0)
        connect_gateway(&run->client, run->settings);
    if (run->client.fd < 0 || tau_client_job(&run->client, &run->job))
        return false;
    if (!run->is_told)
        run->is_told = count(&run->client, EXEC_NAME, "Number of launch with the tau_metric_proxy_run command", 1);
    return run->is_told;
}

static bool tell_end(struct run *run, double seconds, bool is_bad)
{
    return count(&run->client, TIME_NAME, "Total seconds that commands of tau_metric_proxy_run ran", seconds)
           && (!is_bad || count(&run->client, BAD_NAME, "Number of commands that did not end with 0", 1));
}

/* A gateway that came while the command ran, also in place of one that has gone, hears of it now. */
static void finish(struct run *run, bool is_bad)
{
    double seconds = (double)(clock_monotonic_ns() - run->start_ns) / (double)NS_PER_S;
    log_set_level(0); /* who is not there was told at the beginning */
    if (!tell_end(run, seconds, is_bad) && tell_begin(run))
        tell_end(run, seconds, is_bad);
    tau_client_close(&run->client);
}

/* The command's programs may have another working folder, and their boards are known by the name of the socket. */
static void set_socket(const struct settings *settings)
{
    const char *named = settings->socket ? settings->socket : getenv(PROXY);
    char path[TAU_CLIENT_WHOLE_MAX];
    if (!named || !*named)
        return;
    tau_client_whole_path(path, named);
    setenv(PROXY, path, 1);
}

static void set_environment(const struct settings *settings, char *const *command)
{
    set_socket(settings);
    if (settings->period)
        setenv("TAU_METRIC_FREQ", settings->period, 1);
    if (settings->verbose)
        setenv("TAU_METRIC_PROXY_VERBOSE", "1", 1);
    set_target(command);
    if (is_inhibited())
        return;
    if (settings->calls) {
        preload(CALLS_PROBE);
        setenv(PROBE_ENV_CALLS, "time", 0); /* tau's -s always tells times */
    }
    if (settings->mpi)
        preload(MPI_PROBE);
}

/* All that may be sent to us, and the end of the child. */
static void passed_signals(sigset_t *set)
{
    static const int numbers[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH };
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(set, numbers[i]);
}

/* What was started in the state in which we were is waited for in one in which the kernel keeps its end for us: were SIGCHLD
 * ignored, as some daemons leave it, nobody would ever hear of it. */
static void prepare_signals(const sigset_t *set, struct signals *before)
{
    struct sigaction standard = { .sa_handler = SIG_DFL };
    sigprocmask(SIG_BLOCK, set, &before->mask_before);
    sigaction(SIGCHLD, &standard, &before->child_before);
}

/* What somebody sent us is passed on; what came from the terminal the command got itself. Returns the status of wait. */
static int wait_for(pid_t pid, const sigset_t *set)
{
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(set, &info), status = W_EXITCODE(EXIT_FAILURE, 0); /* were its end lost */
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
    struct run run = { .settings = call->settings, .client = { -1 }, .start_ns = clock_monotonic_ns() };
    struct signals before = { .fd = -1 };
    sigset_t set;
    pid_t pid;
    int error = 0;
    set_environment(call->settings, call->operands);
    tau_job_from_environment(&run.job, call->operands);
    if (*run.job.id)
        setenv("SONDE_JOB", run.job.id, 0); /* what the probes count is in the same job */
    tell_begin(&run);
    passed_signals(&set);
    prepare_signals(&set, &before);
    if (launch_start(&(struct launch){ .command = call->operands, .signals = &before }, &pid, &error)) {
        command_fail(call, "cannot run %s: %s", call->operands[0], strerror(error));
        finish(&run, true);
        return launch_status(error);
    }
    int status = wait_for(pid, &set);
    finish(&run, status != 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Ends in sonde attach. */
static int attach(const struct command_call *call, const char *pid)
{
    struct tau_client client = { -1 };
    struct command_globals globals = { .verbose = log_level() };
    char *words[] = { "--time", is_inhibited() ? "--time" : "--tell", (char *)pid, NULL };
    const struct command *command = command_find("attach");
    uint64_t number;
    if (text_parse_u64(pid, &number) != OK || number == 0 || number > INT32_MAX)
        return command_misused(call, "-S wants the number of a process, not '%s'", pid);
    if (!command)
        return command_fail(call, "this sonde cannot attach to a process that runs already");
    set_socket(call->settings);
    connect_gateway(&client, call->settings);
    if (kill((pid_t)number, 0) == 0) /* else attach says why it cannot */
        count(&client, ATTACH_NAME, "Number of processes attached to", 1);
    tau_client_close(&client);
    return command_start(command, &globals, 3, words);
}

static int tau_run_run(const struct command_call *call)
{
    const struct settings *settings = call->settings;
    log_set_level(settings->verbose);
    if (settings->pid)
        return attach(call, settings->pid);
    if (!call->count)
        return command_misused(call, "say what to run: tau_metric_proxy_run [OPTIONS] -- COMMAND");
    return run_command(call);
}

#define AT(field) .offset = offsetof(struct settings, field)
static const struct option options[] = {
    { .letter = 'm', .name = "mpi", .type = OPTION_FLAG, AT(mpi), .help = "Count MPI calls" },
    { .letter = 's', .name = "calls", .type = OPTION_FLAG, AT(calls), .help = "Count system calls" },
    { .letter = 'v', .name = "verbose", .type = OPTION_FLAG, AT(verbose), .help = "Tell more on standard error" },
    { .letter = 'F', .name = "freq", .argument = "SECONDS", .type = OPTION_TEXT, AT(period),
      .help = "How often programs of tau's library tell their values" },
    { .letter = 'u', .name = "unix", .argument = "PATH", .type = OPTION_TEXT, AT(socket), .help = "The socket of the gateway" },
    { .letter = 'S', .name = "attach", .argument = "PID", .type = OPTION_TEXT, AT(pid),
      .help = "Count the system calls of a process that runs" },
    OPTION_END,
};

static const struct command_fact environment[] = {
    { PROXY, "the socket of the gateway, where -u does not name it" },
    { INHIBIT, "1: nothing is told or counted; the command runs" },
    { 0 },
};

const struct command command_tau_run = {
    .name = "tau-run",
    .about = "run a command as tau_metric_proxy_run does",
    .usage = "[OPTIONS] -- COMMAND...",
    .description = "Runs COMMAND with the probes that are asked for, tells the gateway of it, and ends with its exit status, or "
                   "128 and the signal that ended it.",
    .options = options,
    .settings_size = sizeof(struct settings),
    .shares = COMMAND_OWN_VERBOSE,
    .operands_max = -1,
    .operand = "COMMAND",
    .first_operand_ends = true,
    .hidden = true,
    .environment = environment,
    .see_also = "run",
    .run = tau_run_run,
};
