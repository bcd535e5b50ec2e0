/* sonde run: watches a command, files what was seen, and ends as the command ended. */
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

struct settings {
    const char *name, *job_id, *out_dir;
    const char **tags, **events;
    uint64_t period_ns;
    bool no_probe, wait_all, quiet, calls, call_time, wants_ptrace, wants_libc, mpi;
};

/* "k=v" becomes "k:v", a label alone "label:1". False when it cannot be one. */
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

/* Of all -e together, as one of them would name them. */
static void add_events(struct buf *all, const char **events)
{
    for (; events && *events; events++) {
        if (all->size)
            buf_add_char(all, ',');
        buf_add_text(all, *events);
    }
}

/* What people type again to see the job. */
static bool is_job_id(const char *id)
{
    size_t size = strlen(id);
    for (const char *c = id; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return size > 0 && size < JOB_ID_MAX;
}

/* What the command left behind is watched to its end by a process of its own, which files the run anew. */
static void file_all(const struct command_call *call, const struct run_result *result)
{
    const struct settings *settings = call->settings;
    command_file_spool(call, result->spool, settings->quiet, result->running > 0);
    if (!result->running || !run_stay_for_rest(result))
        return;
    command_file_spool(call, result->spool, settings->quiet, false);
    _exit(EXIT_GOOD);
}

static int run_run(const struct command_call *call)
{
    const struct settings *settings = call->settings;
    struct buf tags, events;
    if (settings->job_id && !is_job_id(settings->job_id))
        return command_misused(call, "a job id has 1 to %d characters, without blanks", JOB_ID_MAX - 1);
    if (settings->mpi && settings->no_probe)
        return command_misused(call, "-m loads a probe into the programs, and --no-probe forbids it: leave out one of them");
    if (settings->events && settings->no_probe)
        return command_misused(call, "-e counts inside the programs, and --no-probe forbids it: leave out one of them");
    if (settings->wants_libc && settings->no_probe)
        return command_misused(call, "--libc loads a probe into the programs, and --no-probe forbids it: leave out one of them");
    if (settings->wants_libc && settings->wants_ptrace)
        return command_misused(call, "--libc and --ptrace are two ways to count the same: leave out one of them");
    buf_init(&tags, TAGS_MAX);
    for (const char **tag = settings->tags; tag && *tag; tag++)
        if (!add_tag(&tags, *tag)) {
            buf_clear(&tags);
            return command_misused(call, "a tag is KEY=VALUE or a word, without ';' and with no ':' in KEY: '%s'", *tag);
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
        .calls = settings->call_time ? RUN_CALLS_TIME
                 : settings->calls || settings->wants_ptrace || settings->wants_libc ? RUN_CALLS_COUNT : RUN_CALLS_NONE,
        .wants_ptrace = settings->wants_ptrace,
        .wants_libc = settings->wants_libc,
        .apart = call->globals->db,
        .wait_all = settings->wait_all,
        .command = call->operands,
    };
    struct run_result result;
    run_watch(&run, &result);
    if (result.watched)
        file_all(call, &result);
    buf_clear(&tags);
    buf_clear(&events);
    run_exit_like(result.status);
}

static const struct option options[] = {
    { .letter = 'n', .name = "name", .argument = "NAME", .type = OPTION_TEXT, .offset = offsetof(struct settings, name),
      .help = "Name of the job; without it the batch system's, else the command's" },
    { .letter = 'j', .name = "job", .argument = "JOBID", .type = OPTION_TEXT, .offset = offsetof(struct settings, job_id),
      .help = "Id of the job; several runs with one id are one job, and one inside of another leaves its command to that. "
              "Without it the id of the Slurm, PBS or OAR job, else one is made from time, pid and chance" },
    { .letter = 't', .name = "tag", .argument = "KEY=VALUE", .type = OPTION_LIST, .offset = offsetof(struct settings, tags),
      .help = "Tag the job; may be given several times. A word without '=' is a label: a tag with the value 1" },
    { .letter = 'e', .name = "events", .argument = "EVENTS", .type = OPTION_LIST, .offset = offsetof(struct settings, events),
      .help = "Count these perf events in every thread, ',' between: page-faults,context-switches,instructions; may be given "
              "several times. Programs count from their exec on, those by posix_spawn from their own beginning. \":u\" behind a "
              "name counts in user mode only; where the user may do no more, sonde says so and adds it" },
    { .letter = 'm', .name = "mpi", .type = OPTION_FLAG, .offset = offsetof(struct settings, mpi),
      .help = "Count the MPI calls of each rank: calls, time, bytes, waiting, and who sent how much to whom" },
    { .letter = 's', .name = "syscalls", .type = OPTION_FLAG, .offset = offsetof(struct settings, calls),
      .help = "Count the system calls of all programs: calls, errors, bytes, and what was read and written" },
    { .name = "syscall-time", .type = OPTION_FLAG, .offset = offsetof(struct settings, call_time),
      .help = "The same, and how long they took" },
    { .name = "ptrace", .type = OPTION_FLAG, .offset = offsetof(struct settings, wants_ptrace),
      .help = "Count them by a tracer (with -s or --syscall-time; alone as -s): also those of static and Go programs, without "
              "root. Slow: each call that is counted takes some microseconds longer. set-uid programs run without their rights" },
    { .name = "libc", .type = OPTION_FLAG, .offset = offsetof(struct settings, wants_libc),
      .help = "Count them where programs call libc (with -s or --syscall-time; alone as -s), though the kernel could: some ns "
              "for each call in place of a hundred. What libc does by itself, and static programs, are left out" },
    { .letter = 'p', .name = "period", .argument = "PERIOD", .type = OPTION_DURATION,
      .offset = offsetof(struct settings, period_ns), .initial = "1s", .min = 10 * NS_PER_MS, .max = 24 * 3600 * NS_PER_S,
      .help = "Sample the job's shape and the node so often: 10ms, 0.5, 1m" },
    { .letter = 'o', .name = "out", .argument = "DIR", .type = OPTION_TEXT, .offset = offsetof(struct settings, out_dir),
      .help = "Write the spool into this folder, which is made when it is missing, and stays; without it below $TMPDIR" },
    { .name = "no-probe", .type = OPTION_FLAG, .offset = offsetof(struct settings, no_probe),
      .help = "Load nothing into the programs: only what the kernel tells is recorded. Of more than 256 programs "
              "started in a second, short ones then have a name, but no path, arguments and folder. For 32-bit programs, whose "
              "loader otherwise says on stderr that it ignores the library" },
    { .name = "wait", .type = OPTION_FLAG, .offset = offsetof(struct settings, wait_all),
      .help = "Return when the last process has ended, not already when the command has" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, .offset = offsetof(struct settings, quiet),
      .help = "Say nothing but errors" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde run -- make -j4", "watch a build" },
    { "sonde run -n step1 -t case=7 -p 100ms ./model in.nml", "with a name, a tag and ten samples per second" },
    { "sonde run -s ./model", "count its system calls" },
    { "sonde run -s --ptrace ./tool", "also where tool is a static or a Go program, without root" },
    { "sonde run -s --libc ./model", "at least cost, as root or where an agent of root would count, too" },
    { "sonde run -m mpirun -n 4 ./model", "count what its ranks do in MPI" },
    { "sonde run -e page-faults,instructions ./model", "count perf events too" },
    { 0 },
};

static const struct command_fact exits[] = {
    { "the command's", "also when it was ended by a signal: then sonde run is ended by the same one" },
    { "2", "sonde run itself was used wrongly; nothing was run" },
    { "126", "the command may not or cannot be run" },
    { "127", "there is no such command" },
    { 0 },
};

const struct command command_run = {
    .name = "run",
    .about = "watch a command and every process and thread that it makes",
    .usage = "[OPTIONS] [--] COMMAND [ARGUMENT]...",
    .description =
        "Runs COMMAND as if sonde were not there, and records each process and thread that it makes, however it makes "
        "them. When it has ended the job is filed in the database: see it with 'sonde report'.\n\n"
        "If something cannot be watched, sonde says so on stderr and the command runs all the same. What could not be "
        "filed stays in its spool, and 'sonde submit' files it later.",
    .options = options,
    .settings_size = sizeof(struct settings),
    .shares = COMMAND_DB | COMMAND_ROOT,
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
