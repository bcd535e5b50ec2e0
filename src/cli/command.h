/* A command of sonde: one constant in one file, cmd/NAME.c. To add one: copy cli/help.c, name it in cli/commands.h and in
 * cmd/meson.build. Its --help, man page and shell completion are made from what stands in the constant. */
#ifndef SONDE_CLI_COMMAND_H
#define SONDE_CLI_COMMAND_H

#include "base/option.h"

/* Exit statuses, besides those that a command documents itself. */
enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Options that commands share. */
enum command_shares {
    COMMAND_DB = 1,   /* --db PATH */
    COMMAND_ROOT = 2, /* --root DIR */
    COMMAND_OWN_VERBOSE = 4, /* -v means something else here */
};

struct command_globals {
    const char *db;   /* NULL: the default store; see command_store_open */
    const char *root; /* of /proc and /sys; NULL: / */
    int verbose;
    bool help;
};

/* A term and what it means. */
struct command_fact {
    const char *term, *text;
};

/* What run gets. */
struct command_call {
    const struct command *command;
    const struct command_globals *globals;
    void *settings;  /* the command's own struct, filled by its options */
    int count;       /* of operands */
    char **operands; /* NULL behind the last */
};

struct command {
    const char *name;
    const char *about;       /* one line, begins small: "show the processes of a job as a tree" */
    const char *usage;       /* behind "sonde NAME": "[OPTIONS] [JOB]" */
    const char *description; /* paragraphs, an empty line between; lines that begin with a blank stay as they are */
    const struct option *options; /* may be NULL */
    size_t settings_size;
    unsigned shares;         /* enum command_shares */
    int operands_min, operands_max; /* max -1: any number */
    const char *operand;     /* what an operand is: "JOB", "DIR", "FILE", "COMMAND" (completed by the shell); NULL: none */
    bool first_operand_ends; /* what follows the first operand belongs to it: run */
    bool hidden;
    const struct command_fact *examples;    /* term: the command line; {0} at the end; may be NULL */
    const struct command_fact *environment; /* besides what shares bring */
    const struct command_fact *exits;       /* besides 0, 1 and 2; replaces them when replaces_exits */
    bool replaces_exits;
    const char *see_also;    /* names of commands, one blank between: "report ps" */
    int (*run)(const struct command_call *call); /* returns the exit status */
};

/* All of them, in the order of `sonde --help`; NULL at the end. */
extern const struct command *const command_all[];

/* NULL when there is none. */
const struct command *command_find(const char *name);

/* The options that a command shares: those of globals, by its shares. Fills table, which has COMMAND_SHARED_MAX rows. */
#define COMMAND_SHARED_MAX 5
void command_shared_options(unsigned shares, struct option table[COMMAND_SHARED_MAX]);

/* Another program's name, under which sonde was called: messages bear it from now on. Kept, not copied. */
void command_call_me(const char *name);

/* Who speaks to people: "sonde run", or the name above. */
#define COMMAND_WHO_MAX 64
void command_who(const struct command *command, char who[COMMAND_WHO_MAX]);

/* "sonde NAME: message" on stderr. Returns EXIT_FAILED. */
int command_fail(const struct command_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with a hint at --help. Returns EXIT_USAGE. */
int command_misused(const struct command_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes out to stdout and empties it. Returns EXIT_GOOD, also when the reader has gone; EXIT_FAILED and a message when it
 * cannot be written (disk full). */
int command_print(const struct command_call *call, struct buf *out);

#endif
