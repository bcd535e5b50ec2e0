/* GET /jobs: the jobs on a node, or on all nodes of a collector, as JSON (read by api/jobs_client.h). A job on
 * several nodes is listed once, with sums. */
#ifndef SONDE_API_JOBS_JSON_H
#define SONDE_API_JOBS_JSON_H

#include "base/buf.h"
#include "base/map.h"
#include "model/view.h"
#include "api/job_figures.h"

struct jobs_json_job {
    const struct job *job; /* from its first node */
    uint64_t nodes, cores_milli, memory_bytes; /* sums; 0: unknown on a node */
    struct job_figures figures;
};

struct jobs_json {
    struct jobs_json_job *list;
    size_t count, capacity;
    struct map map; /* indexes into list, by id and user */
    struct job_figures node; /* of all of them */
    uint64_t nodes, others; /* others: jobs that the viewer may not see */
};

/* Adds the jobs of one node; jobs starts zeroed. The view must stay valid until jobs_json_write. NOMEM. */
enum err jobs_json_add(struct jobs_json *jobs, const struct view *view);
void jobs_json_clear(struct jobs_json *jobs);

/* {"host", "time_ns", "nodes": how many, "node": {"figures"}, "jobs": [{"id", "user", …, "nodes", "figures": {"cpu_us": [VALUE,
 *  TIME_NS], …}}], "others"} */
void jobs_json_write(const struct jobs_json *jobs, const struct view *view, struct buf *out);

/* The same for a single node. */
void jobs_json_write_node(const struct view *view, struct buf *out);

#endif
