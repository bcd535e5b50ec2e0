/* The message by which Colmet's configure_colmet.py and colmet-node-config change a running node: a MessagePack map from
 * texts to texts with "sample_period" in seconds and "metrics" or, of older ones, "perfhw_metrics". */
#ifndef SONDE_COMPAT_COLMET_CONFIG_MESSAGE_H
#define SONDE_COMPAT_COLMET_CONFIG_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

/* Texts are borrowed from the message. */
struct colmet_config {
    struct bytes metrics;   /* "rss:2:-1,cache", "cache_ll,emulation_faults"; data NULL: not told */
    uint64_t period_ns;     /* 0: not told */
};

/* CORRUPT: it is no such message; USAGE: its period is none. Takes any bytes. */
enum err colmet_config_parse(struct bytes message, struct colmet_config *config);

#endif
