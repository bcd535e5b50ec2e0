/* colmet-node: sonde agent with the options of Colmet's node (of the Python and of the Rust program). Reads the enabled
 * sensors and pushes records of either version to the collector. Arguments after "--" are options of sonde
 * agent. */
#include "compat/commands/drop_in.h"

#include "compat/colmet/metric_names.h"
#include "base/file.h"
#include "base/log.h"
#include "compat/commands/foreign_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_DEFAULT "instructions cache_misses page_faults"
#define EVENTS_MAX 5
#define METRICS_MAX 65536

enum colmet_node_option {
    HELP, VERSION, VERBOSE, PERIOD, NO_PROCSTATS, INFINIBAND, OMNIPATH, LUSTRE, LUSTRE_PREFIX, PERF, PERF_LIST, JOBPROC, RAPL,
    TEMPERATURE, IPMI, IPMI_COMMAND, NVIDIA, ROOT_PATH, REGEX, ADDRESS, QUEUE, LINGER, FORMAT, METRICS, METRICS_FILE,
    RUST_ROOT_PATH, RUST_2019_PATH, SUFFIX, WAIT, IDS,
};

#define NEVER "is not supported: it never had an effect, since discovered jobs replace it; register jobs with 'sonde job begin'"
#define CRASHED \
    "is not supported: it crashed Colmet's node or added the process to every job; register jobs with 'sonde job begin'"

static const struct foreign_option table[] = {
    { 'h', "--help", FOREIGN_FLAG, HELP, NULL },
    { '\0', "--version", FOREIGN_FLAG, VERSION, NULL },
    { 'v', "--verbose", FOREIGN_COUNT, VERBOSE, NULL },
    { 's', "--sample-period", FOREIGN_VALUE, PERIOD, NULL },
    { '\0', "--disable-procstats", FOREIGN_FLAG, NO_PROCSTATS, NULL },
    { '\0', "--enable-infiniband", FOREIGN_FLAG, INFINIBAND, NULL },
    { '\0', "--omnipath", FOREIGN_FLAG, OMNIPATH, NULL },
    { '\0', "--enable-lustre", FOREIGN_FLAG, LUSTRE, NULL },
    { '\0', "--lustre-prefix", FOREIGN_VALUE, LUSTRE_PREFIX, NULL },
    { '\0', "--enable-perfhw", FOREIGN_FLAG, PERF, NULL },
    { '\0', "--perfhw-list", FOREIGN_LIST, PERF_LIST, NULL },
    { '\0', "--enable-jobproc", FOREIGN_FLAG, JOBPROC, NULL },
    { '\0', "--enable-RAPL", FOREIGN_FLAG, RAPL, NULL },
    { '\0', "--enable-temperature", FOREIGN_FLAG, TEMPERATURE, NULL },
    { '\0', "--enable-ipmipower", FOREIGN_FLAG, IPMI, NULL },
    { '\0', "--ipmipower-cmd", FOREIGN_LIST, IPMI_COMMAND, NULL },
    { '\0', "--enable-nvidia", FOREIGN_FLAG, NVIDIA, NULL },
    { 'c', "--cgroup", FOREIGN_VALUE, IDS, NEVER },
    { 'p', "--pid", FOREIGN_VALUE, IDS, CRASHED },
    { 't', "--tid", FOREIGN_VALUE, IDS, CRASHED },
    { '\0', "--cpuset_rootpath", FOREIGN_VALUE, ROOT_PATH, NULL },
    { '\0', "--regex_job_id", FOREIGN_VALUE, REGEX, NULL },
    { '\0', "--regex-job-id", FOREIGN_VALUE, REGEX, NULL },
    { '\0', "--zeromq-uri", FOREIGN_VALUE, ADDRESS, NULL },
    { '\0', "--zeromq-hwm", FOREIGN_VALUE, QUEUE, NULL },
    { '\0', "--zeromq-linger", FOREIGN_VALUE, LINGER, NULL },
    { '\0', "--zeromq-format", FOREIGN_VALUE, FORMAT, NULL }, /* ours */
    { 'm', "--metrics", FOREIGN_VALUE, METRICS, NULL },
    { 'f', "--file_metrics", FOREIGN_VALUE, METRICS_FILE, NULL },
    { '\0', "--cgroup-root-path", FOREIGN_VALUE, RUST_ROOT_PATH, NULL },
    { '\0', "--cgroup-rootpath", FOREIGN_VALUE, RUST_2019_PATH, NULL },
    { '\0', "--cgroup-path-suffix", FOREIGN_VALUE, SUFFIX, NULL },
    { '\0', "--wait-cgroup-cpuset-path", FOREIGN_FLAG, WAIT, NULL },
    { 0 },
};

static const char help[] =
    "usage: colmet-node [OPTIONS] [-- OPTIONS OF SONDE AGENT]\n"
    "\n"
    "  -s, --sample-period S     sampling interval in seconds (5)\n"
    "      --disable-procstats   only the jobs, not the node\n"
    "      --enable-infiniband, --enable-lustre, --enable-perfhw, --enable-jobproc,\n"
    "      --enable-RAPL, --enable-temperature, --enable-ipmipower, --enable-nvidia\n"
    "                            enable this sensor\n"
    "      --lustre-prefix NAME  only mounts of this file system (all)\n"
    "      --omnipath            data counters are in units of 8 bytes, not 4\n"
    "      --perfhw-list NAME... up to five perf events (instructions cache_misses\n"
    "                            page_faults)\n"
    "      --zeromq-uri URI      the collector (tcp://127.0.0.1:5556)\n"
    "      --zeromq-hwm N        messages queued while it is down (1000)\n"
    "      --zeromq-linger MS    how long to wait for it at exit (0)\n"
    "      --zeromq-format NAME  python, or the MessagePack of the Rust nodes: rust2019,\n"
    "                            rust2020 (with options of the Rust nodes rust2020)\n"
    "  -m, --metrics LIST, -f, --file_metrics FILE\n"
    "                            as for the Rust node\n"
    "  -v, --verbose             print more details; -vv, -vvv\n"
    "  -h, --help, --version\n"
    "\n"
    "Accepted but ignored: --cpuset_rootpath, --cgroup-root-path,\n"
    "--cgroup-path-suffix, --wait-cgroup-cpuset-path, --regex_job_id: jobs are\n"
    "discovered automatically; --ipmipower-cmd, with a warning: the BMC is queried\n"
    "instead. Rejected: -c, -p, -t, which never worked; unknown metrics.\n"
    "This is Sonde's replacement; see 'sonde agent --help' for more.\n";

struct colmet_node_options {
    bool is_on[IDS];
    bool is_impatient; /* --wait-cgroup-cpuset-path false: exit rather than wait for the directory */
    unsigned verbose;
    char format[16]; /* of messages; "": by the options */
    char period[64], prefix[128], address[512], queue[32], linger[32];
    char events[4096];
    char metrics[METRICS_MAX];
};

/* Directories of OAR are found in any hierarchy. */
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
        buf_add_text(message, "unsupported --regex_job_id: the job id is always what follows the last '_' of the cgroup's name, "
                              "as OAR creates it");
        return USAGE;
    }
    if ((id == ROOT_PATH || id == RUST_ROOT_PATH || id == RUST_2019_PATH || id == SUFFIX) && !is_of_oar(value)) {
        buf_printf(message, "'%.200s' is not a cgroup directory of OAR; OAR jobs are found in every cgroup hierarchy, so the "
                            "option can be left out", value);
        return USAGE;
    }
    return OK;
}

static enum err read_metrics(struct colmet_node_options *node, const char *path, struct buf *message)
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

static enum err take(struct colmet_node_options *node, int id, const char *value, struct buf *message)
{
    node->is_on[id] = strcmp(value, "false") != 0;
    switch (id) {
    case VERBOSE: node->verbose += (unsigned)(value[0] - '0'); break;
    case PERIOD: snprintf(node->period, sizeof node->period, "%.32ss", value); break;
    case PERF_LIST: copy(node->events, sizeof node->events, value); break;
    case ADDRESS: copy(node->address, sizeof node->address, value); break;
    case QUEUE: copy(node->queue, sizeof node->queue, value); break;
    case LINGER: copy(node->linger, sizeof node->linger, value[0] == '-' ? "86400000" : value); break;
    case FORMAT: copy(node->format, sizeof node->format, value); break;
    case LUSTRE_PREFIX: copy(node->prefix, sizeof node->prefix, value); break;
    case WAIT: node->is_impatient = !node->is_on[WAIT]; break;
    case METRICS: copy(node->metrics, sizeof node->metrics, value); break;
    case METRICS_FILE: return read_metrics(node, value, message);
    default: break;
    }
    return check_value(id, value, message);
}

/* Takes the perf events from a list such as "rss:2:-1,cache_ll"; memory and CPU time are always read. */
static enum err add_events_of_metrics(struct colmet_node_options *node, struct buf *message)
{
    struct colmet_metrics metrics;
    enum err err = OK;
    colmet_metrics_read(&metrics, bytes_of(node->metrics));
    if (metrics.unknown.size) {
        buf_printf(message, "unknown metrics: %.300s", buf_text(&metrics.unknown));
        err = USAGE;
    } else if (metrics.events.size) {
        copy(node->events, sizeof node->events, buf_text(&metrics.events));
        node->is_on[PERF] = true;
    }
    if (!err && metrics.has_parts)
        log_warn("all metrics are read every %s and for every job: intervals and jobs of single metrics are ignored",
                 node->period);
    colmet_metrics_clear(&metrics);
    return err;
}

/* Logs once, at startup, which options have no effect or another effect than with Colmet. */
static void log_differences(const struct colmet_node_options *node)
{
    static const struct { enum colmet_node_option id, needs; const char *option, *switched_on; } alone[] = {
        { PERF_LIST, PERF, "--perfhw-list", "--enable-perfhw" },
        { LUSTRE_PREFIX, LUSTRE, "--lustre-prefix", "--enable-lustre" },
        { OMNIPATH, INFINIBAND, "--omnipath", "--enable-infiniband" },
        { IPMI_COMMAND, IPMI, "--ipmipower-cmd", "--enable-ipmipower" },
    };
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (node->is_on[alone[i].id] && !node->is_on[alone[i].needs])
            log_warn("%s has no effect without %s", alone[i].option, alone[i].switched_on);
    if (node->is_on[IPMI_COMMAND] && node->is_on[IPMI])
        log_warn("the command of --ipmipower-cmd is not run: the BMC is queried directly. 'sonde doctor' shows whether "
                 "that works.");
    if (node->is_impatient)
        log_warn("--wait-cgroup-cpuset-path false is ignored: jobs are discovered whenever their cgroup appears");
}

/* Options that only the Rust nodes have mean that its collector receives. */
static const char *format_of(const struct colmet_node_options *node)
{
    if (node->format[0])
        return node->format;
    if (node->is_on[RUST_2019_PATH])
        return "rust2019";
    return node->is_on[METRICS] || node->is_on[METRICS_FILE] || node->is_on[RUST_ROOT_PATH] || node->is_on[SUFFIX]
                   || node->is_on[WAIT] ? "rust2020" : "python";
}

static void add_pair(struct drop_in_args *args, const char *option, const char *value)
{
    drop_in_add(args, option);
    drop_in_add(args, value);
}

static void add_sensors(const struct colmet_node_options *node, struct drop_in_args *args)
{
    static const struct node_sensor { enum colmet_node_option id; const char *sensor; } sensors[] = {
        { INFINIBAND, "infiniband" }, { LUSTRE, "lustre" }, { PERF, "perf" }, { JOBPROC, "process" }, { RAPL, "rapl" },
        { TEMPERATURE, "temperature" }, { IPMI, "ipmi" }, { NVIDIA, "gpu" },
    }, slow[] = { { TEMPERATURE, "temperature" }, { IPMI, "ipmi" } };
    bool is_rust = strcmp(format_of(node), "python") != 0;
    char list[512];
    snprintf(list, sizeof list, "%s", is_rust ? "cgroup" : "taskstats");
    if (!is_rust && !node->is_on[NO_PROCSTATS])
        snprintf(list, sizeof list, "taskstats,meminfo,vmstat,stat,loadavg");
    for (size_t i = 0; i < sizeof sensors / sizeof *sensors; i++)
        if (node->is_on[sensors[i].id])
            snprintf(list + strlen(list), sizeof list - strlen(list), ",%s", sensors[i].sensor);
    add_pair(args, "--sensors", list);
    add_pair(args, "--set", "stat.per_cpu=no");
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (node->is_on[slow[i].id]) { /* all sensors follow -s */
            snprintf(list, sizeof list, "%s.period=%s", slow[i].sensor, node->period);
            add_pair(args, "--set", list);
        }
    if (node->is_on[LUSTRE_PREFIX] && node->is_on[LUSTRE]) {
        snprintf(list, sizeof list, "lustre.prefix=%s", node->prefix);
        add_pair(args, "--set", list);
    }
    if (node->is_on[OMNIPATH] && node->is_on[INFINIBAND])
        add_pair(args, "--set", "infiniband.word=8");
}

/* At most five: Colmet's records have no more fields. */
static void add_events(const struct colmet_node_options *node, struct drop_in_args *args)
{
    char events[sizeof node->events];
    size_t count = 0;
    snprintf(events, sizeof events, "%s", node->events);
    for (char *at = events; *at; at++)
        if (*at == ' ' || *at == ',') {
            *at = ++count == EVENTS_MAX ? '\0' : ',';
            if (!*at) {
                log_warn("Colmet's records have fields for %d perf events; not counted: %s", EVENTS_MAX,
                         at + 1);
                break;
            }
        }
    add_pair(args, "-e", events);
}

static void add_sink(const struct colmet_node_options *node, struct drop_in_args *args)
{
    char sink[1024];
    snprintf(sink, sizeof sink, "colmet:address=%s,format=%s,queue=%s,linger=%sms,mapping=.%s", node->address, format_of(node),
             node->queue, node->linger, node->is_on[NVIDIA] ? ",nvidia=yes" : "");
    add_pair(args, "--sink", sink);
}

static enum err read_options(struct colmet_node_options *node, int argc, char **argv, int *rest, struct buf *message)
{
    struct foreign_options options = { .argc = argc, .at = 1, .argv = argv };
    int id;
    enum err err;
    while ((err = foreign_options_next(&options, table, &id, message)) == OK) {
        err = take(node, id, options.value, message);
        if (err)
            return err;
    }
    *rest = options.at;
    if (err == GONE && node->is_on[METRICS] && node->is_on[METRICS_FILE]) {
        buf_add_text(message, "--metrics and --file_metrics exclude each other");
        return USAGE;
    }
    return err == GONE ? OK : err;
}

static void write_args(const struct colmet_node_options *node, struct drop_in_args *args)
{
    drop_in_add(args, "sonde");
    if (node->is_on[VERSION]) {
        drop_in_add(args, "--version");
        return;
    }
    drop_in_add(args, "agent");
    for (unsigned i = 1; i <= node->verbose && i <= 3; i++)
        drop_in_add(args, "-v");
    add_pair(args, "--config", "/dev/null");
    add_pair(args, "--period", node->period);
    add_pair(args, "--listen", "none");
    add_pair(args, "--colmet", "tcp://127.0.0.1:5557");
    add_sensors(node, args);
    if (node->is_on[PERF])
        add_events(node, args);
    add_sink(node, args);
}

static enum err colmet_node_translate(int argc, char **argv, struct drop_in_args *args, struct buf *message)
{
    struct colmet_node_options *node = calloc(1, sizeof *node);
    if (!node)
        return NOMEM;
    *node = (struct colmet_node_options){ .period = "5s", .address = "tcp://127.0.0.1:5556", .queue = "1000", .linger = "0",
                           .events = EVENTS_DEFAULT };
    int rest = argc;
    enum err err = read_options(node, argc, argv, &rest, message);
    if (!err && node->is_on[HELP])
        err = GONE;
    if (!err && node->metrics[0])
        err = add_events_of_metrics(node, message);
    if (!err)
        log_differences(node);
    if (!err)
        write_args(node, args);
    for (; !err && rest < argc; rest++)
        drop_in_add(args, argv[rest]); /* after "--": options of sonde agent */
    free(node);
    return err;
}

const struct drop_in drop_in_colmet_node = { "colmet-node", colmet_node_translate, help };
