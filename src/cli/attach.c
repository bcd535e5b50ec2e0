/* sonde attach: records the system calls of a running process, prints a summary and saves it. */
#include "cli/command_save.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "report/syscall_table.h"
#include "run/attach.h"

#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX (1 << 20)
#define ERROR_MAX 2048

struct attach_options {
    const char *name, *job_id, *out_dir;
    uint64_t duration_ns, period_ns;
    bool calls, timed, wants_ptrace, publishes, quiet;
};

static void log_outcome(const struct attach_result *result)
{
    int status = result->status;
    if (result->has_status && WIFSIGNALED(status))
        log_info("process %d was terminated by signal %d (%s)", (int)result->pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (result->has_status)
        log_info("process %d exited with status %d", (int)result->pid, WEXITSTATUS(status));
    else if (result->ended)
        log_info("process %d exited", (int)result->pid);
    else
        log_info("detached from process %d, which continues to run", (int)result->pid);
}

static int print_calls(const struct command_call *call, const struct attach_result *result)
{
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    enum err err = syscall_table_print(&result->counts, result->monitored_ns, &out, &terminal);
    if (!err)
        syscall_table_print_pending(result->pending.threads, &out);
    int status = err ? command_fail(call, "cannot print the system calls: %s", err_text(err)) : command_print(call, &out);
    buf_clear(&out);
    return status;
}

static int attach_command_run(const struct command_call *call)
{
    const struct attach_options *options = call->settings;
    struct attach_result result;
    struct buf error;
    uint64_t pid;
    if (parse_u64(call->operands[0], &pid) != OK || pid == 0 || pid > INT32_MAX)
        return command_usage_error(call, "invalid PID '%s'", call->operands[0]);
    if (options->quiet)
        log_set_level(-1);
    struct attach_settings settings = {
        .pid = (pid_t)pid, .duration_ns = options->duration_ns, .period_ns = options->period_ns, .timed = options->timed,
        .wants_ptrace = options->wants_ptrace, .publishes = options->publishes,
        .shows_progress = !options->quiet && isatty(STDERR_FILENO), .name = options->name, .job_id = options->job_id,
        .out_dir = options->out_dir,
    };
    buf_init(&error, ERROR_MAX);
    enum err err = attach_run(&settings, &result, &error);
    int status = err ? command_fail(call, "%s", buf_text(&error)) : EXIT_GOOD;
    if (!err) {
        log_outcome(&result);
        status = print_calls(call, &result);
        if (result.recorded)
            command_save_spool(call, result.spool, options->quiet, false);
    }
    buf_clear(&error);
    return status;
}

#define AT(field) .offset = offsetof(struct attach_options, field)
static const struct option options[] = {
    { .letter = 't', .name = "time-limit", .argument = "SECONDS", .type = OPTION_DURATION, AT(duration_ns), .min = 1,
      .help = "Detach after this time: 30, 1.5, 2m. Default: when PID and all its descendants have exited, or at Ctrl-C" },
    { .name = "time", .type = OPTION_FLAG, AT(timed), .help = "Also measure the time spent in each call" },
    { .name = "ptrace", .type = OPTION_FLAG, AT(wants_ptrace),
      .help = "Use ptrace even where the kernel could count (eBPF, as root)" },
    { .name = "tell", .type = OPTION_FLAG, AT(publishes),
      .help = "Also publish the counts through the agent while attached: sonde get 'syscall_*' and /metrics show them, also "
              "under tau's names, for the job and user of PID. Programs with libsonde-calls.so are left out: they publish "
              "their own" },
    { .letter = 's', .name = "syscalls", .type = OPTION_FLAG, AT(calls),
      .help = "Count system calls, which sonde attach always does; accepted for symmetry with sonde run -s" },
    { .letter = 'n', .name = "name", .argument = "NAME", .type = OPTION_TEXT, AT(name),
      .help = "Name of the job. Default: name of the process" },
    { .letter = 'j', .name = "job", .argument = "JOBID", .type = OPTION_TEXT, AT(job_id),
      .help = "Id of the job. Default: that of the batch job the process belongs to, else generated from the time and PID" },
    { .letter = 'p', .name = "period", .argument = "PERIOD", .type = OPTION_DURATION, AT(period_ns), .initial = "1s",
      .min = 10 * NS_PER_MS, .max = 24 * 3600 * NS_PER_S, .help = "Sampling interval" },
    { .letter = 'o', .name = "out", .argument = "DIR", .type = OPTION_TEXT, AT(out_dir),
      .help = "Directory of the spool. Default: below $TMPDIR" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, AT(quiet), .help = "Print only errors and the table" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde attach 4711", "count the system calls of process 4711 until Ctrl-C" },
    { "sonde attach -t 10 --time 4711", "for ten seconds, with the time spent in each call" },
    { 0 },
};

const struct command command_attach = {
    .name = "attach",
    .about = "count the system calls of a running process",
    .usage = "[OPTIONS] PID",
    .description =
        "Counts the system calls of process PID, all its threads and all its descendants: calls, errors, bytes and, with "
        "--time, time. At the end prints a table, followed by the calls that have not returned yet, and saves the job in the "
        "job database; view it with 'sonde report'.\n\n"
        "The saved job contains PID and its descendants with their CPU time and, for those that exited meanwhile, their exit "
        "status.\n\n"
        "The process continues undisturbed when sonde detaches, at Ctrl-C, SIGTERM, SIGHUP or the time limit, and also if "
        "sonde is killed.\n\n"
        "As root, the kernel counts (eBPF) and the process is not slowed down. Otherwise the user's own process is traced with "
        "ptrace, which makes each of its system calls several microseconds slower; the measured cost is printed on stderr. "
        "Times are from entry to return of a call, minus the tracer's own overhead; they are unreliable for calls shorter "
        "than a microsecond.",
    .options = options,
    .settings_size = sizeof(struct attach_options),
    .shares = COMMAND_DB | COMMAND_DB_AGENT,
    .operands_min = 1,
    .operands_max = 1,
    .operand = "PID",
    .examples = examples,
    .see_also = "run report doctor",
    .run = attach_command_run,
};
