/* What the agent has to do with programs that speak: the table, tau's socket, boards, what goes out of it. Called by agent.c,
 * asked by agent_http.c. */
#ifndef SONDE_AGENT_PROGRAM_METRICS_H
#define SONDE_AGENT_PROGRAM_METRICS_H

#include "model/batch.h"
#include "appmetrics/config.h"
#include "appmetrics/table.h"

struct programs;

struct programs_context {
    const char *root, *host;     /* borrowed */
    void (*out)(void *context, const struct batch *batch); /* takes samples */
    void *out_context;
};

/* As the plan says, at first and whenever it changes: what did not change goes on. Whatever does not work is told, and the rest
 * works; the error is of a path that somebody asked for and that cannot be had, or NOMEM. *programs is NULL at first, and where
 * the plan has none of it. */
enum err programs_apply(struct programs **programs, const struct program_plan *plan, const struct programs_context *context);
void programs_close(struct programs **programs);

/* The jobs that run were told (programs_job): from here on, or the first programs_tend, boards are read. Harmless with NULL. */
void programs_begin(struct programs *programs);

/* For /metrics and /programs. Harmless with NULL. viewer, format: as in program_page.h. */
void programs_metrics(struct programs *programs, struct buf *out, int format, uint32_t viewer);
bool programs_has_tau_paths(const struct programs *programs); /* /metrics at every path that has the word */
enum err programs_json(struct programs *programs, struct buf *out, struct bytes query, uint32_t viewer);

/* A job came, changed or ended. Harmless with NULL. */
void programs_job(struct programs *programs, const struct job *job, enum job_event event);

/* The sensors have heard of it too, and count its system calls if they were asked to: it takes them a while to begin, in which
 * its programs' own word counts. Harmless with NULL. */
void programs_job_sensed(struct programs *programs, const struct job *job, enum job_event event);

/* Samples of the sensors: the system calls among them are served under tau's names. Harmless with NULL. ending: a job
 * whose last these are; NULL: none. */
void programs_sensed(struct programs *programs, const struct job *ending, const struct batch *batch);

/* Once a second: reads boards, hands over the samples of what has changed, forgets what has gone. Harmless with NULL. */
void programs_tend(struct programs *programs);

#endif
