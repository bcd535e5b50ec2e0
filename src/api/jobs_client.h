/* The jobs on a node, or on all of a collector, now, read from an answer at /jobs; two readings give rates. */
#ifndef SONDE_API_JOBS_CLIENT_H
#define SONDE_API_JOBS_CLIENT_H

#include "base/buf.h"
#include "api/job_figures.h"

#define JOBS_ANSWER_STRING_MAX 64

struct jobs_answer_figure {
    bool is_known, has_rate;
    uint64_t value, time_ns;
    double rate; /* a second */
};

struct jobs_answer_job {
    char id[JOBS_ANSWER_STRING_MAX], other_id[JOBS_ANSWER_STRING_MAX], user[JOBS_ANSWER_STRING_MAX], source[JOBS_ANSWER_STRING_MAX];
    uint64_t start_ns;                   /* 0: not known */
    uint64_t cores_milli, memory_bytes;  /* allowed; 0: not known */
    uint64_t nodes;                      /* that it is on; 0: not told */
    struct jobs_answer_figure figures[JOB_FIGURES_SIZE];
};

struct jobs_answer {
    char host[JOBS_ANSWER_STRING_MAX];
    uint64_t time_ns, nodes; /* nodes: whose jobs these are; 0: not told */
    struct jobs_answer_figure node[JOB_FIGURES_SIZE];
    struct jobs_answer_job *jobs;
    size_t count, capacity;
    uint64_t others; /* jobs that one may not see */
};

/* Takes any text. CORRUPT: it is no such answer; NOMEM. */
enum err jobs_client_read(struct jobs_answer *now, const char *text, size_t size);
void jobs_client_clear(struct jobs_answer *now);

/* Rates of what has changed since before; where the agent has read nothing anew, the rate stays. before may be empty. */
void jobs_client_set_rates(struct jobs_answer *now, const struct jobs_answer *before);

#endif
