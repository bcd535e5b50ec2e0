/* sonde job: tells the agent of this node that a job begins or ends, and lists those that it knows. */
#include "cli/command_agent.h"

#include "base/clock.h"
#include "net/json.h"
#include "base/text.h"
#include "jobs/job_id.h"
#include "proc/pid.h"
#include "report/node_jobs.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX (64u << 20)
#define BODY_MAX 65536

struct job_settings {
    const char *user, *cgroup, *other_id, *memory, *cores;
    uint64_t pid, start_ns, end_ns;
    bool quiet, json, calls, call_time;
};

/* "2.5" cores are 2500. */
static bool parse_milli(const char *text, uint64_t *milli)
{
    char *end;
    double cores = strtod(text, &end);
    if (end == text || *end || !(cores > 0) || cores > 1e6)
        return false;
    *milli = (uint64_t)(cores * 1000 + 0.5);
    return true;
}

/* A name or a number; in a prolog of Slurm the environment has both. */
static void add_user(struct json *json, const struct job_settings *settings)
{
    const char *user = settings->user ? settings->user : getenv("SLURM_JOB_USER"), *number = getenv("SLURM_JOB_UID");
    uint64_t uid;
    if (user && !text_parse_u64(user, &uid)) {
        json_field_u64(json, "uid", uid);
        return;
    }
    if (user && *user)
        json_field_text(json, "user", user);
    if (settings->user || !number || text_parse_u64(number, &uid)) {
        const struct passwd *entry = user && *user ? getpwnam(user) : NULL;
        if (!entry)
            return;
        uid = entry->pw_uid;
    }
    json_field_u64(json, "uid", uid);
}

static void add_text(struct json *json, const char *key, const char *text)
{
    if (text && *text)
        json_field_text(json, key, text);
}

static void add_number(struct json *json, const char *key, uint64_t number)
{
    if (number)
        json_field_u64(json, key, number);
}

#define MOUNT "/sys/fs/cgroup"

/* Behind the hierarchy of v1, or the v2 one of a hybrid, that a path begins with: "/cpuacct/x" is "/x". Only the top of a
 * hierarchy of v1 has tasks. */
static const char *below_hierarchy(const char *path)
{
    char tasks[PATH_MAX];
    const char *rest = path[0] == '/' ? strchr(path + 1, '/') : NULL;
    if (!rest)
        return path;
    snprintf(tasks, sizeof tasks, "%s%.*s/tasks", MOUNT, (int)(rest - path), path);
    return !strncmp(path, "/unified/", 9) || access(tasks, F_OK) == 0 ? rest : path;
}

/* Relative to the hierarchies' mounts, as the agent knows it. */
static const char *below_mount(const char *path)
{
    if (path && !strncmp(path, MOUNT "/", sizeof MOUNT))
        path += sizeof MOUNT - 1;
    return path ? below_hierarchy(path) : NULL;
}

/* Returns an exit status; EXIT_GOOD: body is whole. */
static int make_begin(const struct command_call *call, const char *id, struct buf *body)
{
    const struct job_settings *settings = call->settings;
    struct json json;
    uint64_t memory_bytes = 0, cores_milli = 0;
    if (settings->memory && text_parse_bytes(settings->memory, &memory_bytes))
        return command_misused(call, "--memory %s is not a number of bytes: say 4G, or 512M", settings->memory);
    if (settings->cores && !parse_milli(settings->cores, &cores_milli))
        return command_misused(call, "--cores %s is not a number of cores", settings->cores);
    if (settings->pid && kill((pid_t)settings->pid, 0) < 0 && errno == ESRCH)
        return command_fail(call, "there is no process %llu", (unsigned long long)settings->pid);
    json_init_line(&json, body);
    json_begin_object(&json);
    json_key(&json, "begin");
    json_begin_object(&json);
    json_field_text(&json, "id", id);
    json_field_text(&json, "source", "told");
    add_text(&json, "other_id", settings->other_id);
    add_user(&json, settings);
    add_text(&json, "cgroup", below_mount(settings->cgroup));
    add_number(&json, "pid", settings->pid);
    add_number(&json, "cores_milli", cores_milli);
    add_number(&json, "memory_bytes", memory_bytes);
    add_number(&json, "start_ns", settings->start_ns);
    if (settings->calls || settings->call_time)
        json_field_text(&json, "syscalls", settings->call_time ? "time" : "count");
    json_end_object(&json);
    json_end_object(&json);
    json_end(&json);
    return EXIT_GOOD;
}

static void make_end(const struct job_settings *settings, const char *id, struct buf *body)
{
    struct json json;
    json_init_line(&json, body);
    json_begin_object(&json);
    json_key(&json, "end");
    json_begin_object(&json);
    json_field_text(&json, "id", id);
    add_number(&json, "end_ns", settings->end_ns);
    json_end_object(&json);
    json_end_object(&json);
    json_end(&json);
}

/* No agent, or one that has not understood. */
static int tell_failure(const struct command_call *call, enum err err, const struct buf *answer)
{
    const struct job_settings *settings = call->settings;
    struct buf error;
    if (err == ABSENT)
        return settings->quiet ? EXIT_GOOD
                               : command_fail(call, "no agent runs on this node. Start one with 'sonde agent'.");
    if (err)
        return command_fail(call, "cannot talk to the agent of this node: %s", err_text(err));
    buf_init(&error, 4096);
    command_answer_text(answer, "error", &error);
    int status = command_fail(call, "%s", error.size ? buf_text(&error) : "the agent did not understand");
    buf_clear(&error);
    return status;
}

/* The job has begun, but not all that was asked for is done. */
static int tell_lack(const struct command_call *call, const struct buf *answer)
{
    const struct job_settings *settings = call->settings;
    struct buf why;
    buf_init(&why, 4096);
    command_answer_text(answer, "why", &why);
    int status = why.size && !settings->quiet
                     ? command_fail(call, "the job has begun, but its system calls are not counted: %s", buf_text(&why))
                     : EXIT_GOOD;
    buf_clear(&why);
    return status;
}

static int post(const struct command_call *call, const struct buf *body)
{
    struct buf answer;
    int http, status = EXIT_GOOD;
    buf_init(&answer, ANSWER_MAX);
    enum err err = buf_err(body);
    if (!err)
        err = ask("", "POST", "/job", (struct bytes){ buf_text(body), body->size }, &answer, &http);
    if (err || http != 200)
        status = tell_failure(call, err, &answer);
    else
        status = tell_lack(call, &answer);
    buf_clear(&answer);
    return status;
}

static int list(const struct command_call *call)
{
    const struct job_settings *settings = call->settings;
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf answer, out;
    int http, status;
    buf_init(&answer, ANSWER_MAX);
    buf_init(&out, ANSWER_MAX);
    enum err err = ask("", "GET", "/jobs", (struct bytes){ 0 }, &answer, &http);
    if (err || http != 200)
        status = tell_failure(call, err, &answer);
    else if (settings->json)
        status = command_print(call, &answer);
    else if (here_print((struct bytes){ buf_text(&answer), answer.size }, &terminal, &out))
        status = command_fail(call, "the agent's answer makes no sense: is it of another version?");
    else
        status = command_print(call, &out);
    buf_clear(&answer);
    buf_clear(&out);
    return status;
}

static int tell(const struct command_call *call, bool is_begin)
{
    struct id id;
    struct buf body;
    id_from_environment(&id);
    const char *name = call->count > 1 ? call->operands[1] : id.id;
    if (!*name)
        return command_misused(call, "which job? Give its id: neither it nor SLURM_JOB_ID, PBS_JOBID or OAR_JOB_ID is there");
    buf_init(&body, BODY_MAX);
    int status = EXIT_GOOD;
    if (is_begin)
        status = make_begin(call, name, &body);
    else
        make_end(call->settings, name, &body);
    if (status == EXIT_GOOD)
        status = post(call, &body);
    buf_clear(&body);
    return status;
}

static int job_run(const struct command_call *call)
{
    if (call->count == 0 || (!strcmp(call->operands[0], "list") && call->count == 1))
        return list(call);
    if (!strcmp(call->operands[0], "begin"))
        return tell(call, true);
    if (!strcmp(call->operands[0], "end"))
        return tell(call, false);
    return command_misused(call, "'%s' is none of begin, end, list", call->operands[0]);
}

#define AT(field) .offset = offsetof(struct job_settings, field)
static const struct option job_options[] = {
    { .letter = 'u', .name = "user", .argument = "USER", .type = OPTION_TEXT, AT(user),
      .help = "Whose job it is, a name or a number; without it, SLURM_JOB_USER, or the owner of what is in the job" },
    { .letter = 'p', .name = "pid", .argument = "PID", .type = OPTION_U64, AT(pid), .min = 1, .max = INT32_MAX,
      .help = "The job is this process with all that it starts; it ends with it" },
    { .letter = 'g', .name = "cgroup", .argument = "PATH", .type = OPTION_TEXT, AT(cgroup),
      .help = "The job is this control group, named as below /sys/fs/cgroup or below a hierarchy; it ends when that goes" },
    { .letter = 'c', .name = "cores", .argument = "N", .type = OPTION_TEXT, AT(cores), .help = "Cores that it may use" },
    { .letter = 'm', .name = "memory", .argument = "BYTES", .type = OPTION_TEXT, AT(memory),
      .help = "Memory that it may use, as 4G or 512M" },
    { .name = "other-id", .argument = "ID", .type = OPTION_TEXT, AT(other_id),
      .help = "Its second id, where the batch system has two, as Slurm's SLUID" },
    { .name = "start", .argument = "TIME", .type = OPTION_TIME, AT(start_ns), .initial = NULL, .help = "When it began; now" },
    { .name = "end", .argument = "TIME", .type = OPTION_TIME, AT(end_ns), .initial = NULL, .help = "When it ended; now" },
    { .letter = 's', .name = "syscalls", .type = OPTION_FLAG, AT(calls),
      .help = "Count its system calls, in the kernel: the agent must run as root" },
    { .name = "syscall-time", .type = OPTION_FLAG, AT(call_time), .help = "The same, and how long they take" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, AT(quiet),
      .help = "Say nothing and succeed when there is no agent: for prologs, which must not fail" },
    { .name = "json", .type = OPTION_FLAG, AT(json), .help = "List as JSON, as the agent tells it" },
    OPTION_END,
};

static const struct command_fact job_examples[] = {
    { "sonde job", "the jobs on this node" },
    { "sonde job begin -q", "in a prolog of Slurm, PBS or OAR: the job of the environment begins" },
    { "sonde job end -q", "in the epilog" },
    { "sonde job begin 4711 -s", "count the system calls of a job, which may run already" },
    { "sonde job begin night-build --pid $$ --cores 4", "this shell and all that it starts is a job" },
    { 0 },
};

static const struct command_fact job_environment[] = {
    { "SLURM_JOB_ID, PBS_JOBID, OAR_JOB_ID", "The job, where none is given." },
    { "SONDE_SOCKET_DIR", "The folder of the agent's socket; without it /run/sonde, then $XDG_RUNTIME_DIR/sonde or "
                          "/tmp/sonde-UID." },
    { 0 },
};

const struct command command_job = {
    .name = "job",
    .about = "tell the agent of this node of a job, or list those it knows",
    .usage = "[OPTIONS] [begin [ID] | end [ID] | list]",
    .description =
        "Without an operand, or with list, shows the jobs that the agent of this node knows: your own, or all of them for "
        "root.\n\n"
        "The agent finds the jobs of Slurm, OAR and PBS by their control groups without being told. Telling it is for batch "
        "systems without control groups, for jobs whose steps come and go, and for what is a job to you alone. A job that "
        "the agent has found already is the same job: what was not known of it is filled in, and it ends when it is told to "
        "end, or a minute after its control group has gone.\n\n"
        "Only root and the user that the agent runs as may tell it of jobs.",
    .options = job_options,
    .settings_size = sizeof(struct job_settings),
    .operands_max = 2,
    .operand = "WORD",
    .examples = job_examples,
    .environment = job_environment,
    .see_also = "agent run top",
    .run = job_run,
};
