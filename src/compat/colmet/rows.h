/* Converts a batch of Sonde's sets to rows of Colmet's backends, with Colmet's names, units and intervals, for the
 * sinks that write Colmet's data: hdf5, elasticsearch, colmet. Sets received from Colmet (compat/colmet/backends.h) are
 * passed through.
 *
 *   taskstats → taskstats_default          meminfo, vmstat, stat, loadavg → one row of procstats_default
 *   process → jobprocstats_default         perf → perfhwstats_default, differences, because Colmet resets its counters
 *   rapl → RAPLstats_default, differences  temperature, ipmi, infiniband, lustre → the same with "stats_default"
 *   gpu, gpu_job → nvidiastats_default */
#ifndef SONDE_COMPAT_COLMET_ROWS_H
#define SONDE_COMPAT_COLMET_ROWS_H

#include "model/batch.h"
#include "compat/colmet/backends.h"

/* Borrowed until the next call; host, labels and job_text as long as the batch. */
struct colmet_row {
    const struct colmet_backend *backend;
    const char *host;
    uint64_t job;         /* its number; 0: the node. See colmet_rows_job */
    const char *job_text; /* the job id of Sonde; NULL: the node */
    uint64_t time_ns;
    uint64_t time_s;      /* Colmet's timestamp */
    const union value *values; /* backend->count values of colmet_model_type(backend->columns[i].type) */
    const uint8_t *known;      /* backend->count flags; 0: missing (-1 in Colmet) */
    const char *const *labels; /* meaning of counter_1, … ("instructions", "package-0 energy"); NULL: none */
    const uint64_t *involved;  /* the jobs on the node, sorted; none for a row of a job */
    size_t involved_count;
    bool has_involved;         /* the row has involved_jobs, possibly [] */
    size_t sample;             /* index of its first sample in the batch: with backend and job it identifies the row */
};

struct colmet_rows; /* one thread; keeps the last counters of each host and job for differences */

enum err colmet_rows_new(struct colmet_rows **rows);
void colmet_rows_free(struct colmet_rows **rows);

/* The rows of batch, in the order of Colmet's messages. The same batch yields the same rows again. */
enum err colmet_rows_make(struct colmet_rows *rows, const struct batch *batch, const struct colmet_row **list, size_t *count);

/* Colmet's jobs are numbers: the digits at the start of the id (4711 for "4711", "4711.pbs1", "4711_3"). Other ids
 * are hashed to numbers from 2^62 on. */
uint64_t colmet_rows_job(const char *id);

/* "[42, 43]", truncated after a complete number if it does not fit into size bytes. */
void colmet_rows_involved(const struct colmet_row *row, char *out, size_t size);

#endif
