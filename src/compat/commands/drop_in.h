/* Names of other tools under which sonde may be called. Each drop-in translates that tool's options into a sonde
 * command line. To add one: a file in this directory, a line in drop_in.c, and the name in cli/meson.build. */
#ifndef SONDE_COMPAT_COMMANDS_DROP_IN_H
#define SONDE_COMPAT_COMMANDS_DROP_IN_H

#include "base/buf.h"

/* A growing argument vector; owns its strings. */
struct drop_in_args {
    char **args; /* NULL-terminated */
    int count;
};

void drop_in_add(struct drop_in_args *args, const char *arg);
void drop_in_clear(struct drop_in_args *args);

/* Adds a message about the argument for which getopt_long has just returned '?'. */
void drop_in_unknown_option(struct buf *message, char **argv);

struct drop_in {
    const char *name;
    /* Fills args: "sonde", the command, its options. USAGE: message has the error. GONE: print the help. */
    enum err (*translate)(int argc, char **argv, struct drop_in_args *args, struct buf *message);
    const char *help; /* NULL: translate never returns GONE */
};

/* By the last component of argv[0]; NULL: called as sonde. */
const struct drop_in *drop_in_find(const char *path);

extern const struct drop_in drop_in_colmet_collector, drop_in_colmet_node, drop_in_ldms_ls;
extern const struct drop_in drop_in_tau_metric_client, drop_in_tau_metric_proxy, drop_in_tau_metric_proxy_run;

#endif
