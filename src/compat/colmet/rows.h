/* Samples as Colmet would have told them: a batch of Sonde's sets becomes rows of Colmet's backends, with its names, units
 * and intervals. For all sinks that write Colmet's data: hdf5, elasticsearch, colmet. Sets that came from a Colmet
 * (named after its backends, compat/colmet/backends.h) pass as they are.
 *
 *   taskstats → taskstats_default          meminfo, vmstat, stat, loadavg → one row of procstats_default
 *   process → jobprocstats_default         perf → perfhwstats_default, differences, as Colmet's counters begin anew each time
 *   rapl → RAPLstats_default, differences  temperature, ipmi, infiniband, lustre → the same with "stats_default"
 *   gpu, gpu_job → nvidiastats_default */
#ifndef SONDE_COMPAT_COLMET_ROWS_H
#define SONDE_COMPAT_COLMET_ROWS_H

#include "model/batch.h"
#include "compat/colmet/backends.h"

/* All borrowed until the next call on the rows; host, labels and job_text as long as the batch. */
struct colmet_row {
    const struct colmet_backend *backend;
    const char *host;
    uint64_t job;         /* its number; 0: the node. See colmet_rows_job */
    const char *job_text; /* as Sonde has it; NULL: the node */
    uint64_t time_ns;
    uint64_t time_s;      /* what Colmet calls timestamp */
    const union value *values; /* backend->count of them, of colmet_model_type(backend->columns[i].type) */
    const uint8_t *known;      /* as many; 0: absent (Colmet would have said -1) */
    const char *const *labels; /* as many: what counter_1 … really are ("instructions", "package-0 energy"); NULL here or
                                * inside: there is none */
    const uint64_t *involved;  /* the jobs on the node, ascending; none for a row of a job */
    size_t involved_count;
    bool has_involved;         /* involved_jobs is a field of this row, if only as [] */
    size_t sample;             /* place in the batch of the first sample that it was made of: with backend and job it names
                                * the row for ever, as stream and sequence name the batch */
};

struct colmet_rows; /* for one thread; remembers the last counts of each host and job, to tell differences */

enum err colmet_rows_new(struct colmet_rows **rows);
void colmet_rows_free(struct colmet_rows **rows);

/* The rows of batch, in the order of Colmet's messages. A batch that comes a second time gives the same rows. */
enum err colmet_rows_make(struct colmet_rows *rows, const struct batch *batch, const struct colmet_row **list, size_t *count);

/* Colmet's jobs are numbers: that at the beginning of the id ("4711", "4711.pbs1", "4711_3" are 4711). Others get one of their
 * own from 2^62 on, made from their text. */
uint64_t colmet_rows_job(const char *id);

/* "[42, 43]", cut behind a whole number where it does not fit into size bytes with a NUL. */
void colmet_rows_involved(const struct colmet_row *row, char *out, size_t size);

#endif
