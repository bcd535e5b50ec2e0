/* The collector's event loop, and what is opened before it and closed after it. */
#include "collector/collector.h"

#include "base/clock.h"
#include "base/log.h"
#include "collector/endpoints.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define COMMIT_NS (50 * NS_PER_MS) /* records received within this time are synced together */
#define MAINTAIN_NS NS_PER_S
#define SAVE_NS (60 * NS_PER_S)
#define MESSAGES_PER_TURN 2000 /* so that other sources get their turn */
/* Sinks may flush for so long; the rest stays in the journal. */
#define STOP_NS (2 * NS_PER_S)
#define RELOAD_NS (300 * NS_PER_MS)
#define ERROR_MAX 4096

enum source { SOURCE_ROUTER, SOURCE_COLMET, SOURCE_KAFKA, SOURCE_COMMITTER, SOURCE_HTTP, SOURCE_SIGNALS, SOURCE_COUNT };

static enum err add_source(const struct collector *collector, int fd, enum source source)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };
    return fd < 0 || epoll_ctl(collector->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? OK : err_from_errno(errno);
}

static enum err open_signals(struct collector *collector)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL); /* inherited by threads */
    signal(SIGPIPE, SIG_IGN);
    collector->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return collector->signal_fd < 0 ? err_from_errno(errno) : add_source(collector, collector->signal_fd, SOURCE_SIGNALS);
}

/* One descriptor per node, plus our own. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    struct rlimit wanted = { limit.rlim_max, limit.rlim_max };
    if (limit.rlim_max < 65536)
        wanted.rlim_cur = wanted.rlim_max = 65536;
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static enum err send_to(void *context, const struct zmq_peer *peer, struct bytes message)
{
    struct collector *collector = context;
    if (!collector->router)
        return GONE;
    return collector->zmq->router_send(collector->router, peer, message);
}

static enum err open_journal(struct collector *collector, struct buf *error)
{
    const struct collector_config *config = &collector->config;
    struct journal_settings settings = {
        .bytes = config->journal_bytes, .age_ns = config->journal_age_ns, .after_sync = true,
    };
    enum err err = journal_open(&collector->journal, config->journal, &settings, error);
    if (!err)
        err = committer_open(&collector->committer, collector->journal);
    if (!err)
        err = add_source(collector, committer_fd(collector->committer), SOURCE_COMMITTER);
    struct receiver_settings receiver = {
        .journal = collector->journal, .dir = config->journal, .host = collector->host.name, .munge = config->munge,
        .send = send_to, .context = collector,
    };
    if (!err)
        err = receiver_open(&collector->receiver, &receiver, error);
    collector->has_receiver = !err;
    return err;
}

static enum err open_sink(struct collector *collector, size_t i)
{
    const struct sink_choice *choice = &collector->config.sinks[i];
    struct sink_worker_settings settings = { .journal = collector->journal, .choice = choice };
    enum err err = run_assembler_open_for_sink(&collector->assembler[i], choice, collector->config.journal);
    if (!err && collector->assembler[i]) {
        settings.take_piece = run_assembler_add;
        settings.context = collector->assembler[i];
    }
    if (!err)
        err = sink_worker_start(&collector->sink_workers[i], &settings);
    if (err)
        run_assembler_close(&collector->assembler[i]);
    return err;
}

static enum err open_sinks(struct collector *collector, struct buf *error)
{
    enum err err = OK;
    endpoints_remove_old_cursors(collector->journal, &collector->config);
    for (size_t i = 0; i < collector->config.sink_count && !err; i++) {
        err = open_sink(collector, i);
        collector->sink_worker_count += err ? 0 : 1;
    }
    if (err)
        buf_printf(error, "cannot start a sink: %s", err_text(err));
    return err ? err : endpoints_open_uplink(collector, error);
}

static enum err open_colmet(struct collector *collector, struct buf *error)
{
    if (!collector->config.colmet)
        return OK;
    enum err err = colmet_port_open(&collector->colmet, collector->config.colmet, &collector->receiver, error);
    collector->colmet_has_more = !err;
    return err ? err : add_source(collector, colmet_port_fd(collector->colmet), SOURCE_COLMET);
}

static enum err open_kafka(struct collector *collector, struct buf *error)
{
    if (!collector->config.kafka)
        return OK;
    enum err err = kafka_port_open(&collector->kafka, collector->config.kafka, &collector->receiver, error);
    return err ? err : add_source(collector, kafka_port_fd(collector->kafka), SOURCE_KAFKA);
}

static enum err open_parts(struct collector *collector, struct buf *error)
{
    enum err err = collector->settings.load_config(collector->settings.context, &collector->config, error);
    collector->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!err && collector->epoll_fd < 0)
        err = err_from_errno(errno);
    if (!err)
        err = open_signals(collector);
    if (!err)
        err = open_journal(collector, error);
    if (!err)
        err = collector_http_open(&collector->http, collector, error);
    if (!err && collector->http)
        err = add_source(collector, collector_http_fd(collector->http), SOURCE_HTTP);
    if (!err)
        err = open_sinks(collector, error);
    if (!err && collector->config.listen.count)
        err = endpoints_open_router(collector, error);
    if (!err && collector->router)
        err = add_source(collector, collector->zmq->router_fd(collector->router), SOURCE_ROUTER);
    if (!err)
        err = open_colmet(collector, error);
    if (!err)
        err = open_kafka(collector, error);
    return err;
}

static enum err collector_open(struct collector *collector, const struct collector_settings *settings)
{
    struct buf error;
    *collector = (struct collector){ .settings = *settings, .epoll_fd = -1, .signal_fd = -1, .notify.fd = -1,
                                     .since_ns = clock_realtime_ns() };
    mallopt(M_ARENA_MAX, 2);
    raise_descriptor_limit();
    notify_open(&collector->notify);
    host_read("", &collector->host);
    buf_init(&collector->message, MESSAGE_MAX + 64);
    buf_init(&error, ERROR_MAX);
    enum err err = open_parts(collector, &error);
    if (err)
        log_error("%s", error.size ? buf_text(&error) : err_text(err));
    buf_clear(&error);
    collector->router_has_more = collector->router;
    collector->maintained_ns = collector->saved_ns = clock_monotonic_ns();
    return err;
}

static void receive_colmet(struct collector *collector)
{
    collector->colmet_has_more = colmet_port_poll(collector->colmet);
    if (collector->receiver.is_dirty && !collector->dirty_ns)
        collector->dirty_ns = clock_monotonic_ns();
}

static void receive_kafka(struct collector *collector)
{
    collector->kafka_has_more = kafka_port_poll(collector->kafka);
    if (collector->receiver.is_dirty && !collector->dirty_ns)
        collector->dirty_ns = clock_monotonic_ns();
}

static void receive_messages(struct collector *collector)
{
    struct zmq_peer from;
    collector->router_has_more = true;
    for (size_t i = 0; i < MESSAGES_PER_TURN && collector->router_has_more; i++) {
        enum err err = collector->zmq->router_next(collector->router, &from, &collector->message);
        collector->router_has_more = err != AGAIN;
        if (!err)
            receiver_handle(&collector->receiver, &from, (struct bytes){ collector->message.data,
                                                                         collector->message.size });
    }
    if (collector->receiver.is_dirty && !collector->dirty_ns)
        collector->dirty_ns = clock_monotonic_ns();
}

/* A sync starts when the oldest waiting record has waited long enough. */
static void commit(struct collector *collector)
{
    if (!collector->dirty_ns || clock_monotonic_ns() - collector->dirty_ns < COMMIT_NS)
        return;
    if (!receiver_begin_sync(&collector->receiver))
        return;
    collector->dirty_ns = 0;
    if (collector->kafka)
        kafka_port_begin_sync(collector->kafka);
    committer_start(collector->committer);
}

/* After a failed fsync the kernel drops the dirty pages: only a restart can find out what is on disk. */
static enum err end_commit(struct collector *collector)
{
    enum err err = committer_result(collector->committer);
    if (err == AGAIN)
        return OK;
    receiver_end_sync(&collector->receiver, !err);
    if (!err && collector->kafka)
        kafka_port_end_sync(collector->kafka);
    if (err)
        log_error("cannot sync the journal %s: %s. The collector stops; agents keep what was not acknowledged.",
                  collector->config.journal, err_text(err));
    return err;
}

static bool same_sinks(const struct collector *collector, const struct collector_config *config)
{
    bool is_same = config->sink_count == collector->sink_worker_count;
    for (size_t i = 0; i < config->sink_count && is_same; i++)
        is_same = sink_choice_equal(sink_worker_choice(collector->sink_workers[i]), &config->sinks[i]);
    return is_same;
}

static void close_sinks(struct collector *collector, uint64_t linger_ns)
{
    for (size_t i = 0; i < collector->sink_worker_count; i++)
        sink_worker_begin_stop(collector->sink_workers[i], linger_ns);
    for (size_t i = 0; i < collector->sink_worker_count; i++) {
        sink_worker_close(&collector->sink_workers[i], linger_ns);
        run_assembler_close(&collector->assembler[i]);
    }
    collector->sink_worker_count = 0;
}

/* Unchanged sinks are reopened, because their files may have been moved away (log rotation). */
static enum err apply_sinks_take(struct collector *collector, struct collector_config *next, struct buf *error)
{
    bool is_same = same_sinks(collector, next);
    if (!is_same)
        close_sinks(collector, RELOAD_NS);
    collector_config_clear(&collector->config);
    collector->config = *next;
    *next = (struct collector_config){ 0 };
    collector->receiver.settings.dir = collector->config.journal;
    journal_set_limits(collector->journal, collector->config.journal_bytes, collector->config.journal_age_ns);
    if (collector->rolled)
        journal_set_limits(collector->rolled, collector->config.journal_bytes, collector->config.journal_age_ns);
    for (size_t i = 0; is_same && i < collector->sink_worker_count; i++)
        sink_worker_reopen(collector->sink_workers[i]);
    return is_same ? OK : open_sinks(collector, error);
}

static void rebind_router(struct collector *collector)
{
    if (endpoints_rekey(collector)) {
        add_source(collector, collector->zmq->router_fd(collector->router), SOURCE_ROUTER);
        log_warn("the collector's public key has changed to %s; configure it on the agents, too", collector->public_key);
    }
    collector->router_has_more = collector->router;
}

static void log_problem(const char *error)
{
    size_t size = strlen(error);
    log_error("%s%s The old configuration stays in effect.", error, size && error[size - 1] == '?' ? "" : ".");
}

static void reload(struct collector *collector)
{
    struct collector_config next;
    struct buf error;
    buf_init(&error, ERROR_MAX);
    notify_reloading(&collector->notify);
    enum err err = collector->settings.load_config(collector->settings.context, &next, &error);
    if (!err)
        endpoints_keep_fixed_settings(collector, &next);
    if (!err)
        err = apply_sinks_take(collector, &next, &error);
    if (!err) {
        endpoints_reload_keys(collector);
        rebind_router(collector);
    }
    if (err)
        log_problem(error.size ? buf_text(&error) : err_text(err));
    else
        log_info("configuration reloaded");
    buf_clear(&error);
    notify_send(&collector->notify, "READY=1");
}

static void on_signals(struct collector *collector)
{
    struct signalfd_siginfo info;
    while (read(collector->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            reload(collector);
        else
            collector->stop = true;
    }
}

static void maintain(struct collector *collector)
{
    uint64_t now_ns = clock_monotonic_ns();
    char path[4096];
    if (now_ns - collector->maintained_ns < MAINTAIN_NS)
        return;
    collector->maintained_ns = now_ns;
    journal_maintain(collector->journal, clock_realtime_ns());
    receiver_drop_silent(&collector->receiver);
    endpoints_maintain(collector);
    if (!collector->router && collector->config.listen.count)
        rebind_router(collector);
    notify_alive(&collector->notify, now_ns);
    if (now_ns - collector->saved_ns < SAVE_NS)
        return;
    collector->saved_ns = now_ns;
    if (snprintf(path, sizeof path, "%s/hosts", collector->config.journal) < (int)sizeof path)
        known_hosts_save(&collector->receiver.known_hosts, path);
}

static int time_left_ms(const struct collector *collector, int timeout_ms)
{
    uint64_t now_ns = clock_monotonic_ns(), next_ns = collector->maintained_ns + MAINTAIN_NS;
    if (collector->router_has_more || collector->colmet_has_more || collector->kafka_has_more)
        return 0;
    if (collector->dirty_ns && !collector->receiver.is_syncing && collector->dirty_ns + COMMIT_NS < next_ns)
        next_ns = collector->dirty_ns + COMMIT_NS;
    int left_ms = next_ns > now_ns ? (int)((next_ns - now_ns) / NS_PER_MS) + 1 : 0;
    return timeout_ms >= 0 && timeout_ms < left_ms ? timeout_ms : left_ms;
}

static enum err collector_turn(struct collector *collector, int timeout_ms)
{
    struct epoll_event events[SOURCE_COUNT];
    bool ready[SOURCE_COUNT] = { false };
    enum err err = OK;
    int count = epoll_wait(collector->epoll_fd, events, SOURCE_COUNT, time_left_ms(collector, timeout_ms));
    if (count < 0 && errno != EINTR)
        return err_from_errno(errno);
    uint64_t begin_ns = clock_monotonic_ns();
    for (int i = 0; i < count; i++)
        ready[events[i].data.u32] = true;
    if (ready[SOURCE_COMMITTER])
        err = end_commit(collector);
    if (ready[SOURCE_ROUTER] || collector->router_has_more)
        receive_messages(collector);
    if (collector->colmet && (ready[SOURCE_COLMET] || collector->colmet_has_more))
        receive_colmet(collector);
    if (collector->kafka)
        receive_kafka(collector); /* librdkafka must be polled even if it has nothing */
    commit(collector);
    if (ready[SOURCE_HTTP] && collector->http)
        collector_http_poll(collector->http);
    if (ready[SOURCE_SIGNALS])
        on_signals(collector);
    maintain(collector);
    uint64_t took_ns = clock_monotonic_ns() - begin_ns;
    collector->turns++;
    collector->busy_ns += took_ns;
    if (took_ns > collector->longest_ns)
        collector->longest_ns = took_ns;
    return err;
}

/* Syncs and acknowledges what was received. */
static void finish_commits(struct collector *collector)
{
    enum err err = OK;
    if (!collector->has_receiver)
        return;
    if (collector->router)
        receive_messages(collector);
    if (collector->colmet)
        receive_colmet(collector);
    for (int round = 0; round < 2 && !err; round++) {
        if (!collector->receiver.is_syncing && !receiver_begin_sync(&collector->receiver))
            break;
        err = journal_sync(collector->journal);
        receiver_end_sync(&collector->receiver, !err);
    }
}

static enum err collector_close(struct collector *collector)
{
    notify_send(&collector->notify, "STOPPING=1");
    committer_close(&collector->committer); /* waits for a running sync */
    finish_commits(collector);
    endpoints_close(collector);
    close_sinks(collector, STOP_NS);
    collector_http_close(&collector->http);
    colmet_port_close(&collector->colmet);
    kafka_port_close(&collector->kafka);
    if (collector->has_receiver)
        receiver_close(&collector->receiver);
    journal_close(&collector->journal);
    notify_close(&collector->notify);
    collector_config_clear(&collector->config);
    buf_clear(&collector->message);
    if (collector->signal_fd >= 0)
        close(collector->signal_fd);
    if (collector->epoll_fd >= 0)
        close(collector->epoll_fd);
    return OK;
}

enum err collector_run(const struct collector_settings *settings)
{
    struct collector *collector = calloc(1, sizeof *collector);
    if (!collector)
        return NOMEM;
    enum err err = collector_open(collector, settings);
    if (!err)
        notify_send(&collector->notify, "READY=1");
    while (!err && !collector->stop)
        err = collector_turn(collector, -1);
    collector_close(collector);
    free(collector);
    return err;
}
