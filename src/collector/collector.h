/* The collector daemon. Messages of agents and other collectors arrive through a ZeroMQ router and are appended to the
 * journal; each sink reads the journal at its own speed; the current state is served over HTTP. One epoll loop, one
 * thread that syncs the journal, and one thread per sink. */
#ifndef SONDE_COLLECTOR_COLLECTOR_H
#define SONDE_COLLECTOR_COLLECTOR_H

#include "base/notify.h"
#include "collector/collector_config.h"
#include "collector/collector_http.h"
#include "collector/colmet_port.h"
#include "collector/committer.h"
#include "collector/kafka_port.h"
#include "collector/receiver.h"
#include "collector/rollup.h"
#include "collector/run_assembler.h"
#include "proc/host.h"
#include "sinks/sink_worker.h"
#include "transport/keys.h"
#include "transport/uplink.h"
#include "transport/zmq.h"

struct collector_settings {
    /* Loads the configuration, at start and on SIGHUP. Errors as of collector_config_set. */
    enum err (*load_config)(void *context, struct collector_config *config, struct buf *error);
    void *context;
};

struct collector {
    struct collector_settings settings;
    struct collector_config config;
    struct host_facts host;
    struct notify notify;
    int epoll_fd, signal_fd;
    bool stop;
    uint64_t since_ns; /* CLOCK_REALTIME */

    struct journal *journal;
    struct committer *committer;
    struct receiver receiver;
    bool has_receiver;
    struct sink_worker *sink_workers[COLLECTOR_LIST_MAX];
    struct run_assembler *assembler[COLLECTOR_LIST_MAX]; /* one per sink that is a store; NULL for others */
    size_t sink_worker_count;
    struct uplink *uplink;  /* NULL: none */
    struct journal *rolled; /* output of the rollup, read by the uplink; NULL: no rollup */
    struct rollup *rollup;

    const struct zmq_module *zmq;
    struct zmq_router *router; /* NULL: nothing arrives over ZeroMQ */
    struct keys_list *keys;    /* NULL: no encryption */
    uint64_t keys_version;
    char public_key[ZMQ_KEY_MAX]; /* the key that the router is bound with; "": no encryption */
    bool has_logged_error;        /* that binding with another key failed */
    struct buf message;
    bool router_has_more; /* its descriptor is edge-triggered */

    struct colmet_port *colmet; /* NULL: none */
    bool colmet_has_more;
    struct kafka_port *kafka; /* NULL: none */
    bool kafka_has_more;

    struct collector_http *http;
    uint64_t dirty_ns; /* CLOCK_MONOTONIC; oldest append that is not being synced yet; 0: none */
    uint64_t maintained_ns, saved_ns;
    uint64_t turns, busy_ns, longest_ns; /* of the loop, without waiting */
};

/* Runs until SIGTERM or SIGINT. Errors are logged. */
enum err collector_run(const struct collector_settings *settings);

#endif
