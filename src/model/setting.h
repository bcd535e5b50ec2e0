/* The options of a sampler or a sink: one table row parses, checks and documents one of them. */
#ifndef SONDE_MODEL_SETTING_H
#define SONDE_MODEL_SETTING_H

#include "base/err.h"

#include <stddef.h>

enum setting_type {    /* what stands at the offset: */
    SETTING_FLAG,      /* bool: yes, no */
    SETTING_TEXT,      /* const char *, borrowed */
    SETTING_U64,       /* uint64_t */
    SETTING_DURATION,  /* uint64_t, ns: "1s", "250ms" */
    SETTING_BYTES,     /* uint64_t: "256MiB" */
};

struct setting {
    const char *key; /* NULL ends the table */
    enum setting_type type;
    const char *initial; /* the default as one would write it; NULL: what zero means */
    size_t offset;       /* in the state */
    const char *help;    /* one line */
};

/* Writes the initial values into a zeroed state. A table that is NULL has no rows. */
enum err setting_defaults(const struct setting *settings, void *state);

/* Sets one by its key. ABSENT: there is no such key; USAGE: the value is not of the type. */
enum err setting_apply(const struct setting *settings, void *state, const char *key, const char *value);

#endif
