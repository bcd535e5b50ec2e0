/* Values: a cell is the value of one metric in one scope.
 *
 * How values are summed. Whatever a program reports goes into the cell of its job, or of its user if it is in no job, and
 * from there into the cells above: those of the user and of the node. So no sum is ever computed over jobs, and a job that
 * is dropped stays in the sums of its user and of the node.
 * - A counter grows: cell_add gets what it has grown by. Programs report either that (tau's clients, by messages) or
 *   totals (metrics segments), of which a contribution remembers the last one.
 * - A gauge is a property of the programs that are alive: sum, minimum and maximum over what each has set it to. They are
 *   computed from the list of contributions when somebody asks (cells_refresh_gauges).
 * - A histogram grows in each bucket and in its sum.
 * - A program may move to another scope, for example when its job is registered after it has started. What it has counted
 *   stays where it was counted. Its totals go on, so the contribution notes the part that is elsewhere (baseline.h).
 * - A metric may have aliases: cells of other names that count the same.
 *
 * Everything under the registry's lock. Cells are created and dropped by registry.c, which knows the limits. */
#ifndef SONDE_APPMETRICS_CELLS_H
#define SONDE_APPMETRICS_CELLS_H

#include "appmetrics/metric_table.h"
#include "appmetrics/scopes.h"

/* A gauge over all live programs that have set it. */
struct gauge_sum {
    double sum, min, max;
    uint64_t programs; /* number of programs; 0: not set */
};

/* The current count of a counter or histogram. */
struct tally {
    double total;    /* counter: its value; histogram: sum of the observed values */
    double *buckets; /* histogram: count per bucket, the last one above all bounds; NULL: not a histogram */
};

/* What one program has reported of one metric. */
struct contribution {
    struct cell *cell;
    struct tally value;   /* last one reported: the value of a gauge, else the program's own total */
    struct tally base;    /* the part of value that was counted in scopes which the program has left: baseline.h */
    struct tally outside; /* the part of base that was counted in no job. All buckets are one allocation: value.buckets */
    bool is_set;          /* gauge: the program has set it */
    LIST_ENTRY(contribution) link; /* gauge: in metric_values.gauges */
};

/* State of program_samples.c for a cell. */
struct cell_sampling {
    bool is_changed;            /* changed since the last samples: it is in scopes.changed */
    LIST_ENTRY(cell) link;      /* in scopes.changed */
    uint64_t time_ns;           /* when a sample of several cells was last written */
    double from_kernel;         /* a job's system calls: total when the kernel's count was last added (program_syscalls.h) */
    bool must_restart;          /* programs' counts begin at 0 after that, and the samples do not show the restart yet */
};

struct cell {
    struct program_metric *metric;
    struct scope *scope;
    struct cell *up;            /* cell of the same metric in the scope's parent; NULL: this is the node's cell */
    double total;               /* counter: its value; histogram: sum of the observed values */
    double *buckets;            /* histogram: bound_count + 1 counts, then the same number of values of the last samples
                                 * (program_samples.c) */
    uint64_t changed_ns;        /* CLOCK_REALTIME; 0: never set */
    struct gauge_sum gauge;     /* valid after cells_refresh_gauges */
    struct gauge_sum left;      /* last values of programs that have ended */
    struct cell **aliases;      /* cells that count the same under other names, ended by NULL; NULL: none */
    struct contribution shared; /* one contribution for all programs that report increments of a counter */
    struct tally saved;         /* job: the part of total and buckets that is in no segment any more (saved_state.h) */
    double profiled;            /* job: the part of total that is in a profile already (compat/tau/profile_snapshot.h) */
    struct cell_sampling sampling;
    LIST_ENTRY(cell) in_metric, in_scope; /* in metric_values.cells and scope.cells */
};

/* NULL: the metric has no value in this scope yet. */
struct cell *cell_find(const struct program_metric *metric, const struct scope *scope);

/* up: the cell of the scope's parent; NULL for the node. NULL: no memory. */
struct cell *cell_create(struct program_metric *metric, struct scope *scope, struct cell *up);
void cell_free(struct cell *cell);

/* Adds to a counter. False: the increment is NaN, infinite or negative, and was refused. A total that exceeds the range
 * of doubles stays infinite, in this cell or only in those above it. */
bool cell_add(struct cell *cell, double increment, uint64_t now_ns);

/* Sets the counter to infinity, because the program's own total has become infinite. */
void cell_overflow(struct cell *cell, uint64_t now_ns);

/* Adds observations to a histogram: counts of its bound_count + 1 buckets, and their sum. False: the sum is NaN, and was
 * not added. */
bool cell_observe(struct cell *cell, const double *buckets, double sum, uint64_t now_ns);

/* Is it a count of system calls, by the names of our probe or of tau's tracer, in a job whose calls the kernel counts?
 * Then what programs report is not added. */
bool cell_is_counted_by_kernel(const struct cell *cell);

/* For program_samples.c: which cells have to be written. */
void cell_clear_changed(struct cell *cell);
void cells_mark_changed(struct scope *scope); /* marks all cells of the scope that were ever set */

/* The gauge of a live program. contribution_join needs a zeroed struct. Setting NaN unsets the gauge, since NaN would
 * make the sum over all programs NaN. */
void contribution_join(struct contribution *contribution, struct cell *cell);
void contribution_set(struct contribution *contribution, double value, uint64_t now_ns);
void contribution_unset(struct contribution *contribution, uint64_t now_ns);
void contribution_leave(struct contribution *contribution, uint64_t now_ns); /* not freed */

/* For any kind of metric: what the program reports from now on is counted in another cell of the same metric. */
void contribution_move(struct contribution *contribution, struct cell *cell, uint64_t now_ns);

void gauge_sum_add(struct gauge_sum *gauge, double value);

/* Computes the gauges of a metric in all scopes, if something has changed. */
void cells_refresh_gauges(struct program_metric *metric);

#endif
