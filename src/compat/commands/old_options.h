/* Options as Python's argparse and Rust's clap take them, for names whose options are too many for getopt: "--name VALUE",
 * "--name=VALUE", "-s VALUE", "-s5", "-s=5", "-vv", "--list a b c", flags that may be followed by true or false, and the
 * beginning of a long name where it is no other's. */
#ifndef SONDE_COMPAT_COMMANDS_OLD_OPTIONS_H
#define SONDE_COMPAT_COMMANDS_OLD_OPTIONS_H

#include "base/buf.h"

enum old_option_kind {
    OLD_FLAG,  /* value: "true" or "false" */
    OLD_COUNT, /* -v, -vv; or with a number behind it */
    OLD_VALUE,
    OLD_WORDS, /* all words up to the next option, as one text with blanks between */
};

struct old_option {
    char letter;      /* '\0': none */
    const char *name; /* "--sample-period"; NULL ends the table */
    enum old_option_kind kind;
    int id;
    const char *refused; /* why it is not taken; NULL: it is */
};

struct old_options {
    int argc, at;
    char **argv;
    const char *letters; /* what is left of "-vv" */
    char value[1024];
    const char *whole; /* of OLD_VALUE: the value, however long */
};

/* The next one: its id, its value in options->value. GONE: there is none, or "--" came; at is behind it then. USAGE: message
 * says what is wrong. */
enum err old_options_next(struct old_options *options, const struct old_option *table, int *id, struct buf *message);

#endif
