/* Configuration of a collector: where it listens, whom it accepts, where its journal is, which sinks it has. Set only
 * by collector_config_set, from options and from the configuration file, so that both have the same keys. */
#ifndef SONDE_COLLECTOR_COLLECTOR_CONFIG_H
#define SONDE_COLLECTOR_COLLECTOR_CONFIG_H

#include "base/buf.h"
#include "sinks/sink_choice.h"

#define COLLECTOR_LISTEN "tcp://*:5555"
#define COLLECTOR_HTTP "127.0.0.1:1338"
#define COLLECTOR_KEY "collector.key"  /* in /etc/sonde, or the user's configuration directory */
#define COLLECTOR_ALLOW "allowed.keys"
#define COLLECTOR_LIST_MAX 16 /* length of each list */
#define COLLECTOR_NONE "none" /* value of http and socket: disabled */

/* Owned strings, followed by NULL. */
struct collector_list {
    char *strings[COLLECTOR_LIST_MAX + 1];
    size_t count;
};

struct collector_config {
    struct collector_list listen; /* "tcp://127.0.0.1:5555" */
    char *key, *allow;            /* files; NULL: the defaults */
    bool plain, plain_network, munge;
    char *journal;                          /* directory; NULL: the default */
    uint64_t journal_bytes, journal_age_ns; /* 0: default size, unlimited age */
    struct sink_choice sinks[COLLECTOR_LIST_MAX];
    size_t sink_count;
    char *http;   /* "127.0.0.1:1338", "none" */
    char *socket; /* path, "none"; NULL: the default */
    struct collector_list upstream, upstream_keys;
    uint64_t rollup_ns; /* 0: no rollup */
    bool http_munge;    /* requests from other nodes need a munge credential */
    char *producer;     /* template of LDMS's producer names, for ldms_ls; NULL: the host name */
    char *colmet;       /* "tcp://0.0.0.0:5556", where Colmet's nodes push to; NULL: disabled */
    char *kafka;        /* "k1:9092;k2:9092/TOPIC", see collector/kafka_port.h; NULL: none */
    uint64_t series;    /* maximum number of series in /metrics; 0: default */
};

void collector_config_init(struct collector_config *config);
void collector_config_clear(struct collector_config *config);

/* Sets one key, named like the option. Lists are appended to. USAGE: nothing changed, error has a message. */
enum err collector_config_set(struct collector_config *config, const char *key, const char *value, struct buf *error);

/* Clears a list, so that the next values replace it; ignores keys that are not lists. */
void collector_config_clear_list(struct collector_config *config, const char *key);

/* Reads a configuration file. Errors as of config_file_read. */
enum err collector_config_read(struct collector_config *config, const char *path, struct buf *error);

/* Sets defaults and checks for conflicts. USAGE: conflicting settings, error has a message. */
enum err collector_config_finish(struct collector_config *config, struct buf *error);

/* Prints it in the format of the configuration file. */
void collector_config_write(const struct collector_config *config, struct buf *out);

#endif
