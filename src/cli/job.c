/* sonde job: registers the start or end of a job with the agent of this node, and lists the jobs it knows. */
#include "api/schema.h"
#include "base/parse.h"
#include "cli/command_agent.h"

#include "base/clock.h"
#include "net/json.h"
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

/* A name or a number; Slurm's prolog has both in the environment. */
static void add_user(struct json *json, const struct job_settings *settings)
{
    const char *user = settings->user ? settings->user : getenv("SLURM_JOB_USER"), *number = getenv("SLURM_JOB_UID");
    uint64_t uid;
    if (user && !parse_u64(user, &uid)) {
        json_field_u64(json, API_UID, uid);
        return;
    }
    if (user && *user)
        json_field_text(json, API_USER, user);
    if (settings->user || !number || parse_u64(number, &uid)) {
        const struct passwd *entry = user && *user ? getpwnam(user) : NULL;
        if (!entry)
            return;
        uid = entry->pw_uid;
    }
    json_field_u64(json, API_UID, uid);
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

/* Skips the cgroup v1 hierarchy, or the v2 one of a hybrid setup, that a path starts with: "/cpuacct/x" is "/x". Only
 * the root of a v1 hierarchy has a tasks file. */
static const char *below_hierarchy(const char *path)
{
    char tasks[PATH_MAX];
    const char *rest = path[0] == '/' ? strchr(path + 1, '/') : NULL;
    if (!rest)
        return path;
    snprintf(tasks, sizeof tasks, "%s%.*s/tasks", MOUNT, (int)(rest - path), path);
    return !strncmp(path, "/unified/", 9) || access(tasks, F_OK) == 0 ? rest : path;
}

/* Relative to the mount of the hierarchy, as the agent identifies cgroups. */
static const char *below_mount(const char *path)
{
    if (path && !strncmp(path, MOUNT "/", sizeof MOUNT))
        path += sizeof MOUNT - 1;
    return path ? below_hierarchy(path) : NULL;
}

/* Returns an exit status; EXIT_GOOD: body is complete. */
static int add_begin(const struct command_call *call, const char *id, struct buf *body)
{
    const struct job_settings *settings = call->settings;
    struct json json;
    uint64_t memory_bytes = 0, cores_milli = 0;
    if (settings->memory && parse_bytes(settings->memory, &memory_bytes))
        return command_usage_error(call, "invalid value '%s' for --memory (expected a size such as 4G or 512M)",
                                   settings->memory);
    if (settings->cores && !parse_milli(settings->cores, &cores_milli))
        return command_usage_error(call, "invalid value '%s' for --cores (expected a number)", settings->cores);
    if (settings->pid && kill((pid_t)settings->pid, 0) < 0 && errno == ESRCH)
        return command_fail(call, "no process with PID %llu", (unsigned long long)settings->pid);
    json_init_line(&json, body);
    json_begin_object(&json);
    json_key(&json, API_BEGIN);
    json_begin_object(&json);
    json_field_text(&json, API_ID, id);
    json_field_text(&json, API_SOURCE, "told");
    add_text(&json, API_OTHER_ID, settings->other_id);
    add_user(&json, settings);
    add_text(&json, API_CGROUP, below_mount(settings->cgroup));
    add_number(&json, API_PID, settings->pid);
    add_number(&json, API_CORES_MILLI, cores_milli);
    add_number(&json, API_MEMORY_BYTES, memory_bytes);
    add_number(&json, API_START_NS, settings->start_ns);
    if (settings->calls || settings->call_time)
        json_field_text(&json, API_SYSCALLS, settings->call_time ? "time" : "count");
    json_end_object(&json);
    json_end_object(&json);
    json_end(&json);
    return EXIT_GOOD;
}

static void add_end(const struct job_settings *settings, const char *id, struct buf *body)
{
    struct json json;
    json_init_line(&json, body);
    json_begin_object(&json);
    json_key(&json, API_END);
    json_begin_object(&json);
    json_field_text(&json, API_ID, id);
    add_number(&json, API_END_NS, settings->end_ns);
    json_end_object(&json);
    json_end_object(&json);
    json_end(&json);
}

/* No agent, or one that rejected the request. */
static int report_failure(const struct command_call *call, enum err err, const struct buf *answer)
{
    const struct job_settings *settings = call->settings;
    struct buf error;
    if (err == ABSENT)
        return settings->quiet ? EXIT_GOOD
                               : command_fail(call, "no agent is running on this node; start one with 'sonde agent'");
    if (err)
        return command_fail(call, "cannot connect to the agent of this node: %s", err_text(err));
    buf_init(&error, 4096);
    command_answer_string(answer, API_ERROR, &error);
    int status = command_fail(call, "%s", error.size ? buf_text(&error) : "the agent rejected the request");
    buf_clear(&error);
    return status;
}

/* The job is registered, but its system calls may not be counted. */
static int check_counted(const struct command_call *call, const struct buf *answer)
{
    const struct job_settings *settings = call->settings;
    struct buf error;
    buf_init(&error, 4096);
    command_answer_string(answer, API_ERROR_REASON, &error);
    int status = error.size && !settings->quiet
                     ? command_fail(call, "job registered, but its system calls are not counted: %s", buf_text(&error))
                     : EXIT_GOOD;
    buf_clear(&error);
    return status;
}

static int post(const struct command_call *call, const struct buf *body)
{
    struct buf answer;
    int http, status = EXIT_GOOD;
    buf_init(&answer, ANSWER_MAX);
    enum err err = buf_err(body);
    if (!err)
        err = agent_client_request("", "POST", API_PATH_JOB, (struct bytes){ buf_text(body), body->size }, &answer, &http);
    if (err || http != 200)
        status = report_failure(call, err, &answer);
    else
        status = check_counted(call, &answer);
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
    enum err err = agent_client_request("", "GET", API_PATH_JOBS, (struct bytes){ 0 }, &answer, &http);
    if (err || http != 200)
        status = report_failure(call, err, &answer);
    else if (settings->json)
        status = command_print(call, &answer);
    else if (node_jobs_print((struct bytes){ buf_text(&answer), answer.size }, &terminal, &out))
        status = command_fail(call, "cannot parse the agent's response; is it of another version?");
    else
        status = command_print(call, &out);
    buf_clear(&answer);
    buf_clear(&out);
    return status;
}

static int register_job(const struct command_call *call, bool is_begin)
{
    struct job_id id;
    struct buf body;
    job_id_from_environment(&id);
    const char *name = call->count > 1 ? call->operands[1] : id.id;
    if (!*name)
        return command_usage_error(call, "missing job id: give one, or set SLURM_JOB_ID, PBS_JOBID or OAR_JOB_ID");
    buf_init(&body, BODY_MAX);
    int status = EXIT_GOOD;
    if (is_begin)
        status = add_begin(call, name, &body);
    else
        add_end(call->settings, name, &body);
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
        return register_job(call, true);
    if (!strcmp(call->operands[0], "end"))
        return register_job(call, false);
    return command_usage_error(call, "unknown subcommand '%s' (expected begin, end or list)", call->operands[0]);
}

#define AT(field) .offset = offsetof(struct job_settings, field)
static const struct option job_options[] = {
    { .letter = 'u', .name = "user", .argument = "USER", .type = OPTION_TEXT, AT(user),
      .help = "Owner of the job, a name or a number. Default: SLURM_JOB_USER, else the owner of its processes" },
    { .letter = 'p', .name = "pid", .argument = "PID", .type = OPTION_U64, AT(pid), .min = 1, .max = INT32_MAX,
      .help = "The job is this process and all its descendants; it ends when the process exits" },
    { .letter = 'g', .name = "cgroup", .argument = "PATH", .type = OPTION_TEXT, AT(cgroup),
      .help = "The job is this cgroup, a path below /sys/fs/cgroup or below a hierarchy; it ends when the cgroup is removed" },
    { .letter = 'c', .name = "cores", .argument = "N", .type = OPTION_TEXT, AT(cores), .help = "Number of allocated cores" },
    { .letter = 'm', .name = "memory", .argument = "BYTES", .type = OPTION_TEXT, AT(memory),
      .help = "Memory limit, such as 4G or 512M" },
    { .name = "other-id", .argument = "ID", .type = OPTION_TEXT, AT(other_id),
      .help = "Second id, for batch systems that have two, such as Slurm's SLUID" },
    { .name = "start", .argument = "TIME", .type = OPTION_TIME, AT(start_ns), .help = "Start time. Default: now" },
    { .name = "end", .argument = "TIME", .type = OPTION_TIME, AT(end_ns), .help = "End time. Default: now" },
    { .letter = 's', .name = "syscalls", .type = OPTION_FLAG, AT(calls),
      .help = "Count its system calls in the kernel; the agent must run as root" },
    { .name = "syscall-time", .type = OPTION_FLAG, AT(call_time), .help = "Same as --syscalls, and measure their time" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, AT(quiet),
      .help = "Succeed silently if there is no agent: for prologs, which must not fail" },
    { .name = "json", .type = OPTION_FLAG, AT(json), .help = "List as JSON, as returned by the agent" },
    OPTION_END,
};

static const struct command_fact job_examples[] = {
    { "sonde job", "the jobs on this node" },
    { "sonde job begin -q", "in a Slurm, PBS or OAR prolog: register the job from the environment" },
    { "sonde job end -q", "in the epilog" },
    { "sonde job begin 4711 -s", "count the system calls of a job, which may already be running" },
    { "sonde job begin night-build --pid $$ --cores 4", "register this shell and all its descendants as a job" },
    { 0 },
};

static const struct command_fact job_environment[] = {
    { "SLURM_JOB_ID, PBS_JOBID, OAR_JOB_ID", "Default job id." },
    { "SONDE_SOCKET_DIR", "Directory of the agent's socket. Default: /run/sonde, then $XDG_RUNTIME_DIR/sonde or "
                          "/tmp/sonde-UID." },
    { 0 },
};

const struct command command_job = {
    .name = "job",
    .about = "register a job with the agent of this node, or list its jobs",
    .usage = "[OPTIONS] [begin [ID] | end [ID] | list]",
    .description =
        "Without an operand, or with list, shows the jobs that the agent of this node knows: your own, or all for root.\n\n"
        "The agent discovers Slurm, OAR and PBS jobs by their cgroups automatically. Register jobs by hand for batch systems "
        "without cgroups, for jobs whose steps come and go, and for anything else you want to treat as a job. Registering a job "
        "that the agent has already discovered fills in what is missing; the job then ends with 'sonde job end', or a minute "
        "after its cgroup is removed.\n\n"
        "Only root and the user the agent runs as may register jobs.",
    .options = job_options,
    .settings_size = sizeof(struct job_settings),
    .operands_max = 2,
    .operand = "WORD",
    .examples = job_examples,
    .environment = job_environment,
    .see_also = "agent run top",
    .run = job_run,
};
