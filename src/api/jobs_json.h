/* GET /jobs: the jobs on a node, or on all nodes of a collector, as JSON, for sonde top and whoever else asks. A job on several
 * nodes is one, and its numbers are the sums. */
#ifndef SONDE_API_JOBS_JSON_H
#define SONDE_API_JOBS_JSON_H

#include "base/buf.h"
#include "base/map.h"
#include "model/view.h"
#include "api/job_figures.h"

struct jobs_json_job {
    const struct job *job; /* as its first node has it */
    uint64_t nodes, cores_milli, memory_bytes; /* of all of them; 0: not known on one */
    struct job_figures figures;
};

struct jobs_json {
    struct jobs_json_job *list;
    size_t count, capacity;
    struct map map; /* indexes into list, by id and user */
    struct job_figures node; /* of all of them */
    uint64_t nodes, others; /* others: jobs that whoever asks may not see */
};

/* Adds what a view shows of one node. What it borrows must stay until it is written. NOMEM. Begins with zeroes. */
enum err jobs_json_add(struct jobs_json *jobs, const struct view *view);
void jobs_json_clear(struct jobs_json *jobs);

/* {"host", "time_ns", "nodes": how many, "node": {"figures"}, "jobs": [{"id", "user", …, "nodes", "figures": {"cpu_us": [VALUE,
 *  TIME_NS], …}}], "others"} */
void jobs_json_write(const struct jobs_json *jobs, const struct view *view, struct buf *out);

/* The same for one node alone. */
void jobs_json_write_node(const struct view *view, struct buf *out);

#endif
