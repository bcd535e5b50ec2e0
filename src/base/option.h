/* The options of a command: one row of a table parses, checks and documents one option. --help, the man page and the shell
 * completion are generated from the same rows (src/cli). */
#ifndef SONDE_BASE_OPTION_H
#define SONDE_BASE_OPTION_H

#include "base/buf.h"

enum option_type {   /* type of the field at offset: */
    OPTION_FLAG,     /* bool */
    OPTION_COUNT,    /* int: how many times it was given */
    OPTION_TEXT,     /* const char *, borrowed from argv */
    OPTION_LIST,     /* const char **, in the given order, NULL-terminated; NULL: never given; see option_clear */
    OPTION_U64,      /* uint64_t */
    OPTION_DURATION, /* uint64_t, ns */
    OPTION_TIME,     /* uint64_t, ns since 1970 */
    OPTION_CHOICE,   /* int: index in choices, which must follow the order of the enum: use OPTION_CHOICES */
};

struct option {
    char letter;            /* 0: none */
    const char *name;       /* without "--"; NULL: none. A row with neither letter nor name ends the table */
    const char *argument;   /* "PERIOD"; FILE, DIR, PATH and JOB are completed by the shell; NULL for flags and counts */
    enum option_type type;
    size_t offset;          /* in the settings struct of the command, which is zeroed at first */
    const char *initial;    /* default value as one would type it; NULL: zero */
    const char *choices;    /* of OPTION_CHOICE: names, separated by one space */
    uint64_t min, max;      /* of U64 and DURATION; 0: no limit */
    bool hidden;            /* accepted but not documented */
    const char *help;       /* one sentence without a full stop; wrapped when printed */
};

/* Ends a table. */
#define OPTION_END { 0 }

/* The choices of an OPTION_CHOICE, in the order of an enum whose last value is last:
 *     .choices = OPTION_CHOICES(BY_USER, "start", "cpu", "user")
 * It does not compile when their number differs from that of the enum. Up to 8 choices. */
#define OPTION_CHOICES(last, ...) \
    (&(OPTION_JOIN(OPTION_ARGS(__VA_ARGS__), __VA_ARGS__))[0 * sizeof(struct { \
        int unused; \
        _Static_assert(OPTION_ARGS(__VA_ARGS__) == (last) + 1, "one choice for each value of the enum, in its order"); \
    })])
#define OPTION_ARGS(...) OPTION_NINTH(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define OPTION_NINTH(a, b, c, d, e, f, g, h, count, ...) count
#define OPTION_JOIN(count, ...) OPTION_JOIN_OF(count, __VA_ARGS__)
#define OPTION_JOIN_OF(count, ...) OPTION_JOIN_##count(__VA_ARGS__)
#define OPTION_JOIN_1(a) a
#define OPTION_JOIN_2(a, ...) a " " OPTION_JOIN_1(__VA_ARGS__)
#define OPTION_JOIN_3(a, ...) a " " OPTION_JOIN_2(__VA_ARGS__)
#define OPTION_JOIN_4(a, ...) a " " OPTION_JOIN_3(__VA_ARGS__)
#define OPTION_JOIN_5(a, ...) a " " OPTION_JOIN_4(__VA_ARGS__)
#define OPTION_JOIN_6(a, ...) a " " OPTION_JOIN_5(__VA_ARGS__)
#define OPTION_JOIN_7(a, ...) a " " OPTION_JOIN_6(__VA_ARGS__)
#define OPTION_JOIN_8(a, ...) a " " OPTION_JOIN_7(__VA_ARGS__)

/* A table and the struct that its offsets refer to. */
struct option_set {
    const struct option *options;
    void *settings;
};

/* Sets the default values. */
void option_defaults(const struct option_set *set);

/* Parses argv[0..argc), which does not include the name of the command: -x, -xVALUE, -x VALUE, bundled -xyz, --long,
 * --long=VALUE, --long VALUE; -- ends the options. Moves the *operands operands to the beginning of argv, followed by NULL.
 * first_operand_ends: options after the first operand belong to that. Rows are looked up in sets[0], sets[1], …. USAGE: see
 * message, which does not begin with "sonde". */
enum err option_parse(const struct option_set *sets, size_t set_count, int argc, char **argv, bool first_operand_ends,
                      int *operands, struct buf *message);

/* Frees the lists. */
void option_clear(const struct option_set *set);

bool option_is_end(const struct option *option); /* the last row of a table */

/* The choice with index i; size 0: there are no more. */
struct bytes option_choice(const char *choices, int i);

/* "csv, json, jsonl" */
void option_add_choices(struct buf *out, const char *choices);

#endif
