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

/* Over the programs that are alive and have set a gauge; programs 0: none has. */
struct gauge_sum {
    double sum, min, max;
    uint64_t programs;
};

/* A number counted so far. */
struct tally {
    double total;    /* of a histogram the sum of what was observed */
    double *buckets; /* of a histogram: how many in each, the last one above all bounds; NULL: no histogram */
};

/* What one program has reported of one metric. */
struct contribution {
    struct cell *cell;
    struct tally value;   /* the last one reported: of a gauge its value, else the program's own total */
    struct tally base;    /* the part of value that was counted in scopes which the program has left: baseline.h */
    struct tally outside; /* the part of base that was counted in no job. All buckets are one allocation: value.buckets */
    bool is_set;          /* of a gauge */
    LIST_ENTRY(contribution) link; /* of gauges: in metric_values.gauges */
};

/* The state of program_samples.c for a cell. */
struct cell_sampling {
    bool is_changed;            /* since the last samples: it is in scopes.changed */
    LIST_ENTRY(cell) link;
    uint64_t time_ns;           /* when a sample of several cells was written last */
    double from_kernel;         /* of a job's system calls: total when the kernel's count was added last (program_syscalls.h) */
    bool must_restart;          /* after that, what programs report begins at 0 in the samples, which do not say so yet */
};

struct cell {
    struct program_metric *metric;
    struct scope *scope;
    struct cell *up;            /* of the scope that includes this one; NULL: this is the node's */
    double total;               /* of a counter; of a histogram the sum of what was observed */
    double *buckets;            /* of a histogram: bound_count + 1 counts; then as many values of the last samples, see
                                 * program_samples.c */
    uint64_t changed_ns;        /* CLOCK_REALTIME; 0: never set */
    struct gauge_sum gauge;     /* valid after cells_refresh_gauges */
    struct gauge_sum left;      /* of programs that have ended: the last values */
    struct cell **aliases;      /* that count the same, ended by NULL; NULL: none */
    struct contribution shared; /* of all programs that report increments of a counter, and need no memory of their own */
    struct tally saved;         /* of a job: the part of total and buckets that is in no segment any more (saved_state.h) */
    double profiled;            /* of a job: the part of total that is in a profile already (compat/tau/profile_snapshot.h) */
    struct cell_sampling sampling;
    LIST_ENTRY(cell) in_metric, in_scope;
};

/* NULL: there is none yet. */
struct cell *cell_find(const struct program_metric *metric, const struct scope *scope);

/* up: the cell of the scope's parent; NULL for the node. NULL: no memory. */
struct cell *cell_create(struct program_metric *metric, struct scope *scope, struct cell *up);
void cell_free(struct cell *cell);

/* A counter has grown. False: refused, since it is NaN, infinite or negative. A total beyond all doubles is infinite
 * from then on, in this cell or only in those above it. */
bool cell_add(struct cell *cell, double increment, uint64_t now_ns);

/* The same where the program's own total has become infinite. */
void cell_overflow(struct cell *cell, uint64_t now_ns);

/* New observations of a histogram: its bound_count + 1 buckets, and their sum. False: the sum is NaN, and was left
 * out. */
bool cell_observe(struct cell *cell, const double *buckets, double sum, uint64_t now_ns);

/* Is it a count of system calls, by the names of our probe or of tau's tracer, in a job whose calls the kernel counts?
 * Then what programs report is not added. */
bool cell_is_counted_by_kernel(const struct cell *cell);

/* For samples: what has changed, or is to be written though it has not. */
void cell_clear_changed(struct cell *cell);
void cells_mark_changed(struct scope *scope); /* all that were ever set */

/* A gauge of a program that is alive. Zeroed before. NaN means unset: it would spoil the sum of all others. */
void contribution_join(struct contribution *contribution, struct cell *cell);
void contribution_set(struct contribution *contribution, double value, uint64_t now_ns);
void contribution_unset(struct contribution *contribution, uint64_t now_ns);
void contribution_leave(struct contribution *contribution, uint64_t now_ns); /* not freed */

/* Of any kind of metric: what the program reports from now on is counted in another cell of the same metric. */
void contribution_move(struct contribution *contribution, struct cell *cell, uint64_t now_ns);

void gauge_sum_add(struct gauge_sum *gauge, double value);

/* Computes the gauges of a metric in all scopes, if something has changed. */
void cells_refresh_gauges(struct program_metric *metric);

#endif
