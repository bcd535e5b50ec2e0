/* Section [programs] of the agent's configuration. */
#ifndef SONDE_APPMETRICS_PROGRAM_CONFIG_H
#define SONDE_APPMETRICS_PROGRAM_CONFIG_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_CONFIG_NONE "none" /* as a value of boards or tau: none */

struct program_config {
    bool is_off;
    char *segment_dir;    /* key boards: a directory, or "none"; NULL: /dev/shm */
    char *tau;            /* path of the socket, or "none"; NULL: the default */
    bool is_only_named;   /* read only segments that name this socket */
    bool has_tau_names;   /* serve tau's names in /metrics too */
    bool has_tau_paths;   /* serve /metrics at every path that contains it, as tau's proxy does */
    uint64_t metrics_max; /* 0: the default */
    char *profiles;       /* directory of tau's profiles of jobs; NULL: none are written */
    bool is_worker;       /* another node merges the profiles */
};

void program_config_clear(struct program_config *config);
enum err program_config_copy(struct program_config *copy, const struct program_config *config);

/* Sets a key of the section. USAGE: error gets a message. */
enum err program_config_set(struct program_config *config, const char *key, const char *value, struct buf *error);

/* Writes the section as in the configuration file, with comments. */
void program_config_write(struct buf *out, const struct program_config *config);

#endif
