/* What a collector is to do: where it listens, whom it lets in, where its journal is, which sinks it has. Filled by
 * collector_plan_set alone, from options and from the configuration file, so that both know the same names. */
#ifndef SONDE_COLLECTOR_COLLECTOR_PLAN_H
#define SONDE_COLLECTOR_COLLECTOR_PLAN_H

#include "base/buf.h"
#include "sinks/sink_choice.h"

#define COLLECTOR_LISTEN "tcp://*:5555"
#define COLLECTOR_HTTP "127.0.0.1:1338"
#define COLLECTOR_KEY "collector.key"  /* in /etc/sonde, or the user's own folder of that kind */
#define COLLECTOR_ALLOW "allowed.keys"
#define COLLECTOR_PLAN_MAX 16 /* of each list */
#define COLLECTOR_NONE "none" /* as http and socket: do not */

/* Texts that are owned, NULL behind the last. */
struct collector_list {
    char *texts[COLLECTOR_PLAN_MAX + 1];
    size_t count;
};

struct collector_plan {
    struct collector_list listen;     /* "tcp://127.0.0.1:5555" */
    char *key, *allow;                /* files; NULL: the usual ones */
    bool plain, plain_network, munge;
    char *journal;                    /* a folder; NULL: the usual one */
    uint64_t journal_bytes, journal_age_ns; /* 0: the usual, any */
    struct sink_choice sinks[COLLECTOR_PLAN_MAX];
    size_t sink_count;
    char *http;                       /* "127.0.0.1:1338", "none" */
    char *socket;                     /* a path, "none"; NULL: the usual one */
    struct collector_list upstream, upstream_keys;
    uint64_t rollup_ns;               /* 0: none */
    char *colmet;                     /* "tcp://0.0.0.0:5556", where the nodes of Colmet push to; NULL: nowhere */
    char *kafka;                      /* "k1:9092;k2:9092/TOPIC", see collector/kafka_port.h; NULL: none */
    uint64_t series;                  /* at most so many in /metrics; 0: the usual number */
};

void collector_plan_init(struct collector_plan *plan);
void collector_plan_clear(struct collector_plan *plan);

/* Sets one thing by the name of its option. Lists get one more. USAGE: nothing is changed, and why says what is wrong. */
enum err collector_plan_set(struct collector_plan *plan, const char *key, const char *value, struct buf *why);

/* Empties a list, so that what follows replaces it; nothing happens for what is none. */
void collector_plan_empty(struct collector_plan *plan, const char *key);

/* Adds what the file says. Errors as of config_file_read. */
enum err collector_plan_read(struct collector_plan *plan, const char *path, struct buf *why);

/* Fills in what nobody said, and looks at the whole. USAGE: it makes no sense together, and why says so. */
enum err collector_plan_finish(struct collector_plan *plan, struct buf *why);

/* As a configuration. */
void collector_plan_write(const struct collector_plan *plan, struct buf *out);

#endif
