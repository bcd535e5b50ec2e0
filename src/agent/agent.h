/* sonde agent: one loop around schedule, sensors, jobs, what is shown and what is told. */
#ifndef SONDE_AGENT_AGENT_H
#define SONDE_AGENT_AGENT_H

#include "compat/colmet/node_control.h"
#include "agent/agent_sinks.h"
#include "agent/job_events.h"
#include "agent/sender.h"
#include "agent/sensors.h"
#include "agent/agent_http.h"
#include "base/notify.h"
#include "proc/host.h"
#include "agent/program_metrics.h"

struct agent_settings {
    const char *root; /* of /proc, /sys and the cgroups: "" is this machine */
    /* Makes the plan, at the start and at each SIGHUP: nothing stands in plan yet. USAGE: why says what is wrong. */
    enum err (*make_plan)(void *context, struct plan *plan, struct buf *why);
    void *context;
    bool is_once; /* sinks are written at once, not by way of the spool, and programs are not heard */
};

struct agent {
    struct agent_settings settings;
    struct plan plan; /* what it does now */
    struct host_facts host;
    struct schedule schedule;
    struct live *live;
    struct sensors *sensors;
    struct jobs *jobs;   /* NULL: they cannot be found here */
    struct serve *serve; /* NULL: nobody may ask */
    struct colmet *colmet; /* NULL: messages of Colmet are not taken */
    struct programs *programs; /* NULL: nobody listens to them */
    struct outlets outlets;
    struct present present;
    struct sender *sender; /* NULL: there is no spool, as nobody would read it */
    enum uplink_state link; /* of it, when we looked last */
    struct notify notify;
    int epoll_fd, signal_fd;
    bool ticks_by_sleep; /* epoll_wait ends at the tick: cheaper than a timer that must be read */
    uint64_t looked_ns, jobs_ns, swept_ns; /* CLOCK_MONOTONIC: when it was last seen to all, to jobs, to old entries */
    unsigned looks; /* since it began, or its link did: until it is warm */
    bool has_told_news; /* jobs that were told have come, changed or gone, which is not written down yet */
    uint64_t keep_jobs_ns; /* CLOCK_MONOTONIC: until then it can wait */
    bool cannot_keep_jobs; /* and it was said */
    bool stop;
};

enum agent_source {
    AGENT_SOURCE_TICKS, AGENT_SOURCE_SLOW, AGENT_SOURCE_JOBS, AGENT_SOURCE_SERVE, AGENT_SOURCE_COLMET, AGENT_SOURCE_SIGNALS,
    AGENT_SOURCE_COUNT,
};

/* What the loop wakes for. fd -1: nothing. */
enum err agent_add_source(const struct agent *agent, int fd, enum agent_source source);

/* Everything but the listeners. Blocks the signals that it reads later. Any error was told. */
enum err agent_open(struct agent *agent, const struct agent_settings *settings);
void agent_close(struct agent *agent);

/* Lets others ask, as the plan says. */
enum err agent_listen(struct agent *agent);

/* Writes down the jobs that were told, for the agent that comes after us, if there is news of them. */
void agent_keep_jobs(struct agent *agent);

/* As another plan says; on an error as before. */
enum err agent_listen_apply(struct agent *agent, const struct plan *next, struct buf *why);

/* Until an event, the next tick where no timer wakes us for it, or for most_ns. As epoll_wait. */
struct epoll_event;
int agent_wait(struct agent *agent, struct epoll_event *events, uint64_t most_ns);

/* Waits until something is to be done, and does it. timeout_ms -1: as long as it takes. */
enum err agent_turn(struct agent *agent, int timeout_ms);

/* Ticks until SIGTERM or SIGINT. OK: everything was written. */
enum err agent_run(const struct agent_settings *settings);

/* Reads every sensor once, into the sinks. */
enum err agent_once(const struct agent_settings *settings);

/* Changes what it does to next, which it takes over; on an error next is cleared, why says what is wrong, and all goes on
 * as before. anew: files of sinks are opened anew. */
enum err agent_apply_take(struct agent *agent, struct plan *next, bool anew, struct buf *why);

#endif
