/* Reads the answer of GET /jobs: the jobs on a node, or on all nodes of a collector. Two answers give rates. */
#ifndef SONDE_API_JOBS_CLIENT_H
#define SONDE_API_JOBS_CLIENT_H

#include "base/buf.h"
#include "api/job_figures.h"

#define JOBS_ANSWER_STRING_MAX 128
#define JOBS_ANSWER_CGROUP_MAX 1024

struct jobs_answer_figure {
    bool is_known, has_rate;
    uint64_t value, time_ns;
    double rate; /* per second */
};

struct jobs_answer_job {
    char id[JOBS_ANSWER_STRING_MAX], other_id[JOBS_ANSWER_STRING_MAX], user[JOBS_ANSWER_STRING_MAX];
    char source[JOBS_ANSWER_STRING_MAX], cgroup[JOBS_ANSWER_CGROUP_MAX];
    uint64_t start_ns;                   /* 0: unknown */
    uint64_t cores_milli, memory_bytes;  /* limits; 0: unknown */
    uint64_t nodes;                      /* number of nodes; 0: unknown */
    struct jobs_answer_figure figures[JOB_FIGURES_SIZE];
};

struct jobs_answer {
    char host[JOBS_ANSWER_STRING_MAX];
    uint64_t time_ns, nodes; /* nodes: number of nodes of the answer; 0: unknown */
    struct jobs_answer_figure node[JOB_FIGURES_SIZE];
    bool has_jobs; /* the answer has a list of jobs */
    struct jobs_answer_job *jobs;
    size_t count, capacity;
    uint64_t others; /* number of jobs that the user may not see */
};

/* Accepts any input. CORRUPT: not an answer of /jobs; NOMEM. */
enum err jobs_client_read(struct jobs_answer *now, const char *text, size_t size);
void jobs_client_clear(struct jobs_answer *now);

/* Sets the rates since the answer before, which may be empty. A figure without a new sample keeps its rate. */
void jobs_client_set_rates(struct jobs_answer *now, const struct jobs_answer *before);

#endif
