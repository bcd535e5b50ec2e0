/* The list of rules. X(name): the constant rule_name in analysis/rules/name.c. A rule comes after the one it names in
 * rule.unless. */
#ifndef SONDE_ANALYSIS_RULES_H
#define SONDE_ANALYSIS_RULES_H

#include "analysis/rule.h"

#define RULES(X) \
    X(job_failed) \
    X(killed) \
    X(crashed) \
    X(incomplete) \
    X(memory_near_limit) \
    X(memory_unused) \
    X(run_queue) \
    X(mostly_waiting) \
    X(cores_unused) \
    X(serial_phases) \
    X(imbalance) \
    X(mpi_imbalance) \
    X(mpi_time) \
    X(mpi_small_messages) \
    X(short_processes) \
    X(too_many_threads) \
    X(thread_churn) \
    X(preempted) \
    X(block_io) \
    X(io_phases) \
    X(small_calls) \
    X(small_io) \
    X(call_errors) \
    X(metadata_calls) \
    X(storage_rereads) \
    X(system_time) \
    X(page_faults) \
    X(left_running) \
    X(failed_processes) \
    X(too_short)

#define X(name) extern const struct rule rule_##name;
RULES(X)
#undef X

/* All rules, in this order. */
extern const struct rule *const rules_all[];
extern const size_t rules_count;

#endif
