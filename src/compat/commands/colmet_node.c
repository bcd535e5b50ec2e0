/* colmet-node …: sonde agent, with the options of Colmet's node (those of the Python program and of the Rust one): it reads what
 * was switched on and pushes it to the collector as records of the Python line. What stands behind "--" are options of sonde
 * agent. */
#include "compat/commands/names.h"

#include "compat/colmet/metric_names.h"
#include "base/file.h"
#include "base/log.h"
#include "compat/commands/old_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_USUAL "instructions cache_misses page_faults"
#define EVENTS_MOST 5
#define METRICS_MAX 65536

enum id {
    HELP, VERSION, VERBOSE, PERIOD, NO_PROCSTATS, INFINIBAND, OMNIPATH, LUSTRE, LUSTRE_PREFIX, PERF, PERF_LIST, JOBPROC, RAPL,
    TEMPERATURE, IPMI, IPMI_COMMAND, NVIDIA, ROOT_PATH, REGEX, ADDRESS, QUEUE, LINGER, METRICS, METRICS_FILE, SUFFIX, WAIT,
    IDS,
};

#define NEVER "never had an effect, as the jobs that are found replace it; tell of a job with 'sonde job begin'"
#define CRASHED "made Colmet's node crash, or added the process to every job; tell of a job with 'sonde job begin'"

static const struct old_option table[] = {
    { 'h', "--help", OLD_FLAG, HELP, NULL },
    { '\0', "--version", OLD_FLAG, VERSION, NULL },
    { 'v', "--verbose", OLD_COUNT, VERBOSE, NULL },
    { 's', "--sample-period", OLD_VALUE, PERIOD, NULL },
    { '\0', "--disable-procstats", OLD_FLAG, NO_PROCSTATS, NULL },
    { '\0', "--enable-infiniband", OLD_FLAG, INFINIBAND, NULL },
    { '\0', "--omnipath", OLD_FLAG, OMNIPATH, NULL },
    { '\0', "--enable-lustre", OLD_FLAG, LUSTRE, NULL },
    { '\0', "--lustre-prefix", OLD_VALUE, LUSTRE_PREFIX, NULL },
    { '\0', "--enable-perfhw", OLD_FLAG, PERF, NULL },
    { '\0', "--perfhw-list", OLD_WORDS, PERF_LIST, NULL },
    { '\0', "--enable-jobproc", OLD_FLAG, JOBPROC, NULL },
    { '\0', "--enable-RAPL", OLD_FLAG, RAPL, NULL },
    { '\0', "--enable-temperature", OLD_FLAG, TEMPERATURE, NULL },
    { '\0', "--enable-ipmipower", OLD_FLAG, IPMI, NULL },
    { '\0', "--ipmipower-cmd", OLD_WORDS, IPMI_COMMAND, NULL },
    { '\0', "--enable-nvidia", OLD_FLAG, NVIDIA, NULL },
    { 'c', "--cgroup", OLD_VALUE, IDS, NEVER },
    { 'p', "--pid", OLD_VALUE, IDS, CRASHED },
    { 't', "--tid", OLD_VALUE, IDS, CRASHED },
    { '\0', "--cpuset_rootpath", OLD_VALUE, ROOT_PATH, NULL },
    { '\0', "--regex_job_id", OLD_VALUE, REGEX, NULL },
    { '\0', "--regex-job-id", OLD_VALUE, REGEX, NULL },
    { '\0', "--zeromq-uri", OLD_VALUE, ADDRESS, NULL },
    { '\0', "--zeromq-hwm", OLD_VALUE, QUEUE, NULL },
    { '\0', "--zeromq-linger", OLD_VALUE, LINGER, NULL },
    { 'm', "--metrics", OLD_VALUE, METRICS, NULL },
    { 'f', "--file_metrics", OLD_VALUE, METRICS_FILE, NULL },
    { '\0', "--cgroup-root-path", OLD_VALUE, ROOT_PATH, NULL },
    { '\0', "--cgroup-rootpath", OLD_VALUE, ROOT_PATH, NULL },
    { '\0', "--cgroup-path-suffix", OLD_VALUE, SUFFIX, NULL },
    { '\0', "--wait-cgroup-cpuset-path", OLD_FLAG, WAIT, NULL },
    { 0 },
};

static const char help[] =
    "usage: colmet-node [OPTIONS] [-- OPTIONS OF SONDE AGENT]\n"
    "\n"
    "  -s, --sample-period S     read every S seconds (5)\n"
    "      --disable-procstats   nothing of the node, the jobs alone\n"
    "      --enable-infiniband, --enable-lustre, --enable-perfhw, --enable-jobproc,\n"
    "      --enable-RAPL, --enable-temperature, --enable-ipmipower, --enable-nvidia\n"
    "                            read this too\n"
    "      --lustre-prefix NAME  only mounts of this file system (all)\n"
    "      --omnipath            data are counted in words of 8 bytes, not 4\n"
    "      --perfhw-list NAME... up to five perf events (instructions cache_misses\n"
    "                            page_faults)\n"
    "      --zeromq-uri URI      the collector (tcp://127.0.0.1:5556)\n"
    "      --zeromq-hwm N        messages that wait while it is away (1000)\n"
    "      --zeromq-linger MS    how long to wait for it at the end (0)\n"
    "  -m, --metrics LIST, -f, --file_metrics FILE\n"
    "                            as the Rust node takes them\n"
    "  -v, --verbose             tell more; -vv, -vvv\n"
    "  -h, --help, --version\n"
    "\n"
    "Taken and not needed: --cpuset_rootpath, --cgroup-root-path,\n"
    "--cgroup-path-suffix, --wait-cgroup-cpuset-path, --regex_job_id: jobs are found\n"
    "by themselves; --ipmipower-cmd: the BMC is asked, and the command not run, as\n"
    "a warning says. Refused: -c, -p, -t, which never worked; metrics that nobody\n"
    "knows. This is Sonde's; see 'sonde agent --help' for more.\n";

struct node {
    bool is_on[IDS];
    bool is_impatient; /* would rather end than wait for a folder */
    unsigned verbose;
    char period[64], prefix[128], address[512], queue[32], linger[32];
    char events[4096];
    char metrics[METRICS_MAX];
};

/* A folder that OAR makes is found wherever it is. */
static bool is_of_oar(const char *path)
{
    size_t size = strlen(path);
    while (size && path[size - 1] == '/')
        size--;
    return (size >= 4 && memcmp(path + size - 4, "/oar", 4) == 0) || strcmp(path, "/sys/fs/cgroup") == 0;
}

static enum err check_value(int id, const char *value, struct buf *message)
{
    if (id == REGEX && strcmp(value, "_(\\d+)$") != 0) {
        buf_add_text(message, "the id of a job is what stands behind the last '_' of its folder, as OAR names it; another "
                              "expression is not known here");
        return USAGE;
    }
    if ((id == ROOT_PATH || id == SUFFIX) && !is_of_oar(value)) {
        buf_printf(message, "jobs of OAR are found in every hierarchy of cgroups without being told where; '%.200s' is not "
                            "a place of its", value);
        return USAGE;
    }
    return OK;
}

static enum err read_metrics(struct node *node, const char *path, struct buf *message)
{
    size_t got;
    enum err err = file_read("", path, node->metrics, sizeof node->metrics, &got);
    if (err) {
        buf_printf(message, "%.200s: %s", path, err_text(err));
        return USAGE;
    }
    for (char *line; (line = strchr(node->metrics, '\n'));)
        *line = ' ';
    return OK;
}

static void copy(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);
    if (length >= size)
        length = size - 1;
    memcpy(to, text, length);
    to[length] = '\0';
}

static enum err take(struct node *node, int id, const char *value, struct buf *message)
{
    node->is_on[id] = strcmp(value, "false") != 0;
    switch (id) {
    case VERBOSE: node->verbose += (unsigned)(value[0] - '0'); break;
    case PERIOD: snprintf(node->period, sizeof node->period, "%.32ss", value); break;
    case PERF_LIST: copy(node->events, sizeof node->events, value); break;
    case ADDRESS: copy(node->address, sizeof node->address, value); break;
    case QUEUE: copy(node->queue, sizeof node->queue, value); break;
    case LINGER: copy(node->linger, sizeof node->linger, value[0] == '-' ? "86400000" : value); break;
    case LUSTRE_PREFIX: copy(node->prefix, sizeof node->prefix, value); break;
    case WAIT: node->is_impatient = !node->is_on[WAIT]; break;
    case METRICS: copy(node->metrics, sizeof node->metrics, value); break;
    case METRICS_FILE: return read_metrics(node, value, message);
    default: break;
    }
    return check_value(id, value, message);
}

/* Of "rss:2:-1,cache_ll" those that are perf events: memory and CPU time are read anyway. */
static enum err add_events_of_metrics(struct node *node, struct buf *message)
{
    struct colmet_metrics metrics;
    enum err err = OK;
    colmet_metrics_read(&metrics, bytes_of(node->metrics));
    if (metrics.unknown.size) {
        buf_printf(message, "of the metrics these are not known: %.300s", buf_text(&metrics.unknown));
        err = USAGE;
    } else if (metrics.events.size) {
        copy(node->events, sizeof node->events, buf_text(&metrics.events));
        node->is_on[PERF] = true;
    }
    if (!err && metrics.has_parts)
        log_warn("all metrics are read every %s and in every job: a period or job of one alone is not heeded",
                 node->period);
    colmet_metrics_clear(&metrics);
    return err;
}

/* What has another effect than with Colmet, or none; once, at the start. */
static void tell_differences(const struct node *node)
{
    static const struct { enum id id, needs; const char *option, *switched_on; } alone[] = {
        { PERF_LIST, PERF, "--perfhw-list", "--enable-perfhw" },
        { LUSTRE_PREFIX, LUSTRE, "--lustre-prefix", "--enable-lustre" },
        { OMNIPATH, INFINIBAND, "--omnipath", "--enable-infiniband" },
        { IPMI_COMMAND, IPMI, "--ipmipower-cmd", "--enable-ipmipower" },
    };
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (node->is_on[alone[i].id] && !node->is_on[alone[i].needs])
            log_warn("%s has no effect without %s", alone[i].option, alone[i].switched_on);
    if (node->is_on[IPMI_COMMAND] && node->is_on[IPMI])
        log_warn("the command of --ipmipower-cmd is not run: power is asked of the BMC itself. 'sonde doctor' says "
                 "whether it tells.");
    if (node->is_impatient)
        log_warn("--wait-cgroup-cpuset-path false is not heeded: jobs are found whenever their folder comes");
}

static void add_pair(struct names_words *words, const char *option, const char *value)
{
    names_add(words, option);
    names_add(words, value);
}

static void add_sensors(const struct node *node, struct names_words *words)
{
    static const struct { enum id id; const char *sensor; } sensors[] = {
        { INFINIBAND, "infiniband" }, { LUSTRE, "lustre" }, { PERF, "perf" }, { JOBPROC, "process" }, { RAPL, "rapl" },
        { TEMPERATURE, "temperature" }, { IPMI, "ipmi" }, { NVIDIA, "gpu" },
    };
    char list[512] = "taskstats";
    if (!node->is_on[NO_PROCSTATS])
        snprintf(list, sizeof list, "taskstats,meminfo,vmstat,stat,loadavg");
    for (size_t i = 0; i < sizeof sensors / sizeof *sensors; i++)
        if (node->is_on[sensors[i].id])
            snprintf(list + strlen(list), sizeof list - strlen(list), ",%s", sensors[i].sensor);
    add_pair(words, "--sensors", list);
    add_pair(words, "--set", "stat.per_cpu=no");
    if (node->is_on[LUSTRE_PREFIX] && node->is_on[LUSTRE]) {
        snprintf(list, sizeof list, "lustre.prefix=%s", node->prefix);
        add_pair(words, "--set", list);
    }
    if (node->is_on[OMNIPATH] && node->is_on[INFINIBAND])
        add_pair(words, "--set", "infiniband.word=8");
}

/* At most five, as Colmet has places for no more. */
static void add_events(const struct node *node, struct names_words *words)
{
    char events[sizeof node->events];
    size_t count = 0;
    snprintf(events, sizeof events, "%s", node->events);
    for (char *at = events; *at; at++)
        if (*at == ' ' || *at == ',') {
            *at = ++count == EVENTS_MOST ? '\0' : ',';
            if (!*at) {
                log_warn("Colmet's records have places for %d perf events; not counted are: %s", EVENTS_MOST,
                         at + 1);
                break;
            }
        }
    add_pair(words, "-e", events);
}

static void add_sink(const struct node *node, struct names_words *words)
{
    char sink[1024];
    snprintf(sink, sizeof sink, "colmet:address=%s,queue=%s,linger=%sms,mapping=.%s", node->address, node->queue, node->linger,
             node->is_on[NVIDIA] ? ",nvidia=yes" : "");
    add_pair(words, "--sink", sink);
}

static enum err read_options(struct node *node, int argc, char **argv, int *rest, struct buf *message)
{
    struct old_options options = { .argc = argc, .at = 1, .argv = argv };
    int id;
    enum err err;
    while ((err = old_options_next(&options, table, &id, message)) == OK) {
        err = take(node, id, options.value, message);
        if (err)
            return err;
    }
    *rest = options.at;
    if (err == GONE && node->is_on[METRICS] && node->is_on[METRICS_FILE]) {
        buf_add_text(message, "--metrics or --file_metrics, not both");
        return USAGE;
    }
    return err == GONE ? OK : err;
}

static void write_words(const struct node *node, struct names_words *words)
{
    names_add(words, "sonde");
    if (node->is_on[VERSION]) {
        names_add(words, "--version");
        return;
    }
    names_add(words, "agent");
    for (unsigned i = 1; i <= node->verbose && i <= 3; i++)
        names_add(words, "-v");
    add_pair(words, "--config", "/dev/null");
    add_pair(words, "--period", node->period);
    add_pair(words, "--listen", "none");
    add_sensors(node, words);
    if (node->is_on[PERF])
        add_events(node, words);
    add_sink(node, words);
}

static enum err colmet_node_turn(int argc, char **argv, struct names_words *words, struct buf *message)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return NOMEM;
    *node = (struct node){ .period = "5s", .address = "tcp://127.0.0.1:5556", .queue = "1000", .linger = "0",
                           .events = EVENTS_USUAL };
    int rest = argc;
    enum err err = read_options(node, argc, argv, &rest, message);
    if (!err && node->is_on[HELP])
        err = GONE;
    if (!err && node->metrics[0])
        err = add_events_of_metrics(node, message);
    if (!err)
        tell_differences(node);
    if (!err)
        write_words(node, words);
    for (; !err && rest < argc; rest++)
        names_add(words, argv[rest]); /* behind "--": options of sonde agent */
    free(node);
    return err;
}

const struct names_entry names_colmet_node = { "colmet-node", colmet_node_turn, help };
