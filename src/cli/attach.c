/* sonde attach: watches the system calls of a process that runs already, prints what they came to and files it. */
#include "cli/command_save.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "report/syscalls.h"
#include "run/attach.h"

#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX (1 << 20)
#define WHY_MAX 2048

struct attach_options {
    const char *name, *job_id, *out_dir;
    uint64_t duration_ns, period_ns;
    bool calls, timed, wants_ptrace, tells_agent, quiet;
};

static void tell_outcome(const struct attach_result *result)
{
    int status = result->status;
    if (result->has_status && WIFSIGNALED(status))
        log_info("process %d was ended by signal %d (%s)", (int)result->pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (result->has_status)
        log_info("process %d has ended with status %d", (int)result->pid, WEXITSTATUS(status));
    else if (result->ended)
        log_info("process %d has ended", (int)result->pid);
    else
        log_info("process %d goes on without us", (int)result->pid);
}

static int print_calls(const struct command_call *call, const struct attach_result *result)
{
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    buf_init(&out, OUTPUT_MAX);
    enum err err = calls_print(&result->counts, result->watched_ns, &out, &terminal);
    if (!err)
        calls_print_pending(result->pending.threads, &out);
    int status = err ? command_fail(call, "cannot print the calls: %s", err_text(err)) : command_print(call, &out);
    buf_clear(&out);
    return status;
}

static int attach_run(const struct command_call *call)
{
    const struct attach_options *options = call->settings;
    struct attach_result result;
    struct buf why;
    uint64_t pid;
    if (text_parse_u64(call->operands[0], &pid) != OK || pid == 0 || pid > INT32_MAX)
        return command_misused(call, "PID is the number of a process: '%s'", call->operands[0]);
    if (options->quiet)
        log_set_level(-1);
    struct attach_settings settings = {
        .pid = (pid_t)pid, .duration_ns = options->duration_ns, .period_ns = options->period_ns, .timed = options->timed,
        .wants_ptrace = options->wants_ptrace, .tells_agent = options->tells_agent,
        .shows_progress = !options->quiet && isatty(STDERR_FILENO), .name = options->name, .job_id = options->job_id,
        .out_dir = options->out_dir,
    };
    buf_init(&why, WHY_MAX);
    enum err err = attach_watch(&settings, &result, &why);
    int status = err ? command_fail(call, "%s", buf_text(&why)) : EXIT_GOOD;
    if (!err) {
        tell_outcome(&result);
        status = print_calls(call, &result);
        if (result.recorded)
            command_file_spool(call, result.spool, options->quiet, false);
    }
    buf_clear(&why);
    return status;
}

#define AT(field) .offset = offsetof(struct attach_options, field)
static const struct option options[] = {
    { .letter = 't', .name = "time-limit", .argument = "SECONDS", .type = OPTION_DURATION, AT(duration_ns), .min = 1,
      .help = "Let go after this time: 30, 1.5, 2m. Without it, when PID and all that descend from it have ended, or at Ctrl-C" },
    { .name = "time", .type = OPTION_FLAG, AT(timed), .help = "Measure the time in each call too" },
    { .name = "ptrace", .type = OPTION_FLAG, AT(wants_ptrace),
      .help = "Use ptrace, also where the kernel would count (eBPF, as root)" },
    { .name = "tell", .type = OPTION_FLAG, AT(tells_agent),
      .help = "Tell the agent meanwhile: sonde get 'syscall_*' and /metrics show it, under tau's names too, as of the job and "
              "user of PID. Nothing is told of programs that carry libsonde-calls.so, which tell it themselves" },
    { .letter = 's', .name = "syscalls", .type = OPTION_FLAG, AT(calls),
      .help = "Watch system calls, which is what sonde attach does anyway; taken for the sake of sonde run -s" },
    { .letter = 'n', .name = "name", .argument = "NAME", .type = OPTION_TEXT, AT(name),
      .help = "Name of the job; without it the process's" },
    { .letter = 'j', .name = "job", .argument = "JOBID", .type = OPTION_TEXT, AT(job_id),
      .help = "Id of the job; without it that of the batch job which the process is in, else one is made from time and pid" },
    { .letter = 'p', .name = "period", .argument = "PERIOD", .type = OPTION_DURATION, AT(period_ns), .initial = "1s",
      .min = 10 * NS_PER_MS, .max = 24 * 3600 * NS_PER_S, .help = "Sample so often" },
    { .letter = 'o', .name = "out", .argument = "DIR", .type = OPTION_TEXT, AT(out_dir),
      .help = "Write the spool into this folder; without it below $TMPDIR" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, AT(quiet), .help = "Say nothing but errors, and the table" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde attach 4711", "count the system calls of process 4711 until Ctrl-C" },
    { "sonde attach -t 10 --time 4711", "for ten seconds, with the time in each call" },
    { 0 },
};

const struct command command_attach = {
    .name = "attach",
    .about = "watch the system calls of a process that runs already",
    .usage = "[OPTIONS] PID",
    .description =
        "Counts the system calls of process PID, of all its threads and of all that descends from it: calls, errors, bytes "
        "and, with --time, time. At the end a table is printed, below it the calls that have not returned yet, and the job is "
        "filed in the database: see it with 'sonde report'.\n\n"
        "The filed job has PID and what descends from it as its processes, with their CPU time and, of those that ended "
        "meanwhile, how they ended.\n\n"
        "The program goes on as it was when sonde lets go of it, at Ctrl-C, SIGTERM, SIGHUP or the end of the time, and "
        "also when sonde is killed.\n\n"
        "As root the kernel counts (eBPF), and the program does not notice. "
        "A user's own process is watched through ptrace, which makes each of its system calls several microseconds "
        "slower: how much is measured and said on stderr. Time is that between entry and return of a call, less what the "
        "tracer itself takes; of calls shorter than a microsecond it is not to be relied upon.",
    .options = options,
    .settings_size = sizeof(struct attach_options),
    .shares = COMMAND_DB,
    .operands_min = 1,
    .operands_max = 1,
    .operand = "PID",
    .examples = examples,
    .see_also = "run report doctor",
    .run = attach_run,
};
