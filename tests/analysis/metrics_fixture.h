/* Hand-made series of program metrics, for tests of what reads them. */
#ifndef SONDE_TESTS_ANALYSIS_METRICS_FIXTURE_H
#define SONDE_TESTS_ANALYSIS_METRICS_FIXTURE_H

#include "analysis/job_metrics.h"
#include "model/program_sets.h"

#include <math.h>
#include <string.h>

#define METRICS_FIXTURE_MAX 32

/* One sample of set at from_s and one at to_s, with the values at the end; NAN: unknown. Recorded by an agent if host
 * contains "agent", else by a run. */
static inline enum err metrics_fixture_of(struct job_metrics *metrics, const char *host, const struct set *set,
                                          const char *instance, uint64_t from_s, uint64_t to_s, const double *values)
{
    uint64_t times_ns[2] = { from_s * 1000000000ull, to_s * 1000000000ull };
    union value cells[2 * METRICS_FIXTURE_MAX];
    uint8_t known[2 * METRICS_FIXTURE_MAX] = { 0 };
    memset(cells, 0, sizeof cells);
    for (size_t i = 0; i < set->size; i++) {
        if (isnan(values[i]))
            continue;
        known[set->size + i] = 1;
        if (set->metrics[i].type == F64)
            cells[set->size + i].f64 = values[i];
        else
            cells[set->size + i].u64 = (uint64_t)values[i];
    }
    struct run_series series = { .set = *set, .instance = instance, .count = 2, .times_ns = times_ns, .values = cells,
                                 .known = known, .by_agent = strstr(host, "agent") != NULL };
    return job_metrics_add(metrics, host, &series);
}

static inline enum err metrics_fixture_between(struct job_metrics *metrics, const struct set *set, const char *instance,
                                               uint64_t from_s, uint64_t to_s, const double *values)
{
    return metrics_fixture_of(metrics, "n1", set, instance, from_s, to_s, values);
}

static inline void metrics_fixture(struct job_metrics *metrics, const struct set *set, const char *instance, const double *values)
{
    metrics_fixture_between(metrics, set, instance, 1, 2, values);
}

/* calls, time, sent, received, waiting, small, life: times in s. */
static inline void metrics_fixture_mpi(struct job_metrics *metrics, const char *instance, double calls, double time_s,
                                       double out, double in, double wait_s, double small, double life_s)
{
    metrics_fixture(metrics, &mpi_set, instance, (double[MPI_SIZE]){ calls, time_s * 1e9, out, in, wait_s * 1e9, small,
                                                               life_s * 1e9, NAN, NAN });
}

static inline void metrics_fixture_call(struct job_metrics *metrics, const char *instance, double calls, double errors,
                                        double bytes, double time_s)
{
    metrics_fixture(metrics, &syscall_set, instance, (double[]){ calls, errors, bytes, time_s * 1e9 });
}

/* Four ranks of 10 s; the last works 8 s, the others 2 s and wait for it. */
static inline void metrics_fixture_example(struct job_metrics *metrics)
{
    static const char *const barrier[] = { "0/MPI_Barrier", "1/MPI_Barrier", "2/MPI_Barrier", "3/MPI_Barrier" };
    static const char *const whole[] = { "0/", "1/", "2/", "3/" };
    for (int i = 0; i < 4; i++) {
        metrics_fixture_mpi(metrics, barrier[i], 10, i == 3 ? 1 : 7, NAN, NAN, i == 3 ? 0 : 6.5, 0, NAN);
        metrics_fixture_mpi(metrics, whole[i], 10, i == 3 ? 2 : 8, NAN, NAN, i == 3 ? 0 : 6.5, NAN, 10);
    }
    metrics_fixture_mpi(metrics, "0/MPI_Send", 150000, 1, 1.2e6, NAN, NAN, 150000, NAN);
    metrics_fixture_mpi(metrics, "1/MPI_Recv", 150000, 1, NAN, 1.2e6, NAN, 0, NAN);
    metrics_fixture(metrics, &mpi_peer_set, "0>1", (double[]){ 150000, 1.2e6 });
    metrics_fixture(metrics, &mpi_peer_set, "2>3", (double[]){ 1, 4e6 });
    metrics_fixture_call(metrics, "read", 120000, 20000, 1e9, 2);
    metrics_fixture_call(metrics, "read/file:ext4", 20000, 0, 9.9e8, 1.5);
    metrics_fixture_call(metrics, "read/pipe", 100000, 20000, 1e7, 0.5);
    metrics_fixture_call(metrics, "openat", 150000, 100000, 0, 1);
    metrics_fixture_call(metrics, "futex", 5000, 100, 0, 30);
    metrics_fixture(metrics, &program_counter_set, "cells_total{phase=\"solve\"}", (double[]){ 1234567 });
    metrics_fixture(metrics, &program_counter_set, "seconds_total", (double[]){ 12.25 });
    metrics_fixture(metrics, &program_gauge_set, "residual", (double[]){ 0.5, 0.125, 0.375, 0.25, 2 });
}

#endif
