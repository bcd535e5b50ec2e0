/* A command of sonde: one constant in one file, cli/NAME.c. To add one, copy cli/help.c and list it in cli/commands.h
 * and cli/meson.build. Its --help, man page and shell completion are generated from the constant. */
#ifndef SONDE_CLI_COMMAND_H
#define SONDE_CLI_COMMAND_H

#include "base/option.h"

/* Exit statuses, besides those that a command documents itself. */
enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Options shared between commands. */
enum command_shares {
    COMMAND_DB = 1,   /* --db PATH */
    COMMAND_ROOT = 2, /* --root DIR */
    COMMAND_OWN_VERBOSE = 4, /* the command defines its own -v */
    COMMAND_DB_AGENT = 8,    /* with COMMAND_DB: it saves a job, and so accepts --db agent: */
};

struct command_globals {
    const char *db;   /* NULL: the default job database; see command_store_open */
    const char *root; /* prefix of /proc and /sys; NULL: / */
    int verbose;
    bool help;
};

/* A term and its meaning. */
struct command_fact {
    const char *term, *text;
};

/* The arguments of run. */
struct command_call {
    const struct command *command;
    const struct command_globals *globals;
    void *settings;  /* the command's own struct, filled from its options */
    int count;       /* number of operands */
    char **operands; /* NULL-terminated */
};

struct command {
    const char *name;
    const char *about;       /* one line in lower case: "show the processes of a job as a tree" */
    const char *usage;       /* printed after "sonde NAME": "[OPTIONS] [JOB]" */
    const char *description; /* paragraphs separated by an empty line; paragraphs that start with a space are not wrapped */
    const struct option *options; /* may be NULL */
    size_t settings_size;
    unsigned shares;         /* enum command_shares */
    int operands_min, operands_max; /* max -1: any number */
    const char *operand;     /* type of the operands, for completion: "JOB", "DIR", "FILE", "COMMAND"; NULL: none */
    bool first_operand_ends; /* everything after the first operand belongs to it, as for run */
    bool hidden;
    const struct command_fact *examples;    /* term: the command line; ends with {0}; may be NULL */
    const struct command_fact *environment; /* in addition to those that the shared options bring */
    const struct command_fact *exits;       /* in addition to 0, 1 and 2; instead of them with replaces_exits */
    bool replaces_exits;
    const char *see_also;    /* names of commands, separated by spaces: "report ps" */
    int (*run)(const struct command_call *call); /* returns the exit status */
};

/* All commands, in the order of `sonde --help`; NULL-terminated. */
extern const struct command *const command_all[];

/* NULL if there is no such command. */
const struct command *command_find(const char *name);

/* Fills table with the shared options of a command (enum command_shares) and the terminating row. */
#define COMMAND_SHARED_MAX 5
void command_shared_options(unsigned shares, struct option table[COMMAND_SHARED_MAX]);

/* Sets the name that messages start with, when sonde is called under another tool's name. The string is kept, not
 * copied. */
void command_set_name(const char *name);

/* The name that messages start with: "sonde run", or the one set by command_set_name. */
#define COMMAND_NAME_MAX 64
void command_full_name(const struct command *command, char who[COMMAND_NAME_MAX]);

/* "sonde NAME: message" on stderr. Returns EXIT_FAILED. */
int command_fail(const struct command_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Same, followed by a hint at --help. Returns EXIT_USAGE. */
int command_usage_error(const struct command_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes out to stdout and empties it. Returns EXIT_GOOD, also if the reader has closed the pipe; prints a message and
 * returns EXIT_FAILED if the output cannot be written (disk full). */
int command_print(const struct command_call *call, struct buf *out);

#endif
