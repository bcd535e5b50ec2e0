/* The options of a command: one table row parses, checks and documents one option. --help, the man page and the shell
 * completion are made from the same rows (cmd/usage, cmd/man, cmd/complete). */
#ifndef SONDE_BASE_OPTION_H
#define SONDE_BASE_OPTION_H

#include "base/buf.h"

enum option_type {         /* what stands at the offset: */
    OPTION_FLAG,     /* bool */
    OPTION_COUNT,    /* int: how often it was given */
    OPTION_TEXT,     /* const char *, borrowed from argv */
    OPTION_LIST,     /* const char **, in the order given, NULL at the end; NULL when never given; see option_clear */
    OPTION_U64,      /* uint64_t */
    OPTION_DURATION, /* uint64_t, ns */
    OPTION_TIME,     /* uint64_t, ns since 1970 */
    OPTION_CHOICE,   /* int: the word's place in choices */
};

struct option {
    char letter;            /* 0: none */
    const char *name;       /* without the two hyphens; NULL: none. A row with neither ends the table */
    const char *argument;   /* "PERIOD"; FILE, DIR, PATH and JOB are completed by the shell; NULL for flags and counts */
    enum option_type type;
    size_t offset;          /* in the command's settings struct, which begins zeroed */
    const char *initial;    /* the default as one would type it; NULL: what zero means */
    const char *choices;    /* of OPTION_CHOICE: words, one blank between */
    uint64_t min, max;      /* of U64, DURATION; max 0: none */
    bool hidden;            /* works, but is not documented */
    const char *help;       /* one sentence without a full stop; may be long, is wrapped */
};

/* Ends a table. */
#define OPTION_END { 0 }

/* A table and the struct that its offsets mean. */
struct option_set {
    const struct option *options;
    void *settings;
};

/* Writes the initial values. */
void option_defaults(const struct option_set *set);

/* Reads argv[0..argc), which does not hold the command's own name: -x, -xVALUE, -x VALUE, bundled -xyz, --long,
 * --long=VALUE, --long VALUE; -- ends the options. The operands are moved to the beginning of argv, NULL behind them, and
 * *operands says how many. first_operand_ends: options behind the first operand belong to it. Looks rows up in sets[0],
 * sets[1], …. USAGE: message says, in one sentence without "sonde", what is wrong. */
enum err option_parse(const struct option_set *sets, size_t set_count, int argc, char **argv, bool first_operand_ends,
                      int *operands, struct buf *message);

/* Frees the lists. */
void option_clear(const struct option_set *set);

bool option_is_end(const struct option *option);

/* The i-th word of choices, as bytes; size 0 behind the last. */
struct bytes option_choice(const char *choices, int i);

/* "csv, json, jsonl" */
void option_add_choices(struct buf *out, const char *choices);

#endif
