/* sonde ctl: shows what a running agent does, and changes it. Words of the command line become the JSON of POST /ctl. */
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
    json_key(json, "set");
    json_begin_object(json);
}

/* KEY=VALUE; key gets suffix behind it. False: there is no '='. */
static bool add_pair(struct json *json, const char *word, const char *suffix)
{
    const char *equals = strchr(word, '=');
    char key[256];
    size_t size = equals ? (size_t)(equals - word) : 0;
    if (!size || size + strlen(suffix) >= sizeof key)
        return false;
    memcpy(key, word, size);
    memcpy(key + size, suffix, strlen(suffix) + 1);
    json_field_text(json, key, equals + 1);
    return true;
}

/* "5s", "meminfo=10s" */
static bool add_periods(struct json *json, char **words)
{
    if (!*words)
        return false;
    begin_set(json);
    for (; *words; words++)
        if (!strchr(*words, '='))
            json_field_text(json, "period", *words);
        else if (!add_pair(json, *words, ".period"))
            return false;
    json_end_object(json);
    return true;
}

/* "+vmstat", "-nfs"; or a list as of sonde agent --sensors. */
static bool add_sensors(struct json *json, char **words)
{
    char key[256];
    if (!*words)
        return false;
    begin_set(json);
    for (; *words; words++) {
        const char *word = *words;
        if (*word != '+' && (*word != '-' || strchr(word, ','))) {
            json_field_text(json, "sensors", word);
            continue;
        }
        size_t size = strlen(word + 1);
        if (!size || size + sizeof ".enabled" > sizeof key)
            return false;
        memcpy(key, word + 1, size);
        memcpy(key + size, ".enabled", sizeof ".enabled");
        json_field_text(json, key, *word == '+' ? "yes" : "no");
    }
    json_end_object(json);
    return true;
}

static bool add_events(struct json *json, char **words)
{
    struct buf list;
    if (!*words)
        return false;
    buf_init(&list, BODY_MAX);
    for (; *words; words++)
        buf_printf(&list, "%s%s", list.size ? "," : "", *words);
    begin_set(json);
    json_field_text(json, "perf.events", buf_text(&list));
    json_end_object(json);
    buf_clear(&list);
    return true;
}

static bool add_settings(struct json *json, char **words)
{
    if (!*words)
        return false;
    begin_set(json);
    for (; *words; words++)
        if (!add_pair(json, *words, ""))
            return false;
    json_end_object(json);
    return true;
}

static bool add_reload(struct json *json, char **words)
{
    json_field_bool(json, "reload", true);
    return !*words;
}

/* "4711", "4711 time" */
static bool add_ask(struct json *json, char **words)
{
    const char *wish = words[0] && words[1] ? words[1] : "count";
    bool is_wish = !strcmp(wish, "count") || !strcmp(wish, "time") || !strcmp(wish, "no");
    if (!words[0] || (words[1] && words[2]) || !is_wish)
        return false;
    json_key(json, "ask");
    json_begin_object(json);
    json_field_text(json, "id", words[0]);
    json_field_text(json, "syscalls", wish);
    json_end_object(json);
    return true;
}

static bool add_nothing(struct json *json, char **words)
{
    (void)json;
    return !*words;
}

/* What may be told. */
static const struct verb {
    const char *name, *form;
    bool (*add)(struct json *json, char **words); /* false: the words do not fit */
    bool shows; /* the answer is what one wants to see */
    const char *path; /* NULL: /ctl */
} verbs[] = {
    { "show", "show", add_nothing, true },
    { "period", "period PERIOD, or period SENSOR=PERIOD...", add_periods, false },
    { "sensors", "sensors +SENSOR -SENSOR...", add_sensors, false },
    { "events", "events EVENT,EVENT...", add_events, false },
    { "set", "set KEY=VALUE..., or set SENSOR.KEY=VALUE...", add_settings, false },
    { "syscalls", "syscalls JOB [count|time|no]", add_ask, false, "/job" },
    { "reload", "reload", add_reload, false },
};

static const struct verb *find_verb(const char *name)
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
                     ? command_fail(call, "the agent's answer cannot be read; is it of another version?")
                     : command_print(call, &out);
    buf_clear(&out);
    return status;
}

/* The agent has understood, but a job's system calls are not counted by anybody. */
static int tell_lack(const struct command_call *call, const struct buf *answer)
{
    bool is_end = call->count > 2 && !strcmp(call->operands[2], "no");
    struct buf why;
    buf_init(&why, 4096);
    command_answer_text(answer, "why", &why);
    int status = why.size && !is_end ? command_fail(call, "the system calls of job %s are not counted: %s", call->operands[1],
                                                    buf_text(&why))
                                     : EXIT_GOOD;
    buf_clear(&why);
    return status;
}

static int tell(const struct command_call *call, const struct verb *verb, const struct buf *body)
{
    const struct ctl_settings *settings = call->settings;
    struct buf answer;
    buf_init(&answer, COMMAND_ANSWER_MAX);
    int status = command_ask(call, settings->agent, "POST", verb->path ? verb->path : "/ctl",
                             (struct bytes){ body->data, body->size }, &answer);
    if (status == EXIT_GOOD && (verb->shows || settings->json))
        status = print_state(call, &answer);
    if (status == EXIT_GOOD && verb->add == add_ask)
        status = tell_lack(call, &answer);
    buf_clear(&answer);
    return status;
}

static int ctl_run(const struct command_call *call)
{
    const char *word = call->count ? call->operands[0] : "show";
    const struct verb *verb = find_verb(word);
    struct json json;
    struct buf body;
    if (!verb)
        return command_misused(call, "there is no '%s'; say show, period, sensors, events, set, syscalls or reload", word);
    buf_init(&body, BODY_MAX);
    json_init_line(&json, &body);
    json_begin_object(&json);
    bool is_good = verb->add(&json, call->operands + (call->count ? 1 : 0));
    json_end_object(&json);
    json_end(&json);
    int status = is_good && !buf_err(&body) ? tell(call, verb, &body) : command_misused(call, "say: sonde ctl %s", verb->form);
    buf_clear(&body);
    return status;
}

#define AT(field) .offset = offsetof(struct ctl_settings, field)
static const struct option options[] = {
    { .name = "json", .type = OPTION_FLAG, AT(json), .help = "Print the agent's answer, as JSON" },
    { .letter = 'a', .name = "agent", .argument = "PATH", .type = OPTION_TEXT, AT(agent),
      .help = "The socket of the agent, where it is not the usual one" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde ctl", "what the agent of this node does, and how its sensors are" },
    { "sonde ctl period 5s", "from now on, read everything every five seconds" },
    { "sonde ctl period meminfo=10s ipmi=1m", "these two at their own pace" },
    { "sonde ctl sensors +vmstat -nfs", "switch one sensor on, another off" },
    { "sonde ctl events cycles,instructions", "count these perf events of each job" },
    { "sonde ctl set interrupts.period=1m", "any setting, by its name in the configuration file" },
    { "sonde ctl syscalls 4711 time", "count the system calls of a job that runs, and their time; one's own, or any for root" },
    { "sonde ctl reload", "read the configuration file anew, as SIGHUP does" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "the folder of the agent's socket, in place of the usual one" },
    { 0 },
};

const struct command command_ctl = {
    .name = "ctl",
    .about = "tell a running agent what to do",
    .usage = "[OPTIONS] [WHAT [WORD...]]",
    .description =
        "WHAT is show (which it is without one), period, sensors, events, set, syscalls or reload.\n\n"
        "Changes the period, the sensors and the perf events of the agent of this node while it runs: counters of "
        "jobs that run go on, and no series gets a hole. All of it is done or, where there is a mistake, nothing. What was "
        "changed so is forgotten when the agent ends or reads its configuration anew.\n\n"
        "Only root and the user whom the agent runs as may do this; of a job of one's own one may have the system calls "
        "counted. Options stand before the first word.",
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
