/* sonde ctl: shows and changes the state of a running agent. Words of the command line become the JSON of POST /ctl. */
#include "api/schema.h"
#include "cli/command_agent.h"

#include "net/json.h"
#include "report/agent_state.h"

#include <string.h>
#include <unistd.h>

#define BODY_MAX 65536u

struct ctl_settings {
    bool json;
    const char *agent;
};

static void begin_set(struct json *json)
{
    json_key(json, API_SET);
    json_begin_object(json);
}

/* KEY=VALUE; suffix is appended to the key. False: there is no '='. */
static bool add_pair(struct json *json, const char *arg, const char *suffix)
{
    const char *equals = strchr(arg, '=');
    char key[256];
    size_t size = equals ? (size_t)(equals - arg) : 0;
    if (!size || size + strlen(suffix) >= sizeof key)
        return false;
    memcpy(key, arg, size);
    memcpy(key + size, suffix, strlen(suffix) + 1);
    json_field_text(json, key, equals + 1);
    return true;
}

/* "5s", "meminfo=10s" */
static bool add_periods(struct json *json, char **args)
{
    if (!*args)
        return false;
    begin_set(json);
    for (; *args; args++)
        if (!strchr(*args, '='))
            json_field_text(json, "period", *args);
        else if (!add_pair(json, *args, ".period"))
            return false;
    json_end_object(json);
    return true;
}

/* "+vmstat", "-nfs"; or a list as in sonde agent --sensors. */
static bool add_sensors(struct json *json, char **args)
{
    char key[256];
    if (!*args)
        return false;
    begin_set(json);
    for (; *args; args++) {
        const char *arg = *args;
        if (*arg != '+' && (*arg != '-' || strchr(arg, ','))) {
            json_field_text(json, API_SENSORS, arg);
            continue;
        }
        size_t size = strlen(arg + 1);
        if (!size || size + sizeof ".enabled" > sizeof key)
            return false;
        memcpy(key, arg + 1, size);
        memcpy(key + size, ".enabled", sizeof ".enabled");
        json_field_text(json, key, *arg == '+' ? "yes" : "no");
    }
    json_end_object(json);
    return true;
}

static bool add_events(struct json *json, char **args)
{
    struct buf list;
    if (!*args)
        return false;
    buf_init(&list, BODY_MAX);
    for (; *args; args++)
        buf_printf(&list, "%s%s", list.size ? "," : "", *args);
    begin_set(json);
    json_field_text(json, "perf.events", buf_text(&list));
    json_end_object(json);
    buf_clear(&list);
    return true;
}

static bool add_settings(struct json *json, char **args)
{
    if (!*args)
        return false;
    begin_set(json);
    for (; *args; args++)
        if (!add_pair(json, *args, ""))
            return false;
    json_end_object(json);
    return true;
}

static bool add_reload(struct json *json, char **args)
{
    json_field_bool(json, API_RELOAD, true);
    return !*args;
}

/* "4711", "4711 time" */
static bool add_syscalls(struct json *json, char **args)
{
    const char *wish = args[0] && args[1] ? args[1] : "count";
    bool is_wish = !strcmp(wish, "count") || !strcmp(wish, "time") || !strcmp(wish, "no");
    if (!args[0] || (args[1] && args[2]) || !is_wish)
        return false;
    json_key(json, API_ASK);
    json_begin_object(json);
    json_field_text(json, API_ID, args[0]);
    json_field_text(json, API_SYSCALLS, wish);
    json_end_object(json);
    return true;
}

static bool add_none(struct json *json, char **args)
{
    (void)json;
    return !*args;
}

/* The subcommands. */
static const struct ctl_verb {
    const char *name, *form;
    bool (*add)(struct json *json, char **args); /* false: invalid arguments */
    bool shows; /* print the answer */
    const char *path; /* NULL: /ctl */
} verbs[] = {
    { "show", "show", add_none, true },
    { "period", "period PERIOD, or period SENSOR=PERIOD...", add_periods, false },
    { "sensors", "sensors +SENSOR -SENSOR...", add_sensors, false },
    { "events", "events EVENT,EVENT...", add_events, false },
    { "set", "set KEY=VALUE..., or set SENSOR.KEY=VALUE...", add_settings, false },
    { "syscalls", "syscalls JOB [count|time|no]", add_syscalls, false, API_PATH_JOB },
    { "reload", "reload", add_reload, false },
};

static const struct ctl_verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static int print_state(const struct command_call *call, struct buf *answer)
{
    const struct ctl_settings *settings = call->settings;
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    if (settings->json)
        return command_print(call, answer);
    buf_init(&out, COMMAND_ANSWER_MAX);
    int status = agent_state_print(buf_text(answer), answer->size, &terminal, &out)
                     ? command_fail(call, "cannot parse the agent's response; is it of another version?")
                     : command_print(call, &out);
    buf_clear(&out);
    return status;
}

/* The agent accepted the request, but nothing counts the job's system calls. */
static int check_counted(const struct command_call *call, const struct buf *answer)
{
    bool is_end = call->count > 2 && !strcmp(call->operands[2], "no");
    struct buf error;
    buf_init(&error, 4096);
    command_answer_string(answer, API_ERROR_REASON, &error);
    int status = error.size && !is_end ? command_fail(call, "the system calls of job %s are not counted: %s", call->operands[1],
                                                    buf_text(&error))
                                     : EXIT_GOOD;
    buf_clear(&error);
    return status;
}

static int send_request(const struct command_call *call, const struct ctl_verb *verb, const struct buf *body)
{
    const struct ctl_settings *settings = call->settings;
    struct buf answer;
    buf_init(&answer, COMMAND_ANSWER_MAX);
    int status = command_request(call, settings->agent, "POST", verb->path ? verb->path : API_PATH_CONTROL,
                             (struct bytes){ body->data, body->size }, &answer);
    if (status == EXIT_GOOD && (verb->shows || settings->json))
        status = print_state(call, &answer);
    if (status == EXIT_GOOD && verb->add == add_syscalls)
        status = check_counted(call, &answer);
    buf_clear(&answer);
    return status;
}

static int ctl_run(const struct command_call *call)
{
    const char *arg = call->count ? call->operands[0] : "show";
    const struct ctl_verb *verb = find_verb(arg);
    struct json json;
    struct buf body;
    if (!verb)
        return command_usage_error(call, "unknown subcommand '%s' (expected show, period, sensors, events, set, "
                                         "syscalls or reload)", arg);
    buf_init(&body, BODY_MAX);
    json_init_line(&json, &body);
    json_begin_object(&json);
    bool is_good = verb->add(&json, call->operands + (call->count ? 1 : 0));
    json_end_object(&json);
    json_end(&json);
    int status = is_good && !buf_err(&body) ? send_request(call, verb, &body)
                                            : command_usage_error(call, "usage: sonde ctl %s", verb->form);
    buf_clear(&body);
    return status;
}

#define AT(field) .offset = offsetof(struct ctl_settings, field)
static const struct option options[] = {
    { .name = "json", .type = OPTION_FLAG, AT(json), .help = "Print the agent's response as JSON" },
    { .letter = 'a', .name = "agent", .argument = "PATH", .type = OPTION_TEXT, AT(agent),
      .help = "Socket of the agent, if it is not the default" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde ctl", "settings of the agent on this node and state of its sensors" },
    { "sonde ctl period 5s", "read all sensors every five seconds from now on" },
    { "sonde ctl period meminfo=10s ipmi=1m", "give these two their own interval" },
    { "sonde ctl sensors +vmstat -nfs", "enable one sensor, disable another" },
    { "sonde ctl events cycles,instructions", "count these perf events for each job" },
    { "sonde ctl set interrupts.period=1m", "any setting, by its key in the configuration file" },
    { "sonde ctl syscalls 4711 time", "count and time the system calls of a running job; users: their own, root: any" },
    { "sonde ctl reload", "reload the configuration file, as SIGHUP does" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "Directory of the agent's socket, instead of the default." },
    { 0 },
};

const struct command command_ctl = {
    .name = "ctl",
    .about = "show and change the settings of a running agent",
    .usage = "[OPTIONS] [SUBCOMMAND [ARGUMENT...]]",
    .description =
        "SUBCOMMAND is show (the default), period, sensors, events, set, syscalls or reload.\n\n"
        "Changes the sampling interval, the sensors and the perf events of the agent of this node while it runs: counters of "
        "running jobs continue, and no series gets a gap. A change is applied completely or, if any part of it is invalid, not "
        "at all. It is lost when the agent exits or reloads its configuration.\n\n"
        "Only root and the user the agent runs as may do this; users may request the system calls of their own jobs. Options "
        "come before the subcommand.",
    .options = options,
    .settings_size = sizeof(struct ctl_settings),
    .operands_max = -1,
    .operand = "WORD",
    .first_operand_ends = true,
    .examples = examples,
    .environment = environment,
    .see_also = "agent ls doctor",
    .run = ctl_run,
};
