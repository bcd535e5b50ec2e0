/* The loop, and what is opened before it and closed behind it. */
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

#define COMMIT_NS (50 * NS_PER_MS) /* what comes within so long is synced together */
#define TEND_NS NS_PER_S
#define SAVE_NS (60 * NS_PER_S)
#define MESSAGES_MAX 2000 /* at a time, so that others get their turn */
#define LINGER_NS (5 * NS_PER_S)
#define WHY_MAX 4096

enum source { SOURCE_ROUTER, SOURCE_COLMET, SOURCE_KAFKA, SOURCE_COMMITTER, SOURCE_DESK, SOURCE_SIGNALS, SOURCE_COUNT };

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
    sigprocmask(SIG_BLOCK, &set, NULL); /* threads inherit it */
    signal(SIGPIPE, SIG_IGN);
    collector->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return collector->signal_fd < 0 ? err_from_errno(errno) : add_source(collector, collector->signal_fd, SOURCE_SIGNALS);
}

/* A descriptor for each node, and ours. */
static void allow_descriptors(void)
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

static enum err open_journal(struct collector *collector, struct buf *why)
{
    const struct collector_plan *plan = &collector->plan;
    struct journal_settings settings = {
        .bytes = plan->journal_bytes, .age_ns = plan->journal_age_ns, .after_sync = true,
    };
    enum err err = journal_open(&collector->journal, plan->journal, &settings, why);
    if (!err)
        err = committer_open(&collector->committer, collector->journal);
    if (!err)
        err = add_source(collector, committer_fd(collector->committer), SOURCE_COMMITTER);
    struct receiver_settings receiver = {
        .journal = collector->journal, .dir = plan->journal, .host = collector->host.name, .munge = plan->munge,
        .send = send_to, .context = collector,
    };
    if (!err)
        err = receiver_open(&collector->receiver, &receiver, why);
    collector->has_receiver = !err;
    return err;
}

static enum err open_outlet(struct collector *collector, size_t i)
{
    const struct sink_choice *choice = &collector->plan.sinks[i];
    struct sink_worker_settings settings = { .journal = collector->journal, .choice = choice };
    enum err err = runs_open_of(&collector->runs[i], choice, collector->plan.journal);
    if (!err && collector->runs[i]) {
        settings.take_piece = runs_take;
        settings.context = collector->runs[i];
    }
    if (!err)
        err = sink_worker_start(&collector->outlets[i], &settings);
    if (err)
        runs_close(&collector->runs[i]);
    return err;
}

static enum err open_outlets(struct collector *collector, struct buf *why)
{
    enum err err = OK;
    gateway_forget_old(collector->journal, &collector->plan);
    for (size_t i = 0; i < collector->plan.sink_count && !err; i++) {
        err = open_outlet(collector, i);
        collector->outlet_count += err ? 0 : 1;
    }
    if (err)
        buf_printf(why, "a sink cannot be started: %s", err_text(err));
    return err ? err : gateway_open_uplink(collector, why);
}

static enum err open_colmet(struct collector *collector, struct buf *why)
{
    if (!collector->plan.colmet)
        return OK;
    enum err err = colmet_port_open(&collector->colmet, collector->plan.colmet, &collector->receiver, why);
    collector->colmet_has_more = !err;
    return err ? err : add_source(collector, colmet_port_fd(collector->colmet), SOURCE_COLMET);
}

static enum err open_kafka(struct collector *collector, struct buf *why)
{
    if (!collector->plan.kafka)
        return OK;
    enum err err = kafka_port_open(&collector->kafka, collector->plan.kafka, &collector->receiver, why);
    return err ? err : add_source(collector, kafka_port_fd(collector->kafka), SOURCE_KAFKA);
}

static enum err open_parts(struct collector *collector, struct buf *why)
{
    enum err err = collector->settings.make_plan(collector->settings.context, &collector->plan, why);
    collector->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!err && collector->epoll_fd < 0)
        err = err_from_errno(errno);
    if (!err)
        err = open_signals(collector);
    if (!err)
        err = open_journal(collector, why);
    if (!err)
        err = desk_open(&collector->desk, collector, why);
    if (!err && collector->desk)
        err = add_source(collector, desk_fd(collector->desk), SOURCE_DESK);
    if (!err)
        err = open_outlets(collector, why);
    if (!err && collector->plan.listen.count)
        err = gateway_open_router(collector, why);
    if (!err && collector->router)
        err = add_source(collector, collector->zmq->router_fd(collector->router), SOURCE_ROUTER);
    if (!err)
        err = open_colmet(collector, why);
    if (!err)
        err = open_kafka(collector, why);
    return err;
}

static enum err collector_open(struct collector *collector, const struct collector_settings *settings)
{
    struct buf why;
    *collector = (struct collector){ .settings = *settings, .epoll_fd = -1, .signal_fd = -1, .notify.fd = -1,
                                     .since_ns = clock_realtime_ns() };
    mallopt(M_ARENA_MAX, 2);
    allow_descriptors();
    notify_open(&collector->notify);
    host_read("", &collector->host);
    buf_init(&collector->message, MESSAGE_MAX + 64);
    buf_init(&why, WHY_MAX);
    enum err err = open_parts(collector, &why);
    if (err)
        log_error("%s", why.size ? buf_text(&why) : err_text(err));
    buf_clear(&why);
    collector->router_has_more = collector->router;
    collector->tended_ns = collector->saved_ns = clock_monotonic_ns();
    return err;
}

static void take_colmet(struct collector *collector)
{
    collector->colmet_has_more = colmet_port_turn(collector->colmet);
    if (collector->receiver.is_dirty && !collector->dirty_ns)
        collector->dirty_ns = clock_monotonic_ns();
}

static void take_kafka(struct collector *collector)
{
    collector->kafka_has_more = kafka_port_turn(collector->kafka);
    if (collector->receiver.is_dirty && !collector->dirty_ns)
        collector->dirty_ns = clock_monotonic_ns();
}

static void take_messages(struct collector *collector)
{
    struct zmq_peer from;
    collector->router_has_more = true;
    for (size_t i = 0; i < MESSAGES_MAX && collector->router_has_more; i++) {
        enum err err = collector->zmq->router_next(collector->router, &from, &collector->message);
        collector->router_has_more = err != AGAIN;
        if (!err)
            receiver_take(&collector->receiver, &from, (struct bytes){ collector->message.data, collector->message.size });
    }
    if (collector->receiver.is_dirty && !collector->dirty_ns)
        collector->dirty_ns = clock_monotonic_ns();
}

/* A sync begins when the oldest that waits has waited long enough. */
static void commit(struct collector *collector)
{
    if (!collector->dirty_ns || clock_monotonic_ns() - collector->dirty_ns < COMMIT_NS)
        return;
    if (!receiver_commit(&collector->receiver))
        return;
    collector->dirty_ns = 0;
    if (collector->kafka)
        kafka_port_mark(collector->kafka);
    committer_begin(collector->committer);
}

/* What the kernel could not write it has forgotten: only a new start finds out what is there. */
static enum err end_commit(struct collector *collector)
{
    enum err err = committer_result(collector->committer);
    if (err == AGAIN)
        return OK;
    receiver_committed(&collector->receiver, !err);
    if (!err && collector->kafka)
        kafka_port_safe(collector->kafka);
    if (err)
        log_error("the journal %s cannot be made safe on its disk: %s. The collector ends; agents keep what was not "
                  "acknowledged.", collector->plan.journal, err_text(err));
    return err;
}

static bool same_sinks(const struct collector *collector, const struct collector_plan *plan)
{
    bool is_same = plan->sink_count == collector->outlet_count;
    for (size_t i = 0; i < plan->sink_count && is_same; i++)
        is_same = sink_choice_equal(sink_worker_choice(collector->outlets[i]), &plan->sinks[i]);
    return is_same;
}

static void close_outlets(struct collector *collector)
{
    for (size_t i = 0; i < collector->outlet_count; i++)
        sink_worker_begin_stop(collector->outlets[i], LINGER_NS);
    for (size_t i = 0; i < collector->outlet_count; i++) {
        sink_worker_close(&collector->outlets[i], LINGER_NS);
        runs_close(&collector->runs[i]);
    }
    collector->outlet_count = 0;
}

/* Those that stay are opened anew, since somebody may have moved their files away. */
static enum err apply_sinks_take(struct collector *collector, struct collector_plan *next, struct buf *why)
{
    bool is_same = same_sinks(collector, next);
    if (!is_same)
        close_outlets(collector);
    collector_plan_clear(&collector->plan);
    collector->plan = *next;
    *next = (struct collector_plan){ 0 };
    collector->receiver.settings.dir = collector->plan.journal;
    journal_set_limits(collector->journal, collector->plan.journal_bytes, collector->plan.journal_age_ns);
    if (collector->rolled)
        journal_set_limits(collector->rolled, collector->plan.journal_bytes, collector->plan.journal_age_ns);
    for (size_t i = 0; is_same && i < collector->outlet_count; i++)
        sink_worker_reopen(collector->outlets[i]);
    return is_same ? OK : open_outlets(collector, why);
}

static void renew_router(struct collector *collector)
{
    if (gateway_rekey(collector)) {
        add_source(collector, collector->zmq->router_fd(collector->router), SOURCE_ROUTER);
        log_warn("the collector has another key now, %s: agents need it too", collector->public_key);
    }
    collector->router_has_more = collector->router;
}

static void complain(const char *why)
{
    size_t size = strlen(why);
    log_error("%s%s The collector goes on as before.", why, size && why[size - 1] == '?' ? "" : ".");
}

static void reload(struct collector *collector)
{
    struct collector_plan next;
    struct buf why;
    buf_init(&why, WHY_MAX);
    notify_reloading(&collector->notify);
    enum err err = collector->settings.make_plan(collector->settings.context, &next, &why);
    if (!err)
        gateway_keep_fixed(collector, &next);
    if (!err)
        err = apply_sinks_take(collector, &next, &why);
    if (!err) {
        gateway_reload(collector);
        renew_router(collector);
    }
    if (err)
        complain(why.size ? buf_text(&why) : err_text(err));
    else
        log_info("the configuration was read anew");
    buf_clear(&why);
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

static void tend(struct collector *collector)
{
    uint64_t now_ns = clock_monotonic_ns();
    char path[4096];
    if (now_ns - collector->tended_ns < TEND_NS)
        return;
    collector->tended_ns = now_ns;
    journal_maintain(collector->journal, clock_realtime_ns());
    receiver_tend(&collector->receiver);
    gateway_tend(collector);
    if (!collector->router && collector->plan.listen.count)
        renew_router(collector);
    notify_alive(&collector->notify, now_ns);
    if (now_ns - collector->saved_ns < SAVE_NS)
        return;
    collector->saved_ns = now_ns;
    if (snprintf(path, sizeof path, "%s/hosts", collector->plan.journal) < (int)sizeof path)
        origins_save(&collector->receiver.origins, path);
}

static int time_left_ms(const struct collector *collector, int timeout_ms)
{
    uint64_t now_ns = clock_monotonic_ns(), next_ns = collector->tended_ns + TEND_NS;
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
        take_messages(collector);
    if (collector->colmet && (ready[SOURCE_COLMET] || collector->colmet_has_more))
        take_colmet(collector);
    if (collector->kafka)
        take_kafka(collector); /* it wants to be asked, also when it has nothing */
    commit(collector);
    if (ready[SOURCE_DESK] && collector->desk)
        desk_turn(collector->desk);
    if (ready[SOURCE_SIGNALS])
        on_signals(collector);
    tend(collector);
    uint64_t took_ns = clock_monotonic_ns() - begin_ns;
    collector->turns++;
    collector->busy_ns += took_ns;
    if (took_ns > collector->longest_ns)
        collector->longest_ns = took_ns;
    return err;
}

/* What has come is made safe and acknowledged. */
static void finish_commits(struct collector *collector)
{
    enum err err = OK;
    if (!collector->has_receiver)
        return;
    if (collector->router)
        take_messages(collector);
    if (collector->colmet)
        take_colmet(collector);
    for (int round = 0; round < 2 && !err; round++) {
        if (!collector->receiver.is_syncing && !receiver_commit(&collector->receiver))
            break;
        err = journal_sync(collector->journal);
        receiver_committed(&collector->receiver, !err);
    }
}

static enum err collector_close(struct collector *collector)
{
    notify_send(&collector->notify, "STOPPING=1");
    committer_close(&collector->committer); /* one that runs is waited for */
    finish_commits(collector);
    gateway_close(collector);
    close_outlets(collector);
    desk_close(&collector->desk);
    colmet_port_close(&collector->colmet);
    kafka_port_close(&collector->kafka);
    if (collector->has_receiver)
        receiver_close(&collector->receiver);
    journal_close(&collector->journal);
    notify_close(&collector->notify);
    collector_plan_clear(&collector->plan);
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
