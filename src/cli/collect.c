/* sonde collect: takes what agents and other collectors send, until stopped; or shows how one that runs is. Options and the
 * configuration file say the same things with the same names; both go through collector_plan_set. */
#include "cli/command_agent.h"

#include "base/log.h"
#include "collector/collector.h"
#include "report/collector_status.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_USUAL "/etc/sonde/collect.conf"
#define WHY_MAX 4096
#define PLAN_TEXT_MAX (1u << 20)

struct settings {
    const char *config, *key, *allow, *journal, *journal_size, *journal_age, *http, *socket, *rollup, *colmet, *kafka, *series;
    const char **listen, **sinks, **upstream, **upstream_keys;
    bool plain, plain_network, munge, check, status, json, quiet;
    bool is_misused; /* the mistake is in the command line, not in the file */
};

static enum err add(struct collector_plan *plan, const char *name, const char *value, struct buf *why)
{
    if (!value)
        return OK;
    buf_printf(why, "--%s: ", name);
    enum err err = collector_plan_set(plan, name, value, why);
    if (!err)
        buf_reset(why);
    return err;
}

static enum err add_list(struct collector_plan *plan, const char *name, const char **values, struct buf *why)
{
    enum err err = OK;
    if (values && *values)
        collector_plan_empty(plan, name); /* of addresses those of the options count; sinks come to those of the file */
    for (; values && *values && !err; values++)
        err = add(plan, name, *values, why);
    return err;
}

static enum err add_options(const struct settings *settings, struct collector_plan *plan, struct buf *why)
{
    const struct { const char *name, *value; } texts[] = {
        { "key", settings->key }, { "allow", settings->allow }, { "journal", settings->journal },
        { "journal-size", settings->journal_size }, { "journal-age", settings->journal_age }, { "http", settings->http },
        { "socket", settings->socket }, { "rollup", settings->rollup }, { "colmet", settings->colmet },
        { "series", settings->series }, { "from-kafka", settings->kafka }, { "plain", settings->plain ? "yes" : NULL },
        { "plain-network", settings->plain_network ? "yes" : NULL }, { "munge", settings->munge ? "yes" : NULL },
    };
    enum err err = OK;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !err; i++)
        err = add(plan, texts[i].name, texts[i].value, why);
    if (!err)
        err = add_list(plan, "listen", settings->listen, why);
    if (!err)
        err = add_list(plan, "sink", settings->sinks, why);
    if (!err)
        err = add_list(plan, "upstream", settings->upstream, why);
    return err ? err : add_list(plan, "upstream-key", settings->upstream_keys, why);
}

/* The file first, so that options win. One that nobody named may be missing. */
static enum err add_file(const struct settings *settings, struct collector_plan *plan, struct buf *why)
{
    enum err err = collector_plan_read(plan, settings->config ? settings->config : CONFIG_USUAL, why);
    if (err != ABSENT || settings->config)
        return err;
    buf_reset(why);
    return OK;
}

static enum err make_plan(void *context, struct collector_plan *plan, struct buf *why)
{
    struct settings *settings = context;
    collector_plan_init(plan);
    enum err err = add_file(settings, plan, why);
    if (!err) {
        err = add_options(settings, plan, why);
        settings->is_misused = err == USAGE;
    }
    if (!err) {
        err = collector_plan_finish(plan, why);
        settings->is_misused = err == USAGE && (settings->listen || settings->upstream);
    }
    if (err)
        collector_plan_clear(plan);
    return err;
}

/* What would only be seen when they are opened. */
static enum err check_sinks(const struct collector_plan *plan, struct buf *why)
{
    enum err err = OK;
    for (size_t i = 0; i < plan->sink_count && !err; i++)
        err = sink_choice_check(&plan->sinks[i], why);
    return err;
}

static int check(const struct command_call *call, struct settings *settings)
{
    struct collector_plan plan;
    struct buf text;
    buf_init(&text, PLAN_TEXT_MAX);
    enum err err = make_plan(settings, &plan, &text);
    if (!err && settings->check && (err = check_sinks(&plan, &text)))
        collector_plan_clear(&plan);
    const char *why = text.size ? buf_text(&text) : err_text(err);
    int status = !err ? EXIT_GOOD : settings->is_misused ? command_misused(call, "%s", why) : command_fail(call, "%s", why);
    if (!err && settings->check && call->globals->verbose) {
        collector_plan_write(&plan, &text);
        status = command_print(call, &text);
    } else if (!err && settings->check && !settings->quiet)
        puts("The configuration is good.");
    if (!err)
        collector_plan_clear(&plan);
    buf_clear(&text);
    return status;
}

/* The collector of this machine has a socket of its own name. */
static const char *where_of(const struct command_call *call, char path[ASK_PATH_MAX])
{
    const struct settings *settings = call->settings;
    if (call->count)
        return call->operands[0];
    if (settings->socket)
        return settings->socket;
    return ask_socket_named(ASK_SOCKET_COLLECTOR, path) ? "127.0.0.1:1338" : path;
}

static int show_status(const struct command_call *call)
{
    const struct settings *settings = call->settings;
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    char path[ASK_PATH_MAX];
    struct buf answer, why, out;
    int status = EXIT_GOOD;
    buf_init(&answer, COMMAND_ANSWER_MAX);
    buf_init(&why, WHY_MAX);
    buf_init(&out, COMMAND_ANSWER_MAX);
    enum err err = command_ask_quietly(where_of(call, path), "GET", "/status", (struct bytes){ 0 }, &answer, &why);
    if (err == ABSENT && !call->count)
        status = command_fail(call, "no collector runs on this machine. Start one with 'sonde collect', or say where it is.");
    else if (err)
        status = command_fail(call, "%s", buf_text(&why));
    else if (settings->json)
        status = command_print(call, &answer);
    else if (collector_show(&out, &terminal, buf_text(&answer), answer.size))
        status = command_fail(call, "the answer cannot be read; is it a collector, and of this version?");
    else
        status = command_print(call, &out);
    buf_clear(&answer);
    buf_clear(&why);
    buf_clear(&out);
    return status;
}

static int run(const struct command_call *call)
{
    struct settings *settings = call->settings;
    if (settings->status)
        return show_status(call);
    if (call->count)
        return command_misused(call, "'%s': a place is of use with --status only", call->operands[0]);
    if (settings->quiet)
        log_set_level(-1);
    int status = check(call, settings);
    if (status || settings->check)
        return status;
    struct collector_settings collector = { make_plan, settings };
    return collector_run(&collector) ? EXIT_FAILED : EXIT_GOOD;
}

#define FIELD(field) .offset = offsetof(struct settings, field)

static const struct option options[] = {
    { .letter = 'c', .name = "config", .argument = "FILE", .type = OPTION_TEXT, FIELD(config),
      .help = "Read this configuration; without it " CONFIG_USUAL ", if it is there" },
    { .letter = 'l', .name = "listen", .argument = "ADDRESS", .type = OPTION_LIST, FIELD(listen),
      .help = "Take samples there; may be given several times. Default: " COLLECTOR_LISTEN },
    { .name = "key", .argument = "FILE", .type = OPTION_TEXT, FIELD(key),
      .help = "The collector's own key pair, made by 'sonde keygen'. Default: /etc/sonde/" COLLECTOR_KEY },
    { .name = "allow", .argument = "FILE", .type = OPTION_TEXT, FIELD(allow),
      .help = "Who may send: a line with public key and host name for each. Read again when it changes. "
              "Default: /etc/sonde/" COLLECTOR_ALLOW },
    { .name = "plain", .type = OPTION_FLAG, FIELD(plain),
      .help = "No keys, nothing is encrypted; refused for addresses that other machines reach" },
    { .name = "plain-network", .type = OPTION_FLAG, FIELD(plain_network),
      .help = "With --plain: for those addresses too. Then anybody who reaches them can send anything" },
    { .name = "munge", .type = OPTION_FLAG, FIELD(munge), .help = "Whoever sends must show a credential of munge too" },
    { .letter = 's', .name = "sink", .argument = "NAME[:KEY=VALUE,...]", .type = OPTION_LIST, FIELD(sinks),
      .help = "Write all samples there; may be given several times, and none waits for another. "
              "Default, without --upstream: store, the job database" },
    { .name = "journal", .argument = "DIR", .type = OPTION_TEXT, FIELD(journal),
      .help = "Keep there what has come until every sink has it. Default: /var/lib/sonde/journal as root, "
              "$XDG_STATE_HOME/sonde/journal as a user" },
    { .name = "journal-size", .argument = "BYTES", .type = OPTION_TEXT, FIELD(journal_size),
      .help = "At most so much; beyond it the oldest goes, and sinks that had not read it are told. Default: 1GiB" },
    { .name = "journal-age", .argument = "TIME", .type = OPTION_TEXT, FIELD(journal_age),
      .help = "Nothing that is older. Default: any age" },
    { .letter = 'u', .name = "upstream", .argument = "ADDRESS", .type = OPTION_LIST, FIELD(upstream),
      .help = "Hand all samples on to this collector; of several, to the first that answers" },
    { .name = "upstream-key", .argument = "KEY|FILE", .type = OPTION_LIST, FIELD(upstream_keys),
      .help = "Its public key; one for all, or one for each --upstream" },
    { .name = "rollup", .argument = "TIME", .type = OPTION_TEXT, FIELD(rollup),
      .help = "Hand on only minimum, mean, maximum and last of each TIME: of each host, and of each job over its hosts" },
    { .name = "colmet", .argument = "ADDRESS", .type = OPTION_TEXT, FIELD(colmet),
      .help = "Take what the nodes of Colmet push, at this address. Default: none" },
    { .name = "from-kafka", .argument = "BROKERS/TOPIC[,group=NAME]", .type = OPTION_TEXT, FIELD(kafka),
      .help = "Take what agents and collectors with the sink kafka:format=wire have written; of several collectors each "
              "takes a part. Then there is no --listen unless it is said" },
    { .name = "http", .argument = "ADDRESS:PORT", .type = OPTION_TEXT, FIELD(http),
      .help = "Serve /status, /metrics and /sets there; 'none': nowhere. Default: " COLLECTOR_HTTP },
    { .name = "socket", .argument = "PATH", .type = OPTION_TEXT, FIELD(socket),
      .help = "Serve the same there; 'none': nowhere. Default: /run/sonde/collector.sock as root, "
              "$XDG_RUNTIME_DIR/sonde/collector.sock as a user" },
    { .name = "series", .argument = "N", .type = OPTION_TEXT, FIELD(series),
      .help = "At most N series in an answer at /metrics; how many were left out is a series too. Default: 5000000" },
    { .name = "check", .type = OPTION_FLAG, FIELD(check),
      .help = "Only look whether options, configuration and sinks are good, without writing anything or connecting to anybody; "
              "with -v write them as a configuration" },
    { .name = "status", .type = OPTION_FLAG, FIELD(status),
      .help = "Show how the collector of this machine, or at WHERE, is: each host, each sink" },
    { .name = "json", .type = OPTION_FLAG, FIELD(json), .help = "With --status: as JSON" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, FIELD(quiet), .help = "Say nothing but errors" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde collect --sink csv:path=/data/sonde.csv --sink json:path=/data/sonde.json", "take from all whose keys are "
      "allowed, into two sinks" },
    { "sonde collect --plain --listen tcp://127.0.0.1:5555", "to try it on one machine, without keys" },
    { "sonde collect --status", "who sends, who is silent, which sink is behind" },
    { "sonde collect --upstream tcp://top:5555 --upstream-key top.pub", "hand on to another collector" },
    { "sonde ls collector:1338", "what all hosts hold now" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "the folder of the socket, in place of the usual one" },
    { "NOTIFY_SOCKET, WATCHDOG_USEC", "set by systemd, which is told when the collector is ready and that it is alive" },
    { 0 },
};

const struct command command_collect = {
    .name = "collect",
    .about = "receive the samples of many agents, and write them to every sink",
    .usage = "[OPTIONS]",
    .description =
        "Takes what agents (sonde agent --collector) and other collectors send, keeps it in a journal on disk, and "
        "acknowledges it then. Each sink reads the journal at its own speed: one that is away holds up nobody, and gets "
        "what it has missed when it is back.\n\n"
        "Connections are encrypted, and only those whose public keys are in the list of --allow are let in: 'sonde keygen' "
        "makes the keys.\n\n"
        "The configuration file has the same names as the options, one per line:\n\n"
        "  listen = tcp://*:5555\n"
        "  sink = csv:path=/var/lib/sonde/samples.csv\n"
        "  journal-size = 10GiB\n\n"
        "SIGHUP reads it and the keys anew and opens the files of sinks anew; with a mistake in it the collector says so and "
        "goes on as before. SIGTERM and SIGINT end it: what has come is safe and acknowledged, and the status is 0.",
    .options = options,
    .settings_size = sizeof(struct settings),
    .operands_max = 1,
    .operand = "WHERE",
    .examples = examples,
    .environment = environment,
    .see_also = "agent ls",
    .run = run,
};
