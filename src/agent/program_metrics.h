/* Program metrics in the agent: opens and closes the registry, tau's socket, the reader of metrics segments and the
 * writer of profiles as the configuration says, and passes on their samples. Called by agent.c; queried by
 * agent_http.c. */
#ifndef SONDE_AGENT_PROGRAM_METRICS_H
#define SONDE_AGENT_PROGRAM_METRICS_H

#include "model/batch.h"
#include "appmetrics/program_config.h"
#include "appmetrics/registry.h"

/* All functions but apply accept NULL, which is an agent without program metrics, and do nothing. */
struct program_metrics;

struct program_metrics_context {
    const char *root, *host;     /* borrowed */
    void (*out)(void *context, const struct batch *batch); /* receives samples */
    void *out_context;
};

/* Applies the configuration, at first and whenever it has changed; what did not change goes on. What does not work is
 * logged, and the rest works. The error is that of a configured path which cannot be used, or NOMEM. *metrics is NULL
 * at first, and while program metrics are disabled. */
enum err program_metrics_apply(struct program_metrics **metrics, const struct program_config *config,
                               const struct program_metrics_context *context);
void program_metrics_close(struct program_metrics **metrics);

/* All jobs that run have been reported (program_metrics_job_event): segments are read from here on, or from the first
 * tick on. */
void program_metrics_start(struct program_metrics *metrics);

/* /metrics and /programs; viewer, format: as in program_page.h. */
void program_metrics_write_page(struct program_metrics *metrics, struct buf *out, int format, uint32_t viewer);
enum err program_metrics_write_json(struct program_metrics *metrics, struct buf *out, struct bytes query, uint32_t viewer);
bool program_metrics_has_tau_paths(const struct program_metrics *metrics); /* serve /metrics at every path with this word */

/* A job started, changed or ended. */
void program_metrics_job_event(struct program_metrics *metrics, const struct job *job, enum job_event event);

/* The samplers know of it too, and count its system calls if they were asked to. Until they begin, what its programs
 * report counts. */
void program_metrics_job_sampled(struct program_metrics *metrics, const struct job *job, enum job_event event);

/* Samples of the samplers: system calls among them are also served as program metrics. ending: a job whose last
 * samples these are; NULL: none. */
void program_metrics_add_samples(struct program_metrics *metrics, const struct job *ending, const struct batch *batch);

/* Once a second: reads segments, passes on samples of what has changed, drops what has ended. */
void program_metrics_tick(struct program_metrics *metrics);

#endif
