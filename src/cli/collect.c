/* sonde collect: receives samples from agents and other collectors until it is stopped; or shows the status of a
 * running one. Options and the keys of the configuration file have the same names; both go through
 * collector_config_set. */
#include "api/schema.h"
#include "cli/command_agent.h"

#include "base/log.h"
#include "collector/collector.h"
#include "report/collector_status.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_USUAL "/etc/sonde/collect.conf"
#define ERROR_MAX 4096
#define PLAN_TEXT_MAX (1u << 20)

struct collect_options {
    const char *config, *key, *allow, *journal, *journal_size, *journal_age, *http, *socket, *rollup, *colmet, *producer;
    const char *kafka, *series;
    const char **listen, **sinks, **upstream, **upstream_keys;
    bool plain, plain_network, munge, http_munge, check, status, json, quiet;
    bool is_misused; /* the error is in the command line, not in the file */
};

static enum err add(struct collector_config *config, const char *name, const char *value, struct buf *error)
{
    if (!value)
        return OK;
    buf_printf(error, "--%s: ", name);
    enum err err = collector_config_set(config, name, value, error);
    if (!err)
        buf_reset(error);
    return err;
}

static enum err add_list(struct collector_config *config, const char *name, const char **values, struct buf *error)
{
    enum err err = OK;
    if (values && *values)
        collector_config_clear_list(config, name); /* addresses replace those of the file; sinks are added to them */
    for (; values && *values && !err; values++)
        err = add(config, name, *values, error);
    return err;
}

static enum err add_options(const struct collect_options *settings, struct collector_config *config, struct buf *error)
{
    const struct { const char *name, *value; } strings[] = {
        { "key", settings->key }, { "allow", settings->allow }, { "journal", settings->journal },
        { "journal-size", settings->journal_size }, { "journal-age", settings->journal_age }, { "http", settings->http },
        { "socket", settings->socket }, { "rollup", settings->rollup }, { "colmet", settings->colmet },
        { "producer", settings->producer },
        { "series", settings->series }, { "from-kafka", settings->kafka }, { "plain", settings->plain ? "yes" : NULL },
        { "plain-network", settings->plain_network ? "yes" : NULL }, { "munge", settings->munge ? "yes" : NULL },
        { "http-munge", settings->http_munge ? "yes" : NULL },
    };
    enum err err = OK;
    for (size_t i = 0; i < sizeof strings / sizeof *strings && !err; i++)
        err = add(config, strings[i].name, strings[i].value, error);
    if (!err)
        err = add_list(config, "listen", settings->listen, error);
    if (!err)
        err = add_list(config, "sink", settings->sinks, error);
    if (!err)
        err = add_list(config, "upstream", settings->upstream, error);
    return err ? err : add_list(config, "upstream-key", settings->upstream_keys, error);
}

/* The file comes first, so that options override it. The default file may be missing. */
static enum err add_file(const struct collect_options *settings, struct collector_config *config, struct buf *error)
{
    enum err err = collector_config_read(config, settings->config ? settings->config : CONFIG_USUAL, error);
    if (err != ABSENT || settings->config)
        return err;
    buf_reset(error);
    return OK;
}

static enum err load_config(void *context, struct collector_config *config, struct buf *error)
{
    struct collect_options *settings = context;
    collector_config_init(config);
    enum err err = add_file(settings, config, error);
    if (!err) {
        err = add_options(settings, config, error);
        settings->is_misused = err == USAGE;
    }
    if (!err) {
        err = collector_config_finish(config, error);
        settings->is_misused = err == USAGE && (settings->listen || settings->upstream);
    }
    if (err)
        collector_config_clear(config);
    return err;
}

/* Finds errors that would otherwise show up only when the sinks are opened. */
static enum err check_sinks(const struct collector_config *config, struct buf *error)
{
    enum err err = OK;
    for (size_t i = 0; i < config->sink_count && !err; i++)
        err = sink_choice_check(&config->sinks[i], error);
    return err;
}

static int check(const struct command_call *call, struct collect_options *settings)
{
    struct collector_config config;
    struct buf text;
    buf_init(&text, PLAN_TEXT_MAX);
    enum err err = load_config(settings, &config, &text);
    if (!err && settings->check && (err = check_sinks(&config, &text)))
        collector_config_clear(&config);
    const char *error = text.size ? buf_text(&text) : err_text(err);
    int status = !err ? EXIT_GOOD : settings->is_misused ? command_usage_error(call, "%s", error) : command_fail(call,
                                                                                                                 "%s", error);
    if (!err && settings->check && call->globals->verbose) {
        collector_config_write(&config, &text);
        status = command_print(call, &text);
    } else if (!err && settings->check && !settings->quiet)
        puts("Configuration OK.");
    if (!err)
        collector_config_clear(&config);
    buf_clear(&text);
    return status;
}

/* The collector's socket has its own name. */
static const char *address_of(const struct command_call *call, char path[AGENT_CLIENT_PATH_MAX])
{
    const struct collect_options *settings = call->settings;
    if (call->count)
        return call->operands[0];
    if (settings->socket)
        return settings->socket;
    return agent_client_socket_named(AGENT_CLIENT_SOCKET_COLLECTOR, path) ? "127.0.0.1:1338" : path;
}

static int show_status(const struct command_call *call)
{
    const struct collect_options *settings = call->settings;
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    char path[AGENT_CLIENT_PATH_MAX];
    struct buf answer, error, out;
    int status = EXIT_GOOD;
    buf_init(&answer, COMMAND_ANSWER_MAX);
    buf_init(&error, ERROR_MAX);
    buf_init(&out, COMMAND_ANSWER_MAX);
    enum err err = command_try_request(address_of(call, path), "GET", API_PATH_STATUS, (struct bytes){ 0 }, &answer, &error);
    if (err == ABSENT && !call->count)
        status = command_fail(call, "no collector is running on this node; start one with 'sonde collect', or give its "
                                    "address");
    else if (err)
        status = command_fail(call, "%s", buf_text(&error));
    else if (settings->json)
        status = command_print(call, &answer);
    else if (collector_status_print(&out, &terminal, buf_text(&answer), answer.size))
        status = command_fail(call, "cannot parse the response; is this a collector of the same version?");
    else
        status = command_print(call, &out);
    buf_clear(&answer);
    buf_clear(&error);
    buf_clear(&out);
    return status;
}

static int run(const struct command_call *call)
{
    struct collect_options *settings = call->settings;
    if (settings->status)
        return show_status(call);
    if (call->count)
        return command_usage_error(call, "'%s': an address is only valid with --status", call->operands[0]);
    if (settings->quiet)
        log_set_level(-1);
    int status = check(call, settings);
    if (status || settings->check)
        return status;
    struct collector_settings collector = { load_config, settings };
    return collector_run(&collector) ? EXIT_FAILED : EXIT_GOOD;
}

#define FIELD(field) .offset = offsetof(struct collect_options, field)

static const struct option options[] = {
    { .letter = 'c', .name = "config", .argument = "FILE", .type = OPTION_TEXT, FIELD(config),
      .help = "Configuration file; default: " CONFIG_USUAL ", if it exists" },
    { .letter = 'l', .name = "listen", .argument = "ADDRESS", .type = OPTION_LIST, FIELD(listen),
      .help = "Receive samples on this address; may be repeated. Default: " COLLECTOR_LISTEN },
    { .name = "key", .argument = "FILE", .type = OPTION_TEXT, FIELD(key),
      .help = "The collector's own key pair, created by 'sonde keygen'. Default: /etc/sonde/" COLLECTOR_KEY },
    { .name = "allow", .argument = "FILE", .type = OPTION_TEXT, FIELD(allow),
      .help = "Authorized senders: one line with public key and host name for each. Reloaded when it changes. "
              "Default: /etc/sonde/" COLLECTOR_ALLOW },
    { .name = "plain", .type = OPTION_FLAG, FIELD(plain),
      .help = "No keys, no encryption; refused for addresses that other nodes can reach" },
    { .name = "plain-network", .type = OPTION_FLAG, FIELD(plain_network),
      .help = "With --plain: also for such addresses. Anyone who reaches them can then send anything" },
    { .name = "munge", .type = OPTION_FLAG, FIELD(munge), .help = "Require a MUNGE credential from every sender as well" },
    { .letter = 's', .name = "sink", .argument = "NAME[:KEY=VALUE,...]", .type = OPTION_LIST, FIELD(sinks),
      .help = "Write all samples to this sink; may be repeated. Sinks do not delay each other. "
              "Default, without --upstream: store, the job database" },
    { .name = "journal", .argument = "DIR", .type = OPTION_TEXT, FIELD(journal),
      .help = "Journal directory, where samples are kept until every sink has them. Default: /var/lib/sonde/journal as root, "
              "$XDG_STATE_HOME/sonde/journal as a user" },
    { .name = "journal-size", .argument = "BYTES", .type = OPTION_TEXT, FIELD(journal_size),
      .help = "Maximum size of the journal; beyond it the oldest samples are dropped, and sinks that missed them log it. "
              "Default: 1GiB" },
    { .name = "journal-age", .argument = "TIME", .type = OPTION_TEXT, FIELD(journal_age),
      .help = "Maximum age of samples in the journal. Default: unlimited" },
    { .letter = 'u', .name = "upstream", .argument = "ADDRESS", .type = OPTION_LIST, FIELD(upstream),
      .help = "Forward all samples to this collector; if repeated, to the first that responds" },
    { .name = "upstream-key", .argument = "KEY|FILE", .type = OPTION_LIST, FIELD(upstream_keys),
      .help = "Public key of the upstream collector; one for all, or one for each --upstream" },
    { .name = "rollup", .argument = "TIME", .type = OPTION_TEXT, FIELD(rollup),
      .help = "Forward only minimum, mean, maximum and last value of each TIME: per host, and per job over its hosts" },
    { .name = "colmet", .argument = "ADDRESS", .type = OPTION_TEXT, FIELD(colmet),
      .help = "Receive what Colmet's nodes push, on this address. Default: none" },
    { .name = "from-kafka", .argument = "BROKERS/TOPIC[,group=NAME]", .type = OPTION_TEXT, FIELD(kafka),
      .help = "Consume what agents and collectors with the sink kafka:format=wire have written; several collectors share the "
              "partitions. Disables the default --listen" },
    { .name = "http", .argument = "ADDRESS:PORT", .type = OPTION_TEXT, FIELD(http),
      .help = "Serve /status, /metrics and /sets on this address; 'none': off. Default: " COLLECTOR_HTTP },
    { .name = "socket", .argument = "PATH", .type = OPTION_TEXT, FIELD(socket),
      .help = "Serve the same on this socket; 'none': off. Default: /run/sonde/collector.sock as root, "
              "$XDG_RUNTIME_DIR/sonde/collector.sock as a user" },
    { .name = "http-munge", .type = OPTION_FLAG, FIELD(http_munge),
      .help = "Requests over TCP from other nodes need a munge credential (sonde ls --auth munge, ldms_ls -a munge), and show "
              "the jobs of its user only; /metrics is not affected" },
    { .name = "producer", .argument = "NAME", .type = OPTION_TEXT, FIELD(producer),
      .help = "Names of producers for ldms_ls, with %{user}, %{host} and %{job}; default: %{host}" },
    { .name = "series", .argument = "N", .type = OPTION_TEXT, FIELD(series),
      .help = "Limit a response of /metrics to N series; an additional series counts the omitted ones. Default: 5000000" },
    { .name = "check", .type = OPTION_FLAG, FIELD(check),
      .help = "Only check the options, configuration and sinks, without writing or connecting to anything; with -v print them as "
              "a configuration file" },
    { .name = "status", .type = OPTION_FLAG, FIELD(status),
      .help = "Show the status of the collector on this node, or at ADDRESS: each host, each sink" },
    { .name = "json", .type = OPTION_FLAG, FIELD(json), .help = "With --status: print JSON" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, FIELD(quiet), .help = "Print only errors" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde collect --sink csv:path=/data/sonde.csv --sink json:path=/data/sonde.json", "receive from all authorized hosts, "
      "into two sinks" },
    { "sonde collect --plain --listen tcp://127.0.0.1:5555", "try it on one node, without keys" },
    { "sonde collect --status", "which hosts send, which are silent, which sinks lag" },
    { "sonde collect --upstream tcp://top:5555 --upstream-key top.pub", "forward to another collector" },
    { "sonde ls collector:1338", "the current metric sets of all hosts" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "Directory of the socket, instead of the default." },
    { "NOTIFY_SOCKET, WATCHDOG_USEC", "Set by systemd, which is notified when the collector is ready and while it is alive." },
    { 0 },
};

const struct command command_collect = {
    .name = "collect",
    .about = "receive samples from many agents and write them to every sink",
    .usage = "[OPTIONS] [--status [ADDRESS]]",
    .description =
        "Receives samples from agents (sonde agent --collector) and other collectors, writes them to a journal on disk, then "
        "acknowledges them. Each sink reads the journal at its own speed: a sink that is down catches up when it returns, "
        "without delaying the others.\n\n"
        "Connections are encrypted, and only senders whose public keys are listed in the --allow file are accepted; 'sonde "
        "keygen' creates the keys.\n\n"
        "Keys of the configuration file have the names of the options, one per line:\n\n"
        "  listen = tcp://*:5555\n"
        "  sink = csv:path=/var/lib/sonde/samples.csv\n"
        "  journal-size = 10GiB\n\n"
        "SIGHUP reloads the configuration and the keys and reopens the files of sinks; if the configuration has an error, the "
        "collector logs it and keeps the old one. SIGTERM and SIGINT stop it: everything received is on disk and acknowledged, "
        "and the exit status is 0.",
    .options = options,
    .settings_size = sizeof(struct collect_options),
    .operands_max = 1,
    .operand = "ADDRESS",
    .examples = examples,
    .environment = environment,
    .see_also = "agent ls",
    .run = run,
};
