/* sonde agent: one event loop that drives the schedule, the sensors, jobs, sinks and the HTTP interface. */
#ifndef SONDE_AGENT_AGENT_H
#define SONDE_AGENT_AGENT_H

#include "agent/agent_http.h"
#include "agent/agent_sinks.h"
#include "agent/job_events.h"
#include "agent/program_metrics.h"
#include "agent/sender.h"
#include "agent/sensors.h"
#include "base/notify.h"
#include "compat/colmet/node_control.h"
#include "proc/host.h"

struct agent_settings {
    const char *root; /* prefix of /proc, /sys and the cgroups: "" for this node */
    /* Loads the configuration, at start and on SIGHUP, into an uninitialized config. USAGE: error has a message. */
    enum err (*load_config)(void *context, struct agent_config *config, struct buf *error);
    void *context;
    bool is_once; /* write sinks directly instead of through the journal, and ignore programs */
};

struct agent {
    struct agent_settings settings;
    struct agent_config config; /* in effect */
    struct host_facts host;
    struct schedule schedule;
    struct latest *live;
    struct sensors *sensors;
    struct jobs *jobs;         /* NULL: jobs cannot be found here */
    struct agent_http *http;   /* NULL: not listening */
    struct colmet *colmet;     /* NULL: no messages of Colmet */
    struct program_metrics *programs; /* NULL: program metrics are disabled */
    struct agent_sinks sinks;
    struct job_events job_events;
    struct sender *sender;          /* NULL: no journal, because nothing would read it */
    enum uplink_state uplink_state; /* of the sender, at the last maintenance */
    struct notify notify;
    int epoll_fd, signal_fd;
    bool can_sleep_to_tick; /* epoll_wait ends at the tick: cheaper than a timer that must be read */
    uint64_t maintained_ns, jobs_ns, swept_ns; /* CLOCK_MONOTONIC of the last maintenance, job scan, removal of stale entries */
    unsigned warm_up_rounds; /* maintenance rounds since the start or since the uplink changed, until warm */
    bool jobs_changed; /* and not saved yet */
    uint64_t next_save_ns; /* CLOCK_MONOTONIC: not before */
    bool has_logged_save_error; /* about saving them */
    bool stop;
};

enum agent_source {
    AGENT_SOURCE_TICKS, AGENT_SOURCE_THREADS, AGENT_SOURCE_JOBS, AGENT_SOURCE_HTTP, AGENT_SOURCE_COLMET, AGENT_SOURCE_SIGNALS,
    AGENT_SOURCE_COUNT,
};

/* Adds a descriptor to the loop. fd -1: does nothing. */
enum err agent_add_source(const struct agent *agent, int fd, enum agent_source source);

/* Opens everything but the listeners. Blocks the signals that it reads later. Errors are logged. */
enum err agent_open(struct agent *agent, const struct agent_settings *settings);
void agent_close(struct agent *agent);

/* Starts to listen, as configured. */
enum err agent_listen(struct agent *agent);

/* Saves the jobs, for the next agent, if they have changed. */
void agent_save_jobs(struct agent *agent);

/* The same, unless there are so many that saving would take more than 1/20 of our time: then it is left to the next
 * maintenance. */
void agent_save_jobs_soon(struct agent *agent);

/* Changes the listeners to those of another configuration; on an error nothing changes. */
enum err agent_listen_apply(struct agent *agent, const struct agent_config *next, struct buf *error);

/* Waits until something is to be done, and does it. timeout_ms -1: no timeout. */
enum err agent_turn(struct agent *agent, int timeout_ms);

/* Runs until SIGTERM or SIGINT. OK: everything was written. */
enum err agent_run(const struct agent_settings *settings);

/* Reads every sensor once and writes the samples to the sinks. */
enum err agent_once(const struct agent_settings *settings);

/* Changes the configuration to next, which it takes over. On an error next is cleared, error has a message, and the old
 * configuration stays in effect. reopen: reopen the files of sinks. */
enum err agent_apply_take(struct agent *agent, struct agent_config *next, bool reopen, struct buf *error);

#endif
