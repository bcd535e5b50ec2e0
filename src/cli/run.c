/* sonde run: records a command, saves the records, and exits like the command. */
#include "cli/command_save.h"

#include "base/clock.h"
#include "base/log.h"
#include "run/run.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAGS_MAX (64 << 10)
#define EVENTS_MAX (64 << 10)
#define JOB_ID_MAX 128

struct run_options {
    const char *name, *job_id, *out_dir;
    const char **tags, **events;
    uint64_t period_ns;
    bool no_probe, wait_all, quiet, calls, call_time, wants_ptrace, wants_libc, mpi;
};

/* "k=v" becomes "k:v", a label alone "label:1". False if invalid. */
static bool add_tag(struct buf *tags, const char *tag)
{
    const char *equals = strchr(tag, '=');
    size_t key = equals ? (size_t)(equals - tag) : strlen(tag);
    if (!key || memchr(tag, ':', key) || strchr(tag, ';'))
        return false;
    if (tags->size)
        buf_add_char(tags, ';');
    buf_add(tags, tag, key);
    buf_add_char(tags, ':');
    buf_add_text(tags, equals ? equals + 1 : "1");
    return true;
}

/* Joins all -e options into one list. */
static void add_events(struct buf *all, const char **events)
{
    for (; events && *events; events++) {
        if (all->size)
            buf_add_char(all, ',');
        buf_add_text(all, *events);
    }
}

/* Job ids are typed on command lines, so they contain no spaces or control characters. */
static bool is_job_id(const char *id)
{
    size_t size = strlen(id);
    for (const char *c = id; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return size > 0 && size < JOB_ID_MAX;
}

/* If the command left processes running, a background process records them until they exit and then saves the run
 * again. */
static void save_all(const struct command_call *call, const struct run_result *result)
{
    const struct run_options *settings = call->settings;
    command_save_spool(call, result->spool, settings->quiet, result->running > 0);
    if (!result->running || !run_monitor_survivors(result))
        return;
    command_save_spool(call, result->spool, settings->quiet, false);
    _exit(EXIT_GOOD);
}

static int run_run(const struct command_call *call)
{
    const struct run_options *settings = call->settings;
    struct buf tags, events;
    if (settings->job_id && !is_job_id(settings->job_id))
        return command_usage_error(call, "invalid job id (expected 1 to %d characters without spaces)", JOB_ID_MAX - 1);
    if (settings->mpi && settings->no_probe)
        return command_usage_error(call, "-m and --no-probe exclude each other: -m loads a probe into the programs");
    if (settings->events && settings->no_probe)
        return command_usage_error(call, "-e and --no-probe exclude each other: -e counts inside the programs");
    if (settings->wants_libc && settings->no_probe)
        return command_usage_error(call,
                                   "--libc and --no-probe exclude each other: --libc loads a probe into the programs");
    if (settings->wants_libc && settings->wants_ptrace)
        return command_usage_error(call, "--libc and --ptrace exclude each other: both count system calls");
    buf_init(&tags, TAGS_MAX);
    for (const char **tag = settings->tags; tag && *tag; tag++)
        if (!add_tag(&tags, *tag)) {
            buf_clear(&tags);
            return command_usage_error(call, "invalid tag '%s' (expected KEY=VALUE or LABEL, without ';' and with no "
                                             "':' in KEY)", *tag);
        }
    buf_init(&events, EVENTS_MAX);
    add_events(&events, settings->events);
    if (settings->quiet)
        log_set_level(-1);
    struct run_settings run = {
        .name = settings->name,
        .job_id = settings->job_id,
        .tags = tags.size ? buf_text(&tags) : NULL,
        .events = events.size ? buf_text(&events) : NULL,
        .period_ns = settings->period_ns,
        .out_dir = settings->out_dir,
        .root = call->globals->root,
        .no_probe = settings->no_probe,
        .mpi = settings->mpi,
        .calls = settings->call_time ? RUN_SYSCALLS_TIME
                 : settings->calls || settings->wants_ptrace || settings->wants_libc ? RUN_SYSCALLS_COUNT : RUN_SYSCALLS_NONE,
        .wants_ptrace = settings->wants_ptrace,
        .wants_libc = settings->wants_libc,
        .separately = call->globals->db,
        .wait_all = settings->wait_all,
        .command = call->operands,
    };
    struct run_result result;
    run_command(&run, &result);
    if (result.is_recorded)
        save_all(call, &result);
    buf_clear(&tags);
    buf_clear(&events);
    run_exit_like(result.status);
}

static const struct option options[] = {
    { .letter = 'n', .name = "name", .argument = "NAME", .type = OPTION_TEXT, .offset = offsetof(struct run_options, name),
      .help = "Name of the job. Default: that of the batch job, else the command's" },
    { .letter = 'j', .name = "job", .argument = "JOBID", .type = OPTION_TEXT, .offset = offsetof(struct run_options, job_id),
      .help = "Id of the job. Several runs with one id form one job; a nested run with the same id leaves recording to the "
              "outer one. Default: the Slurm, PBS or OAR job id, else generated from the time, PID and a random suffix" },
    { .letter = 't', .name = "tag", .argument = "KEY=VALUE", .type = OPTION_LIST, .offset = offsetof(struct run_options, tags),
      .help = "Tag the job; may be repeated. A word without '=' is a label: a tag with the value 1" },
    { .letter = 'e', .name = "events", .argument = "EVENTS", .type = OPTION_LIST, .offset = offsetof(struct run_options, events),
      .help = "Count these perf events in every thread, comma-separated: page-faults,context-switches,instructions; may be "
              "repeated. With the suffix ':u' an event counts in user mode only. Unprivileged users may be limited to user "
              "mode; ':u' is then added with a warning. Counting starts at exec and includes the dynamic loader; for programs "
              "started with posix_spawn it starts after the loader" },
    { .letter = 'm', .name = "mpi", .type = OPTION_FLAG, .offset = offsetof(struct run_options, mpi),
      .help = "Count the MPI calls of each rank: calls, time, bytes, wait time, and the communication matrix" },
    { .letter = 's', .name = "syscalls", .type = OPTION_FLAG, .offset = offsetof(struct run_options, calls),
      .help = "Count the system calls of all programs: calls, errors, bytes, and what was read and written" },
    { .name = "syscall-time", .type = OPTION_FLAG, .offset = offsetof(struct run_options, call_time),
      .help = "Same as --syscalls, and measure their time" },
    { .name = "ptrace", .type = OPTION_FLAG, .offset = offsetof(struct run_options, wants_ptrace),
      .help = "Count them with ptrace (with -s or --syscall-time; alone it implies -s): includes static and Go programs, without "
              "root. Slow: each counted call takes some microseconds longer. Set-uid programs run without their privileges" },
    { .name = "libc", .type = OPTION_FLAG, .offset = offsetof(struct run_options, wants_libc),
      .help = "Count them in libc (with -s or --syscall-time; alone it implies -s) even if the kernel could: a few ns per "
              "call instead of about 100. Calls inside libc and static programs are not counted" },
    { .letter = 'p', .name = "period", .argument = "PERIOD", .type = OPTION_DURATION,
      .offset = offsetof(struct run_options, period_ns), .initial = "1s", .min = 10 * NS_PER_MS, .max = 24 * 3600 * NS_PER_S,
      .help = "Sampling interval for the job's timeline and the node: 10ms, 0.5, 1m" },
    { .letter = 'o', .name = "out", .argument = "DIR", .type = OPTION_TEXT, .offset = offsetof(struct run_options, out_dir),
      .help = "Directory of the spool, created if missing and kept. Default: below $TMPDIR" },
    { .name = "no-probe", .type = OPTION_FLAG, .offset = offsetof(struct run_options, no_probe),
      .help = "Load nothing into the programs: only kernel data is recorded. If more than 256 programs start in a second, "
              "short ones then have a name, but no path, arguments and directory. Useful for 32-bit programs, whose loader "
              "otherwise prints a warning that it ignores the library" },
    { .name = "wait", .type = OPTION_FLAG, .offset = offsetof(struct run_options, wait_all),
      .help = "Wait for all descendants, not only the command" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, .offset = offsetof(struct run_options, quiet),
      .help = "Print only errors" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde run -- make -j4", "record a build" },
    { "sonde run -n step1 -t case=7 -p 100ms ./model in.nml", "with a name, a tag and ten samples per second" },
    { "sonde run -s ./model", "count its system calls" },
    { "sonde run -s --ptrace ./tool", "also if tool is a static or Go program, without root" },
    { "sonde run -s --libc ./model", "at the lowest cost, even if root or a root agent could count" },
    { "sonde run -m mpirun -n 4 ./model", "count the MPI calls of its ranks" },
    { "sonde run -e page-faults,instructions ./model", "count perf events" },
    { 0 },
};

static const struct command_fact exits[] = {
    { "the command's", "If a signal terminates the command, the same signal terminates sonde run." },
    { "2", "Usage error; nothing was run." },
    { "126", "The command cannot be executed." },
    { "127", "Command not found." },
    { 0 },
};

const struct command command_run = {
    .name = "run",
    .about = "record a command and every process and thread it starts",
    .usage = "[OPTIONS] [--] COMMAND [ARGUMENT]...",
    .description =
        "Runs COMMAND unchanged and records every process and thread that it starts, directly or indirectly. "
        "When it exits, the job is saved in the job database; view it with 'sonde report'.\n\n"
        "If something cannot be recorded, sonde prints a warning on stderr and the command runs nevertheless. If the job cannot "
        "be saved, its spool is kept, and 'sonde submit' saves it later.",
    .options = options,
    .settings_size = sizeof(struct run_options),
    .shares = COMMAND_DB | COMMAND_DB_AGENT | COMMAND_ROOT,
    .operands_min = 1,
    .operands_max = -1,
    .operand = "COMMAND",
    .first_operand_ends = true,
    .examples = examples,
    .exits = exits,
    .replaces_exits = true,
    .see_also = "report ps list submit",
    .run = run_run,
};
