/* Parses options like Python's argparse and Rust's clap, for drop-ins that getopt cannot handle: "--name VALUE",
 * "--name=VALUE", "-s VALUE", "-s5", "-s=5", "-vv", "--list a b c", flags optionally followed by true or false, and
 * unique prefixes of long names. */
#ifndef SONDE_COMPAT_COMMANDS_FOREIGN_OPTIONS_H
#define SONDE_COMPAT_COMMANDS_FOREIGN_OPTIONS_H

#include "base/buf.h"

enum foreign_option_kind {
    FOREIGN_FLAG,  /* value: "true" or "false" */
    FOREIGN_COUNT, /* -v, -vv; or followed by a number */
    FOREIGN_VALUE,
    FOREIGN_LIST, /* all arguments up to the next option, joined with spaces */
};

struct foreign_option {
    char letter;      /* '\0': none */
    const char *name; /* "--sample-period"; NULL ends the table */
    enum foreign_option_kind kind;
    int id;
    const char *refused; /* error message for unsupported options; NULL: supported */
};

struct foreign_options {
    int argc, at;
    char **argv;
    const char *letters; /* the rest of "-vv" */
    char value[1024];
    const char *whole; /* the complete value of a FOREIGN_VALUE */
};

/* Parses the next option: its id, and its value in options->value. GONE: no more options, or "--", after which at
 * points. USAGE: message has the error. */
enum err foreign_options_next(struct foreign_options *options, const struct foreign_option *table, int *id, struct buf *message);

#endif
