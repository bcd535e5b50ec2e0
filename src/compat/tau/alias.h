/* The names that users of tau_metric_proxy know for what our probes count: mpi_calls_total{function="MPI_Send"} is
 * also served as tau_hits_total{function="mpi_send"}. For the agent's registry (registry_settings.aliases), which lets
 * an alias count with its metric; report/extrap_store.c gives what is in the job database the same names. */
#ifndef SONDE_COMPAT_TAU_ALIAS_H
#define SONDE_COMPAT_TAU_ALIAS_H

#include "appmetrics/registry.h"

/* Whether a system call is in tau_strace's sums of reads or of writes. */
enum tau_call_direction { TAU_CALL_OTHER, TAU_CALL_READS, TAU_CALL_WRITES };
enum tau_call_direction tau_call_direction(const char *call);

/* A registry_aliases: fills list, and returns how many. */
size_t tau_alias_list(const struct program_metric *metric, struct metric_alias list[REGISTRY_ALIASES_MAX]);

#endif
