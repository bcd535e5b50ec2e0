/* The message with which Colmet's configure_colmet.py and colmet-node-config reconfigure a running node: a
 * MessagePack map of strings with "sample_period" in seconds and "metrics" (older versions: "perfhw_metrics"). */
#ifndef SONDE_COMPAT_COLMET_CONFIG_MESSAGE_H
#define SONDE_COMPAT_COLMET_CONFIG_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

/* Strings are borrowed from the message. */
struct colmet_config {
    struct bytes metrics;   /* "rss:2:-1,cache", "cache_ll,emulation_faults"; data NULL: not given */
    uint64_t period_ns;     /* 0: not given */
};

/* CORRUPT: not such a message; USAGE: an invalid period. Accepts any bytes. */
enum err colmet_config_parse(struct bytes message, struct colmet_config *config);

#endif
