/* sonde agent: reads the sensors of this node for as long as it runs. Options and the configuration file say the same
 * things with the same names; both go through plan_set. */
#include "cli/command.h"

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/plan_write.h"
#include "base/log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_USUAL "/etc/sonde/agent.conf"
#define WHY_MAX 4096
#define PLAN_TEXT_MAX (1u << 20)

struct settings {
    const char *config, *period, *sensors, *events, *jobs, *listen, *socket, *colmet, *series;
    const char *key, *spool, *spool_size, *spool_age;
    const char **sets, **sinks, **collectors, **collector_keys;
    bool once, check, quiet, plain, plain_network, munge;
    bool is_misused; /* the mistake is in the command line, not in the file */
};

/* Without a word an empty plan would print nothing: once is for people. */
static enum err add_print(const struct settings *settings, struct plan *plan, struct buf *why)
{
    return settings->once && !plan->sink_count ? plan_set(plan, "", "sink", "csv", why) : OK;
}

static enum err add_option(struct plan *plan, const char *name, const char *value, struct buf *why)
{
    if (!value)
        return OK;
    buf_printf(why, "--%s: ", name);
    enum err err = plan_set(plan, "", name, value, why);
    if (!err)
        buf_reset(why);
    return err;
}

/* Given as options, they replace those of the file. */
static enum err add_list(struct plan *plan, const char *name, const char *const *values, struct buf *why)
{
    enum err err = values && *values ? add_option(plan, name, PLAN_NONE, why) : OK;
    for (; values && *values && !err; values++)
        err = add_option(plan, name, *values, why);
    return err;
}

static enum err add_uplink(const struct settings *settings, struct plan *plan, struct buf *why)
{
    const struct { const char *name, *value; } texts[] = {
        { "key", settings->key }, { "spool", settings->spool }, { "spool-size", settings->spool_size },
        { "spool-age", settings->spool_age }, { "plain", settings->plain ? "yes" : NULL },
        { "plain-network", settings->plain_network ? "yes" : NULL }, { "munge", settings->munge ? "yes" : NULL },
    };
    enum err err = add_list(plan, "collector", settings->collectors, why);
    if (!err)
        err = add_list(plan, "collector-key", settings->collector_keys, why);
    for (size_t i = 0; !err && i < sizeof texts / sizeof *texts; i++)
        err = add_option(plan, texts[i].name, texts[i].value, why);
    return err;
}

static enum err add_options(const struct settings *settings, struct plan *plan, struct buf *why)
{
    enum err err = add_option(plan, "period", settings->period, why);
    if (!err)
        err = add_option(plan, "sensors", settings->sensors, why);
    if (!err)
        err = add_option(plan, "events", settings->events, why);
    if (!err)
        err = add_option(plan, "jobs", settings->jobs, why);
    if (!err)
        err = add_option(plan, "listen", settings->listen, why);
    if (!err)
        err = add_option(plan, "socket", settings->socket, why);
    if (!err)
        err = add_option(plan, "colmet", settings->colmet, why);
    if (!err)
        err = add_option(plan, "series", settings->series, why);
    if (!err)
        err = add_uplink(settings, plan, why);
    for (const char **sink = settings->sinks; sink && *sink && !err; sink++)
        err = add_option(plan, "sink", *sink, why);
    for (const char **line = settings->sets; line && *line && !err; line++)
        err = plan_set_line(plan, *line, why);
    return err ? err : add_print(settings, plan, why);
}

/* The file first, so that options win. One that nobody named may be missing. */
static enum err add_file(const struct settings *settings, struct plan *plan, struct buf *why)
{
    enum err err = config_read(plan, settings->config ? settings->config : CONFIG_USUAL, why);
    if (err != ABSENT || settings->config)
        return err;
    buf_reset(why);
    return OK;
}

static enum err make_plan(void *context, struct plan *plan, struct buf *why)
{
    struct settings *settings = context;
    enum err err = plan_init(plan, NULL);
    if (err)
        return err;
    err = add_file(settings, plan, why);
    if (!err) {
        err = add_options(settings, plan, why);
        settings->is_misused = err == USAGE;
    }
    if (!err) {
        err = uplink_plan_check(&plan->uplink, why);
        settings->is_misused = err == USAGE && settings->collectors;
    }
    if (err)
        plan_clear(plan);
    return err;
}

static int show_plan(const struct command_call *call, const struct plan *plan)
{
    struct buf out;
    buf_init(&out, PLAN_TEXT_MAX);
    plan_write(&out, plan);
    int status = command_print(call, &out);
    buf_clear(&out);
    return status;
}

static int refuse(const struct command_call *call, const struct settings *settings, const char *why)
{
    return settings->is_misused ? command_misused(call, "%s", why) : command_fail(call, "%s", why);
}

/* What would only be seen when it starts. */
static enum err check_more(const struct plan *plan, struct buf *why)
{
    enum err err = uplink_plan_check_keys(&plan->uplink, why);
    for (size_t i = 0; i < plan->sink_count && !err; i++)
        err = sink_choice_check(&plan->sinks[i], why);
    return err;
}

static int check(const struct command_call *call, struct settings *settings)
{
    struct plan plan;
    struct buf why;
    buf_init(&why, WHY_MAX);
    enum err err = make_plan(settings, &plan, &why);
    if (!err && settings->check && (err = check_more(&plan, &why)))
        plan_clear(&plan);
    int status = err ? refuse(call, settings, why.size ? buf_text(&why) : err_text(err)) : EXIT_GOOD;
    if (!err && settings->check && call->globals->verbose)
        status = show_plan(call, &plan);
    else if (!err && settings->check && !settings->quiet)
        puts("The configuration is good.");
    if (!err)
        plan_clear(&plan);
    buf_clear(&why);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int run_agent(const struct command_call *call)
{
    struct settings *settings = call->settings;
    struct agent_settings agent = {
        .root = call->globals->root ? call->globals->root : "", .make_plan = make_plan, .context = settings,
    };
    if (settings->quiet)
        log_set_level(-1);
    if (*agent.root && !is_folder(agent.root))
        return command_fail(call, "--root: there is no folder %s", agent.root);
    int status = check(call, settings);
    if (status || settings->check)
        return status;
    enum err err = settings->once ? agent_once(&agent) : agent_run(&agent);
    return err ? EXIT_FAILED : EXIT_GOOD;
}

#define FIELD(field) .offset = offsetof(struct settings, field)

static const struct option options[] = {
    { .letter = 'c', .name = "config", .argument = "FILE", .type = OPTION_TEXT, FIELD(config),
      .help = "Read this configuration; without it " CONFIG_USUAL ", if it is there" },
    { .letter = 'p', .name = "period", .argument = "PERIOD", .type = OPTION_TEXT, FIELD(period),
      .help = "Read the sensors so often, on multiples of PERIOD of the time of day: 1ms to 7 days. Default: 1s" },
    { .name = "sensors", .argument = "LIST", .type = OPTION_TEXT, FIELD(sensors),
      .help = "Read these sensors only: meminfo,stat; or all but some: -ipmi,-gpu. 'sonde doctor' lists them" },
    { .name = "set", .argument = "SENSOR.KEY=VALUE", .type = OPTION_LIST, FIELD(sets),
      .help = "Set one thing of one sensor: meminfo.period=10s, ipmi.enabled=no; may be given several times" },
    { .letter = 'e', .name = "events", .argument = "EVENTS", .type = OPTION_TEXT, FIELD(events),
      .help = "Count these perf events of each job, ',' between: the same as --set perf.events=EVENTS" },
    { .name = "jobs", .argument = "LIST", .type = OPTION_TEXT, FIELD(jobs),
      .help = "Find the jobs of these batch systems: slurm, oar, pbs; 'all', 'none'. Those that are told, by 'sonde job' and "
              "'sonde run', are known in any case. Default: all" },
    { .name = "listen", .argument = "ADDRESS:PORT", .type = OPTION_TEXT, FIELD(listen),
      .help = "Serve /metrics there, to whoever reaches it; 'none': nowhere. Default: " PLAN_LISTEN },
    { .name = "socket", .argument = "PATH", .type = OPTION_TEXT, FIELD(socket),
      .help = "Listen for sonde ls, top, job and ctl there; 'none': nowhere. Default: /run/sonde/agent.sock as root, "
              "$XDG_RUNTIME_DIR/sonde/agent.sock as a user, or in /tmp/sonde-UID" },
    { .name = "colmet", .argument = "ADDRESS", .type = OPTION_TEXT, FIELD(colmet),
      .help = "Take the messages of Colmet's configure_colmet.py at ADDRESS, tcp://127.0.0.1:5557, from whoever reaches it. "
              "Default: none" },
    { .name = "series", .argument = "N", .type = OPTION_TEXT, FIELD(series),
      .help = "At most N series in an answer at /metrics; how many were left out is a series too. Default: 200000" },
    { .name = "sink", .argument = "NAME[:KEY=VALUE,...]", .type = OPTION_LIST, FIELD(sinks),
      .help = "Write all samples there too: csv:path=FILE, json:path=FILE; may be given several times" },
    { .name = "collector", .argument = "ADDRESS", .type = OPTION_LIST, FIELD(collectors),
      .help = "Send all samples to this collector, tcp://HOST:5555; given several times, to the first that answers" },
    { .name = "collector-key", .argument = "KEY|FILE", .type = OPTION_LIST, FIELD(collector_keys),
      .help = "The public key of the collector, or a file that has it; once for all collectors, or once for each" },
    { .name = "key", .argument = "FILE", .type = OPTION_TEXT, FIELD(key),
      .help = "Our own key, made by 'sonde keygen'. Default: /etc/sonde/host.key as root, ~/.config/sonde/host.key as a user" },
    { .name = "plain", .type = OPTION_FLAG, FIELD(plain),
      .help = "Send without encryption and without keys, to a collector on this machine" },
    { .name = "plain-network", .type = OPTION_FLAG, FIELD(plain_network),
      .help = "With --plain: over a network too, where everybody on the way can read and change it" },
    { .name = "munge", .type = OPTION_FLAG, FIELD(munge), .help = "Show the collector a credential of munge too" },
    { .name = "spool", .argument = "DIR", .type = OPTION_TEXT, FIELD(spool),
      .help = "Samples wait here until the collector, and sinks that wait for others, have them. Default: "
              "/var/lib/sonde/spool as root, "
              "$XDG_STATE_HOME/sonde/spool as a user" },
    { .name = "spool-size", .argument = "BYTES", .type = OPTION_TEXT, FIELD(spool_size),
      .help = "At most so much; then the oldest go, and the gap is told. Default: 1GiB" },
    { .name = "spool-age", .argument = "AGE", .type = OPTION_TEXT, FIELD(spool_age),
      .help = "At most so old. Default: 7d" },
    { .name = "once", .type = OPTION_FLAG, FIELD(once),
      .help = "Read every sensor once, print as CSV (or write to the sinks), and end" },
    { .name = "check", .type = OPTION_FLAG, FIELD(check),
      .help = "Only look whether options and configuration are good; with -v write them as a configuration, with every "
              "setting of every sensor" },
    { .letter = 'q', .name = "quiet", .type = OPTION_FLAG, FIELD(quiet), .help = "Say nothing but errors" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde agent", "read every sensor of this node each second, and serve it at " PLAN_LISTEN "/metrics" },
    { "sonde agent -p 10s --sensors -ipmi --listen 0.0.0.0:1337", "every ten seconds, without the BMC, for all to scrape" },
    { "sonde agent --once --sensors meminfo", "what is the memory now, as CSV" },
    { "sonde agent --check -v > agent.conf", "a configuration to begin with" },
    { "sonde agent --collector login1 --collector login2 --collector-key /etc/sonde/collector.key.pub",
      "send all of it to a collector" },
    { "sonde agent --sink csv:path=/var/log/sonde.csv --set interrupts.period=1m", "also into a file" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "the folder of the socket, in place of the usual one" },
    { "SONDE_MUNGE_SOCKET", "with --munge: the socket of munged, where it is not the usual one" },
    { "NOTIFY_SOCKET, WATCHDOG_USEC", "set by systemd, which is told when the agent is ready and that it is alive" },
    { 0 },
};

const struct command command_agent = {
    .name = "agent",
    .about = "read every sensor of this node, and every job on it, until stopped",
    .usage = "[OPTIONS]",
    .description =
        "Reads the sensors of the node at each tick, knows which job each number belongs to, and shows it: to Prometheus "
        "at /metrics, to 'sonde ls' and 'sonde top'. It runs as root or, with less, as a user: 'sonde doctor' says what "
        "is lost.\n\n"
        "The configuration file has the same names as the options, one per line, and sections for sensors:\n\n"
        "  period = 1s\n"
        "  sensors = -ipmi\n"
        "  [diskstats]\n"
        "  period = 10s\n\n"
        "With --collector the samples go to a collector ('sonde collect') too. They wait in a spool on disk until it has said "
        "that it has them; when it is away the next of the list is tried, and nothing is lost until the spool is full. The same "
        "spool keeps them for sinks that wait for others: databases, brokers, servers.\n\n"
        "SIGHUP reads the configuration anew; with a mistake in it the agent says so and goes on as before. SIGTERM and SIGINT "
        "end it: what was read is written, and the status is 0. 'sonde ctl' changes a running agent.",
    .options = options,
    .settings_size = sizeof(struct settings),
    .shares = COMMAND_ROOT,
    .examples = examples,
    .environment = environment,
    .see_also = "top ls job ctl collect keygen doctor",
    .run = run_agent,
};
