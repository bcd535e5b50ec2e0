/* Configuration of the agent: which sensors it reads, at which interval, with which settings, and where the samples go.
 * Set only by agent_config_set, from the configuration file, from options and from sonde ctl, so that all three have
 * the same keys. */
#ifndef SONDE_AGENT_AGENT_CONFIG_H
#define SONDE_AGENT_AGENT_CONFIG_H

#include "agent/uplink_config.h"
#include "appmetrics/program_config.h"
#include "base/buf.h"
#include "samplers/sampler_state.h"
#include "sinks/sink_choice.h"

#define AGENT_SINKS_MAX 16
#define AGENT_LISTEN "127.0.0.1:1337" /* default */
#define AGENT_NONE "none" /* value of listen and socket: disabled */

struct sensor_config {
    const struct sampler *sampler;
    bool enabled;
    bool is_named;      /* enabled by its name, not with the others: it is logged if it is missing */
    uint64_t period_ns; /* 0: the agent's period, or the sampler's own if that is longer */
    struct setting_list settings;
};

struct agent_config {
    uint64_t period_ns;
    char *listen;                  /* "127.0.0.1:1337", "[::1]:1337", "none" */
    char *socket;                  /* path, "none"; NULL: the default */
    char *colmet;                  /* "tcp://127.0.0.1:5557", for configuration messages of Colmet; NULL: disabled */
    bool http_munge;               /* requests from other nodes need a munge credential */
    char *producer;                /* template of LDMS's producer names, for ldms_ls; NULL: the host name */
    uint32_t jobs;                 /* batch systems whose jobs are discovered: a set of jobs/job_source.h */
    uint64_t series;               /* maximum number of series in /metrics; 0: default */
    struct sensor_config *sensors; /* one per sampler, in the order of their list */
    size_t sensor_count;
    struct sink_choice sinks[AGENT_SINKS_MAX];
    size_t sink_count;
    struct uplink_config uplink;
    struct program_config programs;
};

/* The default: every sampler of list (NULL: sampler_all), once a second. */
enum err agent_config_init(struct agent_config *config, const struct sampler *const *list);
void agent_config_clear(struct agent_config *config);
enum err agent_config_copy(struct agent_config *copy, const struct agent_config *config);

/* Sets one key. section "" or "agent": period, sensors, jobs, listen, socket, colmet, series, sink, events, and
 * uplink_config_keys; "programs": see appmetrics/config.h; name of a sensor: period, enabled, and its own settings.
 * USAGE: nothing changed, error has a message. */
enum err agent_config_set(struct agent_config *config, const char *section, const char *key, const char *value,
                          struct buf *error);

/* "meminfo.period=10s", as given to --set and sonde ctl. */
enum err agent_config_set_line(struct agent_config *config, const char *line, struct buf *error);

/* The effective period of a sensor. */
uint64_t agent_config_period_ns(const struct agent_config *config, const struct sensor_config *sensor);

/* Reads a configuration file: "key = value" lines, in sections named after sensors. ABSENT, DENIED, IO: it cannot be
 * read; USAGE: error is "FILE:LINE: message". */
enum err agent_config_read(struct agent_config *config, const char *path, struct buf *error);

/* The same for a string, which is modified; name is used in messages. */
enum err agent_config_parse(struct agent_config *config, const char *name, char *text, struct buf *error);

/* Prints it as a configuration file with every setting and its help, as a template for a site's own. agent_config_parse
 * reads it back, except for passwords of sinks, which are not printed. Settings with their default value are commented
 * out. */
void agent_config_write(struct buf *out, const struct agent_config *config);

#endif
