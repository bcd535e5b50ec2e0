/* The samplers of the agent: which there are, with which settings and periods, what they read and hear of jobs. Samples go
 * to live and to an outlet. One may be changed, added or taken away without touching the others. */
#ifndef SONDE_AGENT_SENSORS_H
#define SONDE_AGENT_SENSORS_H

#include "model/live.h"
#include "agent/plan.h"
#include "agent/schedule.h"
#include "jobs/jobs.h"

struct sensors;

/* Borrowed until sensors_close. */
struct sensors_place {
    const char *root, *host;
    struct live *live;
    struct schedule *schedule;
    void (*out)(void *context, const struct batch *batch); /* gets all that was read together */
    void *out_context;
};

enum sensor_state { SENSOR_OFF, SENSOR_READS, SENSOR_ABSENT, SENSOR_DENIED, SENSOR_FAILS, SENSOR_WAITS };

/* What there is to tell of one. */
struct sensor_facts {
    const struct sampler *sampler;
    enum sensor_state state;
    uint64_t period_ns;
    struct schedule_counts counts;
    uint64_t failures;
    const struct setting_list *settings;
};

enum err sensors_open(struct sensors **sensors, const struct sensors_place *place);

/* Closes all; what slow ones have read is let out before. Accepts NULL there. */
void sensors_close(struct sensors **sensors);

/* Where the jobs are that sensors which are opened later must hear of. NULL: there are none. */
void sensors_set_jobs(struct sensors *sensors, const struct jobs *jobs);

/* Makes them what plan says. A sensor whose settings change is opened anew before the old one is closed; if that fails the
 * old one goes on, why says so, and USAGE is returned: then the caller applies the old plan again. */
enum err sensors_apply(struct sensors *sensors, const struct plan *plan, struct buf *why);

/* Reads those that are due by the schedule; asks the slow ones. Returns how many samples came. */
size_t sensors_tick(struct sensors *sensors);

/* Between two ticks, once a second: those that would lose count look at their sensors when it is time. */
void sensors_look(struct sensors *sensors);

/* Reads all now, and waits for the slow ones until the deadline (CLOCK_MONOTONIC). */
size_t sensors_read_all(struct sensors *sensors, uint64_t deadline_ns);

/* To be a listener of jobs. */
void sensors_job(struct sensors *sensors, const struct job *job, enum job_event event);

/* Readable when a slow one has read something: then sensors_take. */
int sensors_fd(const struct sensors *sensors);
void sensors_take(struct sensors *sensors);

/* *at is 0 at first; false behind the last. */
bool sensors_next(struct sensors *sensors, size_t *at, struct sensor_facts *facts);
const char *sensors_state_name(enum sensor_state state); /* "reads", … */

#endif
