/* What the programs of a job have told of themselves, as it stood at the end: the last sample of each series of the sets in
 * model/program_sets.h, summed over hosts and runs. Of what an agent and sonde run have both seen of a job on one host, one is
 * taken. From store_series to analysis/mpi.c, analysis/syscalls.c, the report and Extra-P. */
#ifndef SONDE_ANALYSIS_PROGRAM_METRICS_H
#define SONDE_ANALYSIS_PROGRAM_METRICS_H

#include "model/dictionary.h"
#include "model/run.h"

enum told_set { TOLD_COUNTER, TOLD_GAUGE, TOLD_MPI, TOLD_PEER, TOLD_CALL, TOLD_CALL_TIME, TOLD_SETS };

struct told_span {
    uint64_t first_ns, last_ns; /* last_ns 0: none */
};

/* One instance. */
struct told_row {
    const char *instance;
    const char *host; /* from which it came last */
    struct told_span agent, runs; /* who saw it when; on that host, but for ranks */
    uint32_t series;              /* that have told of it */
    bool lacks_calls;             /* one of them told bytes of system calls, and not how many calls: then nobody knows of all */
};

/* Rows in the order in which they came; values has width times the parts in program_metrics.c for each, NAN: not known. */
struct told_table {
    struct told_row *rows;
    double *values;
    size_t count, room, width;
    struct dictionary index;
};

struct told {
    struct told_table tables[TOLD_SETS];
    struct told_text *texts; /* the instances, the hosts */
    const char *host;        /* the last */
};

void told_init(struct told *told);
void told_clear(struct told *told);

/* Takes a series of one of the sets; others are passed over. Host by host, as store_series tells them. NOMEM. */
enum err told_add(struct told *told, const char *host, const struct run_series *series);

/* One value of a row; column is of the enums in model/program_sets.h. NAN: not known. */
double told_value(const struct told *told, enum told_set set, size_t row, size_t column);

/* All of a row; valid until the next told_add. */
const double *told_values(const struct told *told, enum told_set set, size_t row);

#endif
