/* The collector: messages of agents and of other collectors come in through a router, go into the journal, and from there
 * each sink writes them at its own speed; what is held now is shown over HTTP. One epoll loop, a thread that waits for the
 * disk, and one for each sink. */
#ifndef SONDE_COLLECTOR_COLLECTOR_H
#define SONDE_COLLECTOR_COLLECTOR_H

#include "base/notify.h"
#include "collector/collector_plan.h"
#include "collector/colmet_port.h"
#include "collector/committer.h"
#include "collector/collector_http.h"
#include "collector/kafka_port.h"
#include "collector/receiver.h"
#include "collector/rollup.h"
#include "collector/runs.h"
#include "proc/host.h"
#include "sinks/sink_worker.h"
#include "transport/keys.h"
#include "transport/uplink.h"
#include "transport/zmq.h"

struct collector_settings {
    /* Makes a plan: at the start, and at each SIGHUP. Errors as of collector_plan_set. */
    enum err (*make_plan)(void *context, struct collector_plan *plan, struct buf *why);
    void *context;
};

struct collector {
    struct collector_settings settings;
    struct collector_plan plan;
    struct host_facts host;
    struct notify notify;
    int epoll_fd, signal_fd;
    bool stop;
    uint64_t since_ns; /* CLOCK_REALTIME */

    struct journal *journal;
    struct committer *committer;
    struct receiver receiver;
    bool has_receiver;
    struct outlet *outlets[COLLECTOR_PLAN_MAX];
    struct runs *runs[COLLECTOR_PLAN_MAX]; /* of each that is a store; NULL: it is none */
    size_t outlet_count;
    struct uplink *uplink; /* NULL: none */
    struct journal *rolled; /* what the rollup makes, and the uplink reads then; NULL: there is no rollup */
    struct rollup *rollup;

    const struct zmq_module *zmq;
    struct zmq_router *router; /* NULL: all comes by another way */
    struct keys_list *keys; /* NULL: plain */
    uint64_t keys_version;
    char public_key[ZMQ_KEY_MAX]; /* our own, that the router was bound with; "": plain */
    bool has_complained;          /* that it cannot be bound with another */
    struct buf message;
    bool router_has_more; /* its descriptor tells of changes only */

    struct colmet_port *colmet; /* NULL: none */
    bool colmet_has_more;
    struct kafka_port *kafka; /* NULL: none */
    bool kafka_has_more;

    struct desk *desk;
    uint64_t dirty_ns;  /* CLOCK_MONOTONIC, when something was appended that is not being synced yet; 0: nothing */
    uint64_t tended_ns, saved_ns;
    uint64_t turns, busy_ns, longest_ns; /* of the loop, without waiting */
};

/* Until SIGTERM or SIGINT. Messages about what fails are logged. */
enum err collector_run(const struct collector_settings *settings);

#endif
