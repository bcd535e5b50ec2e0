/* The agent's sensors: which samplers run, with which settings and periods. Samples go to model/latest.h and to a
 * callback. A sensor can be changed, added or removed without affecting the others. */
#ifndef SONDE_AGENT_SENSORS_H
#define SONDE_AGENT_SENSORS_H

#include "agent/agent_config.h"
#include "agent/schedule.h"
#include "jobs/jobs.h"
#include "model/latest.h"

struct sensors;

/* Borrowed until sensors_close. */
struct sensors_settings {
    const char *root, *host;
    struct latest *live;
    struct schedule *schedule;
    void (*out)(void *context, const struct batch *batch); /* gets everything that was read together */
    void *out_context;
};

enum sensor_state { SENSOR_OFF, SENSOR_READS, SENSOR_ABSENT, SENSOR_DENIED, SENSOR_FAILS, SENSOR_WAITS };

/* Status of one sensor. */
struct sensor_facts {
    const struct sampler *sampler;
    enum sensor_state state;
    uint64_t period_ns;
    struct schedule_counts counts;
    uint64_t failures;
    const struct setting_list *settings;
};

enum err sensors_open(struct sensors **sensors, const struct sensors_settings *settings);

/* Closes all; batches of threads are collected before. Accepts NULL. */
void sensors_close(struct sensors **sensors);

/* The jobs that a sensor opened later must know. NULL: none. */
void sensors_set_jobs(struct sensors *sensors, const struct jobs *jobs);

/* Applies a configuration. If the settings of a sensor change, a new sampler is opened before the old one is closed; if
 * that fails, the old one stays, error has a message, and USAGE is returned: then the caller must apply the old
 * configuration again. */
enum err sensors_apply(struct sensors *sensors, const struct agent_config *config, struct buf *error);

/* Reads the sensors that are due; requests readings of slow ones. Returns the number of samples. */
size_t sensors_tick(struct sensors *sensors);

/* Once a second, between two ticks: lets samplers that would miss events poll their sensors. */
void sensors_poll(struct sensors *sensors);

/* Reads all now, and waits for slow ones until the deadline (CLOCK_MONOTONIC). */
size_t sensors_read_all(struct sensors *sensors, uint64_t deadline_ns);

/* Listener for job events. */
void sensors_job(struct sensors *sensors, const struct job *job, enum job_event event);

/* Readable when a slow sampler has a batch: then call sensors_collect. */
int sensors_fd(const struct sensors *sensors);
void sensors_collect(struct sensors *sensors);

/* *at is 0 at first; false after the last. */
bool sensors_next(struct sensors *sensors, size_t *at, struct sensor_facts *facts);
const char *sensors_state_name(enum sensor_state state); /* "reads", ... */

#endif
