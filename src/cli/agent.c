/* sonde agent: reads the sensors of this node until it is stopped. Options and the keys of the configuration file have
 * the same names; both go through agent_config_set. */
#include "cli/command.h"

#include "agent/agent.h"
#include "agent/agent_config.h"
#include "base/log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_USUAL "/etc/sonde/agent.conf"
#define ERROR_MAX 4096
#define PLAN_TEXT_MAX (1u << 20)

struct agent_options {
    const char *config, *period, *sensors, *events, *jobs, *listen, *socket, *colmet, *producer, *series;
    const char *key, *spool, *spool_size, *spool_age;
    const char **sets, **sinks, **collectors, **collector_keys;
    bool once, check, quiet, plain, plain_network, munge, http_munge;
    bool is_misused; /* the error is in the command line, not in the file */
};

/* Without a sink, --once would print nothing. */
static enum err add_print(const struct agent_options *settings, struct agent_config *config, struct buf *error)
{
    return settings->once && !config->sink_count ? agent_config_set(config, "", "sink", "csv", error) : OK;
}

static enum err add_option(struct agent_config *config, const char *name, const char *value, struct buf *error)
{
    if (!value)
        return OK;
    buf_printf(error, "--%s: ", name);
    enum err err = agent_config_set(config, "", name, value, error);
    if (!err)
        buf_reset(error);
    return err;
}

/* Lists given as options replace those of the file. */
static enum err add_list(struct agent_config *config, const char *name, const char *const *values, struct buf *error)
{
    enum err err = values && *values ? add_option(config, name, AGENT_NONE, error) : OK;
    for (; values && *values && !err; values++)
        err = add_option(config, name, *values, error);
    return err;
}

static enum err add_uplink(const struct agent_options *settings, struct agent_config *config, struct buf *error)
{
    const struct { const char *name, *value; } strings[] = {
        { "key", settings->key }, { "spool", settings->spool }, { "spool-size", settings->spool_size },
        { "spool-age", settings->spool_age }, { "plain", settings->plain ? "yes" : NULL },
        { "plain-network", settings->plain_network ? "yes" : NULL }, { "munge", settings->munge ? "yes" : NULL },
        { "http-munge", settings->http_munge ? "yes" : NULL },
    };
    enum err err = add_list(config, "collector", settings->collectors, error);
    if (!err)
        err = add_list(config, "collector-key", settings->collector_keys, error);
    for (size_t i = 0; !err && i < sizeof strings / sizeof *strings; i++)
        err = add_option(config, strings[i].name, strings[i].value, error);
    return err;
}

static enum err add_options(const struct agent_options *settings, struct agent_config *config, struct buf *error)
{
    enum err err = add_option(config, "period", settings->period, error);
    if (!err)
        err = add_option(config, "sensors", settings->sensors, error);
    if (!err)
        err = add_option(config, "events", settings->events, error);
    if (!err)
        err = add_option(config, "jobs", settings->jobs, error);
    if (!err)
        err = add_option(config, "listen", settings->listen, error);
    if (!err)
        err = add_option(config, "socket", settings->socket, error);
    if (!err)
        err = add_option(config, "colmet", settings->colmet, error);
    if (!err)
        err = add_option(config, "producer", settings->producer, error);
    if (!err)
        err = add_option(config, "series", settings->series, error);
    if (!err)
        err = add_uplink(settings, config, error);
    for (const char **sink = settings->sinks; sink && *sink && !err; sink++)
        err = add_option(config, "sink", *sink, error);
    for (const char **line = settings->sets; line && *line && !err; line++)
        err = agent_config_set_line(config, *line, error);
    return err ? err : add_print(settings, config, error);
}

/* The file comes first, so that options override it. The default file may be missing. */
static enum err add_file(const struct agent_options *settings, struct agent_config *config, struct buf *error)
{
    enum err err = agent_config_read(config, settings->config ? settings->config : CONFIG_USUAL, error);
    if (err != ABSENT || settings->config)
        return err;
    buf_reset(error);
    return OK;
}

static enum err load_config(void *context, struct agent_config *config, struct buf *error)
{
    struct agent_options *settings = context;
    enum err err = agent_config_init(config, NULL);
    if (err)
        return err;
    err = add_file(settings, config, error);
    if (!err) {
        err = add_options(settings, config, error);
        settings->is_misused = err == USAGE;
    }
    if (!err) {
        err = uplink_config_check(&config->uplink, error);
        settings->is_misused = err == USAGE && settings->collectors;
    }
    if (err)
        agent_config_clear(config);
    return err;
}

static int show_plan(const struct command_call *call, const struct agent_config *config)
{
    struct buf out;
    buf_init(&out, PLAN_TEXT_MAX);
    agent_config_write(&out, config);
    int status = command_print(call, &out);
    buf_clear(&out);
    return status;
}

static int refuse(const struct command_call *call, const struct agent_options *settings, const char *error)
{
    return settings->is_misused ? command_usage_error(call, "%s", error) : command_fail(call, "%s", error);
}

/* Finds errors that would otherwise show up only at startup. */
static enum err check_more(const struct agent_config *config, struct buf *error)
{
    enum err err = uplink_config_check_keys(&config->uplink, error);
    for (size_t i = 0; i < config->sink_count && !err; i++)
        err = sink_choice_check(&config->sinks[i], error);
    return err;
}

static int check(const struct command_call *call, struct agent_options *settings)
{
    struct agent_config config;
    struct buf error;
    buf_init(&error, ERROR_MAX);
    enum err err = load_config(settings, &config, &error);
    if (!err && settings->check && (err = check_more(&config, &error)))
        agent_config_clear(&config);
    int status = err ? refuse(call, settings, error.size ? buf_text(&error) : err_text(err)) : EXIT_GOOD;
    if (!err && settings->check && call->globals->verbose)
        status = show_plan(call, &config);
    else if (!err && settings->check && !settings->quiet)
        puts("Configuration OK.");
    if (!err)
        agent_config_clear(&config);
    buf_clear(&error);
    return status;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int run_agent(const struct command_call *call)
{
    struct agent_options *settings = call->settings;
    struct agent_settings agent = {
        .root = call->globals->root ? call->globals->root : "", .load_config = load_config, .context = settings,
    };
    if (settings->quiet)
        log_set_level(-1);
    if (*agent.root && !is_directory(agent.root))
        return command_fail(call, "--root: no such directory: %s", agent.root);
    int status = check(call, settings);
    if (status || settings->check)
        return status;
    enum err err = settings->once ? agent_once(&agent) : agent_run(&agent);
    return err ? EXIT_FAILED : EXIT_GOOD;
}

#define FIELD(field) .offset = offsetof(struct agent_options, field)

static const struct option options[] = {
    { .letter = 'c', .name = "config", .argument = "FILE", .type = OPTION_TEXT, FIELD(config),
      .help = "Configuration file; default: " CONFIG_USUAL ", if it exists" },
    { .letter = 'p', .name = "period", .argument = "PERIOD", .type = OPTION_TEXT, FIELD(period),
      .help = "Sampling interval, 1ms to 7d, aligned to the wall clock. Default: 1s" },
    { .name = "sensors", .argument = "LIST", .type = OPTION_TEXT, FIELD(sensors),
      .help = "Read only these sensors: meminfo,stat; or all except some: -ipmi,-gpu. 'sonde doctor' lists them" },
    { .name = "set", .argument = "SENSOR.KEY=VALUE", .type = OPTION_LIST, FIELD(sets),
      .help = "Set one option of one sensor: meminfo.period=10s, ipmi.enabled=no; may be repeated" },
    { .letter = 'e', .name = "events", .argument = "EVENTS", .type = OPTION_TEXT, FIELD(events),
      .help = "Count these perf events for each job, comma-separated; same as --set perf.events=EVENTS" },
    { .name = "jobs", .argument = "LIST", .type = OPTION_TEXT, FIELD(jobs),
      .help = "Discover jobs of these batch systems: slurm, oar, pbs; 'all', 'none'. Jobs registered with 'sonde job' and "
              "'sonde run' are always known. Default: all" },
    { .name = "listen", .argument = "ADDRESS:PORT", .type = OPTION_TEXT, FIELD(listen),
      .help = "Serve /metrics on this address, without authentication; 'none': off. Default: " AGENT_LISTEN },
    { .name = "socket", .argument = "PATH", .type = OPTION_TEXT, FIELD(socket),
      .help = "Socket for sonde ls, top, job and ctl; 'none': off. Default: /run/sonde/agent.sock as root, "
              "$XDG_RUNTIME_DIR/sonde/agent.sock as a user, or in /tmp/sonde-UID" },
    { .name = "colmet", .argument = "ADDRESS", .type = OPTION_TEXT, FIELD(colmet),
      .help = "Accept messages of Colmet's configure_colmet.py on ADDRESS, such as tcp://127.0.0.1:5557, without "
              "authentication. Default: none" },
    { .name = "http-munge", .type = OPTION_FLAG, FIELD(http_munge),
      .help = "Requests over TCP from other nodes need a munge credential (sonde ls --auth munge, ldms_ls -a munge), and show "
              "the jobs of its user only; /metrics is not affected" },
    { .name = "producer", .argument = "NAME", .type = OPTION_TEXT, FIELD(producer),
      .help = "Names of producers for ldms_ls, with %{user}, %{host} and %{job}; default: %{host}" },
    { .name = "series", .argument = "N", .type = OPTION_TEXT, FIELD(series),
      .help = "Limit a response of /metrics to N series; an additional series counts the omitted ones. Default: 200000" },
    { .name = "sink", .argument = "NAME[:KEY=VALUE,...]", .type = OPTION_LIST, FIELD(sinks),
      .help = "Also write all samples to this sink: csv:path=FILE, json:path=FILE; may be repeated" },
    { .name = "collector", .argument = "ADDRESS", .type = OPTION_LIST, FIELD(collectors),
      .help = "Send all samples to this collector, tcp://HOST:5555; if repeated, to the first that responds" },
    { .name = "collector-key", .argument = "KEY|FILE", .type = OPTION_LIST, FIELD(collector_keys),
      .help = "Public key of the collector, or a file that contains it; one for all collectors, or one for each" },
    { .name = "key", .argument = "FILE", .type = OPTION_TEXT, FIELD(key),
      .help = "Key of this host, created by 'sonde keygen'. Default: /etc/sonde/host.key as root, "
              "~/.config/sonde/host.key as a user" },
    { .name = "plain", .type = OPTION_FLAG, FIELD(plain),
      .help = "Send unencrypted and without keys, to a collector on this node" },
    { .name = "plain-network", .type = OPTION_FLAG, FIELD(plain_network),
      .help = "With --plain: also over a network, where anyone on the path can read and change the data" },
    { .name = "munge", .type = OPTION_FLAG, FIELD(munge), .help = "Also authenticate to the collector with a MUNGE credential" },
    { .name = "spool", .argument = "DIR", .type = OPTION_TEXT, FIELD(spool),
      .help = "Journal directory, where samples wait until the collector and the buffered sinks have them. Default: "
              "/var/lib/sonde/spool as root, $XDG_STATE_HOME/sonde/spool as a user" },
    { .name = "spool-size", .argument = "BYTES", .type = OPTION_TEXT, FIELD(spool_size),
      .help = "Maximum size of the journal; beyond it the oldest samples are dropped and the gap is reported. Default: 1GiB" },
    { .name = "spool-age", .argument = "AGE", .type = OPTION_TEXT, FIELD(spool_age),
      .help = "Maximum age of samples in the journal. Default: 7d" },
    { .name = "once", .type = OPTION_FLAG, FIELD(once),
      .help = "Read every sensor once, print the values as CSV (or write them to the sinks), and exit" },
    { .name = "check", .type = OPTION_FLAG, FIELD(check),
      .help = "Only check the options and the configuration; with -v print them as a configuration file, with every setting "
              "of every sensor" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, FIELD(quiet), .help = "Print only errors" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde agent", "read every sensor of this node each second, and serve the values at " AGENT_LISTEN "/metrics" },
    { "sonde agent -p 10s --sensors -ipmi --listen 0.0.0.0:1337",
      "every ten seconds, without the BMC, listening on all interfaces" },
    { "sonde agent --once --sensors meminfo", "the current memory usage, as CSV" },
    { "sonde agent --check -v > agent.conf", "a configuration file to start from" },
    { "sonde agent --collector login1 --collector login2 --collector-key /etc/sonde/collector.key.pub",
      "send all samples to a collector" },
    { "sonde agent --sink csv:path=/var/log/sonde.csv --set interrupts.period=1m", "also write them to a file" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "Directory of the socket, instead of the default." },
    { "SONDE_MUNGE_SOCKET", "With --munge: the socket of munged, if it is not the default." },
    { "NOTIFY_SOCKET, WATCHDOG_USEC", "Set by systemd, which is notified when the agent is ready and while it is alive." },
    { 0 },
};

const struct command command_agent = {
    .name = "agent",
    .about = "read every sensor of this node and of its jobs, until stopped",
    .usage = "[OPTIONS]",
    .description =
        "Reads the sensors of the node at each interval, assigns the values to the jobs they belong to, and serves them: to "
        "Prometheus at /metrics, to 'sonde ls' and 'sonde top'. Root is optional and adds metrics: 'sonde doctor' lists what a "
        "user cannot read.\n\n"
        "Keys of the configuration file have the names of the options, one per line; sensors have sections:\n\n"
        "  period = 1s\n"
        "  sensors = -ipmi\n"
        "  [diskstats]\n"
        "  period = 10s\n\n"
        "With --collector the samples are also sent to a collector ('sonde collect'). They stay in a journal on disk until it "
        "has acknowledged them; if it is down, the next in the list is tried, and nothing is lost until the journal is full. "
        "Sinks that write to databases, brokers and servers use the same journal.\n\n"
        "SIGHUP reloads the configuration; if it has an error, the agent logs it and keeps the old one. SIGTERM and SIGINT stop "
        "the agent: pending samples are written, and the exit status is 0. 'sonde ctl' changes a running agent.",
    .options = options,
    .settings_size = sizeof(struct agent_options),
    .shares = COMMAND_ROOT,
    .examples = examples,
    .environment = environment,
    .see_also = "top ls job ctl collect keygen doctor",
    .run = run_agent,
};
