/* colmet-node …: sonde agent, with the options of Colmet's node (those of the Python program and of the Rust one): it reads what
 * was switched on and pushes it to the collector as records of the Python line. What stands behind "--" are options of sonde
 * agent. */
#include "cmd/names/names.h"

#include "base/file.h"
#include "cmd/names/old_options.h"
#include "sample/perf.h"

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
    "Taken and not needed: --omnipath, --lustre-prefix, --ipmipower-cmd,\n"
    "--cpuset_rootpath, --cgroup-root-path, --cgroup-path-suffix,\n"
    "--wait-cgroup-cpuset-path, --regex_job_id. Refused: -c, -p, -t, which never\n"
    "worked. This is Sonde's; see 'sonde agent --help' for more.\n";

struct node {
    bool is_on[IDS];
    unsigned verbose;
    char period[64], address[512], queue[32], linger[32];
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
    case METRICS: copy(node->metrics, sizeof node->metrics, value); break;
    case METRICS_FILE: return read_metrics(node, value, message);
    default: break;
    }
    return check_value(id, value, message);
}

/* Of "rss:2:-1,cache_ll" those that are perf events: memory and CPU time are read anyway. */
static void add_events_of_metrics(struct node *node)
{
    size_t used = 0;
    char *rest = node->metrics;
    for (char *word; (word = strsep(&rest, ", \t"));) {
        struct perf_event_spec spec;
        struct perf_trouble trouble;
        word[strcspn(word, ":")] = '\0';
        if (!*word || perf_resolve_one(word, &spec, &trouble) == USAGE)
            continue;
        int size = snprintf(node->events + used, sizeof node->events - used, "%s%s", used ? " " : "", word);
        used += size > 0 && (size_t)size < sizeof node->events - used ? (size_t)size : 0;
        node->is_on[PERF] = true;
    }
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
            if (!*at)
                break;
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
        add_events_of_metrics(node);
    if (!err)
        write_words(node, words);
    for (; !err && rest < argc; rest++)
        names_add(words, argv[rest]); /* behind "--": options of sonde agent */
    free(node);
    return err;
}

const struct names_entry names_colmet_node = { "colmet-node", colmet_node_turn, help };
