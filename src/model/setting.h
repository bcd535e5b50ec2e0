/* The settings of a sampler or sink: one row of a table parses, checks and documents one setting. */
#ifndef SONDE_MODEL_SETTING_H
#define SONDE_MODEL_SETTING_H

#include "base/err.h"

#include <stddef.h>

enum setting_type {    /* type of the field at offset: */
    SETTING_FLAG,      /* bool: yes, no */
    SETTING_TEXT,      /* const char *, borrowed */
    SETTING_U64,       /* uint64_t */
    SETTING_DURATION,  /* uint64_t, ns: "1s", "250ms" */
    SETTING_BYTES,     /* uint64_t: "256MiB" */
};

struct setting {
    const char *key; /* NULL ends the table */
    enum setting_type type;
    const char *initial; /* default value as one would write it; NULL: zero */
    size_t offset;       /* in the state struct */
    const char *help;    /* one line */
};

/* Sets the default values in a zeroed state. settings can be NULL. */
enum err setting_defaults(const struct setting *settings, void *state);

/* Sets one by key. ABSENT: unknown key; USAGE: invalid value. */
enum err setting_apply(const struct setting *settings, void *state, const char *key, const char *value);

#endif
