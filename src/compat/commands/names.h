/* Names of other programs under which sonde may be called: each turns the old options into those of a command of ours. To
 * add one: a file in this folder, a line in names.c, and the name in cmd/meson.build. */
#ifndef SONDE_COMPAT_COMMANDS_NAMES_H
#define SONDE_COMPAT_COMMANDS_NAMES_H

#include "base/buf.h"

/* An argument vector that grows; owns its words. */
struct names_words {
    char **words; /* NULL behind the last */
    int count;
};

void names_add(struct names_words *words, const char *word);
void names_clear(struct names_words *words);

/* What getopt_long, which has just returned '?', did not take. */
void names_refuse(struct buf *message, char **argv);

struct names_entry {
    const char *name;
    /* Fills words: "sonde", the command, its options. USAGE: message says what is wrong. GONE: help is asked for. */
    enum err (*turn)(int argc, char **argv, struct names_words *words, struct buf *message);
    const char *help; /* a page; NULL: turn never says GONE */
};

/* By the last part of argv[0]; NULL: it is an ordinary sonde. */
const struct names_entry *names_find(const char *path);

extern const struct names_entry names_colmet_collector, names_colmet_node, names_ldms_ls;
extern const struct names_entry names_tau_metric_client, names_tau_metric_proxy, names_tau_metric_proxy_run;

#endif
