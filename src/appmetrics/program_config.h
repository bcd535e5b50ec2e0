/* Section [programs] of the agent's configuration. */
#ifndef SONDE_APPMETRICS_PROGRAM_CONFIG_H
#define SONDE_APPMETRICS_PROGRAM_CONFIG_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_CONFIG_NONE "none" /* as boards and tau: do not */

struct program_config {
    bool is_off;
    char *boards;         /* the folder; "none"; NULL: /dev/shm */
    char *tau;            /* a path, "none"; NULL: the usual place */
    bool is_only_named;   /* boards of such programs alone that name this socket */
    bool has_tau_names;   /* in /metrics */
    bool has_tau_paths;   /* /metrics at every path that has the word, as tau's proxy */
    uint64_t metrics_max; /* 0: the usual number */
    char *profiles;       /* a folder for tau's profiles of jobs; NULL: none are written */
    bool is_worker;       /* another node merges them */
};

void program_config_clear(struct program_config *config);
enum err program_config_copy(struct program_config *copy, const struct program_config *config);

/* enabled, boards, tau, only_named, tau_names, tau_paths, metrics, profiles, merge_profiles. USAGE: error says what is wrong. */
enum err program_config_set(struct program_config *config, const char *key, const char *value, struct buf *error);

/* Writes the section as the configuration has it. */
void program_config_write(struct buf *out, const struct program_config *config);

#endif
