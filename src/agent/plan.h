/* What the agent is to do: which sensors it reads, how often, with which settings, and where the samples go. Filled by
 * plan_set alone, from the configuration file, from options and from sonde ctl, so that all three know the same names. */
#ifndef SONDE_AGENT_PLAN_H
#define SONDE_AGENT_PLAN_H

#include "agent/uplink_plan.h"
#include "base/buf.h"
#include "appmetrics/config.h"
#include "samplers/sampler_state.h"
#include "sinks/sink_choice.h"

#define PLAN_SINKS_MAX 16
#define PLAN_LISTEN "127.0.0.1:1337" /* unless somebody says otherwise */
#define PLAN_NONE "none" /* as listen and socket: do not */

struct plan_sensor {
    const struct sampler *sampler;
    bool enabled;
    uint64_t period_ns; /* 0: that of the plan, or the sampler's own where that is longer */
    struct setting_list settings;
};

struct plan {
    uint64_t period_ns;
    char *listen; /* "127.0.0.1:1337", "[::1]:1337", "none" */
    char *socket; /* a path, "none"; NULL: the usual place */
    char *colmet; /* "tcp://127.0.0.1:5557", where Colmet's configuration messages are taken; NULL: nowhere */
    uint32_t jobs; /* the batch systems whose jobs are found: a set of jobs/job_source.h */
    uint64_t series; /* at most so many in /metrics; 0: the usual number */
    struct plan_sensor *sensors; /* one per sampler, in the order of their list */
    size_t sensor_count;
    struct sink_choice sinks[PLAN_SINKS_MAX];
    size_t sink_count;
    struct uplink_plan uplink;
    struct program_plan programs;
};

/* What it does when nobody says anything: every sampler of list (NULL: sampler_all), once a second. */
enum err plan_init(struct plan *plan, const struct sampler *const *list);
void plan_clear(struct plan *plan);
enum err plan_copy(struct plan *copy, const struct plan *plan);

/* Sets one thing. section "" or "agent": period, sensors, jobs, listen, socket, colmet, series, sink, events, and
 * uplink_plan_keys; "programs": program_plan_set; the name of a sensor: period,
 * enabled, and its own settings. USAGE: nothing is changed, and why says in
 * one sentence what is wrong. */
enum err plan_set(struct plan *plan, const char *section, const char *key, const char *value, struct buf *why);

/* "meminfo.period=10s", as --set and sonde ctl have it. */
enum err plan_set_line(struct plan *plan, const char *line, struct buf *why);

/* Where the period of a sensor comes from does not matter to its user. */
uint64_t plan_period_ns(const struct plan *plan, const struct plan_sensor *sensor);

#endif
