/* The loop of the agent. Everything happens in it, one after another, but for slow sensors. */
#include "agent/agent.h"

#include "agent/control.h"
#include "agent/declared_jobs.h"
#include "net/http_client.h"
#include "base/log.h"
#include "base/install_paths.h"
#include "base/text.h"
#include "samplers/self.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_NS (1000 * NS_PER_MS)      /* between two looks after jobs, and signs of life */
#define LOOK_EARLY_NS (200 * NS_PER_MS) /* a tick that comes shortly before is used for it: one waking less */
#define IDLE_LOOK_NS (5 * NS_PER_S)     /* after jobs, while there are none: the kernel tells when one comes */
#define JOBS_NS (5 * NS_PER_MS)         /* for those that come and go, in one turn: thousands of them do not delay a tick */
#define SWEEP_NS (10 * NS_PER_S)
#define SWEEP_PERIODS 3
#define ONCE_NS (10 * NS_PER_S) /* for slow sensors, when all are read once */
#define SEND_NS (2 * NS_PER_S) /* so long the collector may take for what was read last */
#define WARM_LOOKS 2 /* after so many, what was needed to begin is needed no more */
#define WHY_MAX 4096

enum err agent_add_source(const struct agent *agent, int fd, enum agent_source source)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };
    return fd < 0 || epoll_ctl(agent->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? OK : err_from_errno(errno);
}

static enum err open_signals(struct agent *agent)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL); /* the threads of slow sensors inherit it */
    signal(SIGPIPE, SIG_IGN);
    agent->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return agent->signal_fd < 0 ? err_from_errno(errno) : agent_add_source(agent, agent->signal_fd, AGENT_SOURCE_SIGNALS);
}

/* Many jobs have many files; nothing in here uses select. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void on_batch(void *context, const struct batch *batch)
{
    struct agent *agent = context;
    struct batch whole = *batch;
    present_fill(&agent->present, &whole);
    outlets_write(&agent->outlets, &whole);
    if (agent->sender)
        sender_take(agent->sender, &whole);
    agent->present.event.job = NULL;
}

static void on_sensed(void *context, const struct batch *batch)
{
    struct agent *agent = context;
    const struct batch_event *event = &agent->present.event;
    programs_sensed(agent->programs, event->event == JOB_END ? event->job : NULL, batch);
    on_batch(context, batch);
}

/* The last samples of a job, or the first, go out with what happened to it; where there are none it goes out alone. */
static void on_job(void *context, const struct job *job, enum job_event event)
{
    struct agent *agent = context;
    struct batch alone = { .host = agent->host.name };
    agent->has_told_news |= told_jobs_is(job);
    programs_job(agent->programs, job, event); /* before: what its programs told last belongs to a job that runs */
    bool is_noted = present_before(&agent->present, job, event) == OK;
    sensors_job(agent->sensors, job, event);
    programs_job_sensed(agent->programs, job, event);
    if (is_noted && agent->present.event.job)
        on_batch(agent, &alone);
    present_after(&agent->present, job, event);
}

/* Without them the node is watched all the same. */
static void open_jobs(struct agent *agent)
{
    struct jobs_listener listener = { on_job, agent };
    enum err err = jobs_open(&agent->jobs, agent->settings.root, agent->plan.jobs, &listener);
    if (err)
        log_warn("jobs cannot be found on this node: %s. Its own numbers are read.", err_text(err));
    if (err)
        agent->jobs = NULL;
    else
        sensors_set_jobs(agent->sensors, agent->jobs);
}

static enum err open_parts(struct agent *agent)
{
    struct sensors_place place = {
        .root = agent->settings.root, .host = agent->host.name, .live = NULL, .schedule = &agent->schedule,
        .out = on_sensed, .out_context = agent,
    };
    agent->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    enum err err = agent->epoll_fd < 0 ? err_from_errno(errno) : open_signals(agent);
    if (!err)
        err = schedule_open(&agent->schedule);
    if (!err)
        err = live_open(&agent->live);
    place.live = agent->live;
    if (!err)
        err = sensors_open(&agent->sensors, &place);
    if (!err)
        err = agent_add_source(agent, agent->schedule.fd, AGENT_SOURCE_TICKS);
    if (!err)
        err = agent_add_source(agent, sensors_fd(agent->sensors), AGENT_SOURCE_SLOW);
    if (err)
        log_error("the agent cannot start: %s", err_text(err));
    return err;
}

static bool needs_spool(const struct agent *agent, const struct plan *plan)
{
    return plan->uplink.collector_count || (!agent->settings.is_once && outlets_need_spool(plan));
}

/* What the sinks read. NULL: they are written at once. */
static struct journal *spool_of(const struct agent *agent, const struct sender *sender)
{
    return sender && !agent->settings.is_once ? sender_spool(sender) : NULL;
}

static enum err open_plan(struct agent *agent)
{
    struct buf why;
    buf_init(&why, WHY_MAX);
    enum err err = agent->settings.make_plan(agent->settings.context, &agent->plan, &why);
    if (!err && needs_spool(agent, &agent->plan))
        err = sender_open(&agent->sender, &agent->plan.uplink, agent->host.name, &why);
    if (!err)
        err = outlets_apply(&agent->outlets, &agent->plan, spool_of(agent, agent->sender), false, &why);
    if (!err && agent->sender && !agent->settings.is_once)
        sender_forget_old(agent->sender, &agent->plan);
    if (!err)
        err = sensors_apply(agent->sensors, &agent->plan, &why);
    if (err)
        log_error("%s", why.size ? buf_text(&why) : err_text(err));
    buf_clear(&why);
    return err;
}

/* What was counted stays, but where the plan has it no more. */
static enum err apply_programs(struct agent *agent)
{
    struct programs_context context = {
        .root = agent->settings.root, .host = agent->host.name, .out = on_batch, .out_context = agent,
    };
    if (agent->settings.is_once) /* it is there for a moment only: nobody shall speak to it */
        return OK;
    bool is_new = !agent->programs;
    enum err err = programs_apply(&agent->programs, &agent->plan.programs, &context);
    const struct job *job;
    for (size_t at = 0; is_new && agent->programs && agent->jobs && (job = jobs_next(agent->jobs, &at));)
        programs_job(agent->programs, job, JOB_BEGIN);
    if (agent->serve)
        serve_programs(agent->serve, agent->programs);
    return err;
}

enum err agent_open(struct agent *agent, const struct agent_settings *settings)
{
    *agent = (struct agent){ .settings = *settings, .epoll_fd = -1, .signal_fd = -1, .schedule.fd = -1, .notify.fd = -1 };
    mallopt(M_ARENA_MAX, 1); /* a heap for each slow sensor would cost more than all of the rest */
    allow_descriptors();
    notify_open(&agent->notify);
    host_read(settings->root, &agent->host);
    enum err err = open_parts(agent);
    if (!err)
        err = open_plan(agent);
    if (!err)
        err = apply_programs(agent);
    if (!err) {
        open_jobs(agent);
        err = agent_add_source(agent, agent->jobs ? jobs_fd(agent->jobs) : -1, AGENT_SOURCE_JOBS);
    }
    agent->ticks_by_sleep = agent->schedule.only_sets = true;
    prctl(PR_SET_TIMERSLACK, 1); /* to the point, not up to 50 us later */
    if (!err)
        err = schedule_arm(&agent->schedule);
    agent->looked_ns = agent->swept_ns = clock_monotonic_ns();
    return err;
}

void agent_close(struct agent *agent)
{
    agent_keep_jobs(agent);
    serve_close(&agent->serve);
    colmet_close(&agent->colmet);
    sensors_close(&agent->sensors); /* the last of what the kernel counts goes into the programs' sums */
    programs_close(&agent->programs);
    jobs_close(&agent->jobs);
    live_close(&agent->live);
    schedule_close(&agent->schedule);
    notify_close(&agent->notify);
    plan_clear(&agent->plan);
    if (agent->signal_fd >= 0)
        close(agent->signal_fd);
    if (agent->epoll_fd >= 0)
        close(agent->epoll_fd);
    agent->signal_fd = agent->epoll_fd = -1;
}

static bool keeps_sender(const struct agent *agent, const struct plan *next)
{
    return agent->sender && needs_spool(agent, next) && sender_keeps(agent->sender, &next->uplink);
}

/* The spool that next wants: the one that is there, another, none. */
static enum err open_sender(struct agent *agent, const struct plan *next, struct sender **sender, struct buf *why)
{
    *sender = keeps_sender(agent, next) ? agent->sender : NULL;
    return *sender || !needs_spool(agent, next) ? OK : sender_open(sender, &next->uplink, agent->host.name, why);
}

/* The last of all to be applied: a spool that was opened is not closed again because something else is wrong. */
static enum err change_sender_take(struct agent *agent, const struct plan *next, struct sender *sender, bool anew,
                                   struct buf *why)
{
    if (sender != agent->sender) {
        sender_close(&agent->sender, SEND_NS);
        agent->sender = sender;
    } else if (sender && (anew || !uplink_plan_equal(&agent->plan.uplink, &next->uplink))) {
        enum err err = sender_apply(sender, &next->uplink, why);
        if (err)
            return err;
    }
    if (sender)
        sender_forget_old(sender, next);
    return OK;
}

static enum err apply(struct agent *agent, const struct plan *next, bool anew, struct buf *why)
{
    struct sender *sender = NULL;
    enum err err = sensors_apply(agent->sensors, next, why);
    if (!err)
        err = open_sender(agent, next, &sender, why);
    if (!err)
        err = outlets_apply(&agent->outlets, next, spool_of(agent, sender), anew, why);
    if (!err)
        err = agent_listen_apply(agent, next, why);
    if (!err)
        err = change_sender_take(agent, next, sender, anew, why);
    if (!err)
        return OK;
    struct buf ignored;
    buf_init(&ignored, WHY_MAX);
    sensors_apply(agent->sensors, &agent->plan, &ignored);
    outlets_apply(&agent->outlets, &agent->plan, spool_of(agent, agent->sender), false, &ignored);
    buf_clear(&ignored);
    if (sender != agent->sender)
        sender_close(&sender, 0);
    return err;
}

enum err agent_apply_take(struct agent *agent, struct plan *next, bool anew, struct buf *why)
{
    enum err err = apply(agent, next, anew, why);
    if (err)
        plan_clear(next);
    else {
        if (next->jobs != agent->plan.jobs)
            log_warn("jobs are taken from other batch systems when the agent is started anew, not before");
        plan_clear(&agent->plan);
        agent->plan = *next;
        if (agent->serve)
            serve_limit(agent->serve, agent->plan.series);
        apply_programs(agent);
        *next = (struct plan){ 0 };
    }
    schedule_arm(&agent->schedule);
    return err;
}

static void tell_refused(const char *why)
{
    log_error("%s%s The agent goes on as before.", why, why[0] && why[strlen(why) - 1] == '?' ? "" : ".");
}

static void reload(struct agent *agent)
{
    struct plan next;
    struct buf why;
    buf_init(&why, WHY_MAX);
    notify_reloading(&agent->notify);
    enum err err = agent->settings.make_plan(agent->settings.context, &next, &why);
    if (!err)
        err = agent_apply_take(agent, &next, true, &why);
    if (err)
        tell_refused(why.size ? buf_text(&why) : err_text(err));
    else
        log_info("the configuration was read anew");
    buf_clear(&why);
    notify_send(&agent->notify, "READY=1");
}

static void on_signals(struct agent *agent)
{
    struct signalfd_siginfo info;
    while (read(agent->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            reload(agent);
        else
            agent->stop = true;
    }
}

static void on_ticks(struct agent *agent)
{
    uint64_t late = agent->schedule.counts.late, missed = agent->schedule.counts.missed;
    size_t due = schedule_turn(&agent->schedule, clock_realtime_ns(), clock_monotonic_ns());
    if (due) {
        self_tick(agent->schedule.late_ns, agent->schedule.counts.late - late, agent->schedule.counts.missed - missed);
        sensors_tick(agent->sensors);
        if (agent->schedule.counts.ticks == 1)
            agent->looked_ns = 0; /* from now on in step with the ticks */
    }
    schedule_arm(&agent->schedule);
}

static void tend_sender(struct agent *agent)
{
    struct sender_figures figures;
    sender_tend(agent->sender);
    sender_figures(agent->sender, &figures);
    bool is_settled = figures.uplink.state != UPLINK_IDLE && figures.uplink.state != UPLINK_CONNECTING;
    if (is_settled && agent->link != figures.uplink.state) {
        agent->link = figures.uplink.state;
        agent->looks = 0; /* libzmq and its libraries began anew: 3 MB */
    }
    if (figures.has_uplink)
        self_uplink(&(struct self_uplink){
            .is_up = figures.uplink.state == UPLINK_UP, .sent_bytes = figures.uplink.bytes_sent,
            .unsent_bytes = figures.uplink.lag_bytes, .unsent_ns = figures.uplink.lag_ns,
            .lost = figures.unspooled + figures.spool.lost_records,
        });
}

/* What is to be done once a second, at a tick if there is one. */
static void look_after(struct agent *agent)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - agent->looked_ns + LOOK_EARLY_NS < LOOK_NS)
        return;
    agent->looked_ns = now_ns;
    if (agent->jobs && (jobs_count(agent->jobs) || now_ns - agent->jobs_ns >= IDLE_LOOK_NS)) {
        agent->jobs_ns = now_ns;
        jobs_read_some(agent->jobs, JOBS_NS);
    }
    notify_alive(&agent->notify, now_ns);
    sensors_look(agent->sensors);
    programs_tend(agent->programs);
    agent_keep_jobs(agent);
    if (agent->sender)
        tend_sender(agent);
    if (agent->looks < WARM_LOOKS && ++agent->looks == WARM_LOOKS)
        self_forget_code();
    if (now_ns - agent->swept_ns < SWEEP_NS)
        return;
    agent->swept_ns = now_ns;
    live_drop_stale(agent->live, SWEEP_PERIODS, SWEEP_NS);
}

/* Until the next look. */
static uint64_t time_left_ns(const struct agent *agent, int timeout_ms)
{
    uint64_t passed_ns = clock_monotonic_ns() - agent->looked_ns;
    uint64_t left_ns = passed_ns >= LOOK_NS ? 0 : LOOK_NS - passed_ns;
    return timeout_ms >= 0 && (uint64_t)timeout_ms * NS_PER_MS < left_ns ? (uint64_t)timeout_ms * NS_PER_MS : left_ns;
}

static bool is_tick(const struct agent *agent)
{
    return agent->ticks_by_sleep && clock_realtime_ns() >= schedule_next_ns(&agent->schedule);
}

/* Ticks first: others may take their time. */
enum err agent_turn(struct agent *agent, int timeout_ms)
{
    struct epoll_event events[AGENT_SOURCE_COUNT];
    bool ready[AGENT_SOURCE_COUNT] = { false };
    int count = agent_wait(agent, events, time_left_ns(agent, timeout_ms));
    if (count < 0 && errno != EINTR)
        return err_from_errno(errno);
    for (int i = 0; i < count; i++)
        ready[events[i].data.u32] = true;
    if (ready[AGENT_SOURCE_TICKS])
        schedule_read(&agent->schedule);
    if (ready[AGENT_SOURCE_TICKS] || count == 0 || is_tick(agent)) /* 0: the sleep is over; or was the clock set meanwhile? */
        on_ticks(agent);
    if (ready[AGENT_SOURCE_JOBS])
        jobs_read_some(agent->jobs, JOBS_NS);
    if (ready[AGENT_SOURCE_SLOW])
        sensors_take(agent->sensors);
    if (ready[AGENT_SOURCE_SERVE] && agent->serve)
        serve_turn(agent->serve);
    if (ready[AGENT_SOURCE_COLMET] && agent->colmet)
        colmet_turn(agent->colmet);
    if (ready[AGENT_SOURCE_SIGNALS])
        on_signals(agent);
    look_after(agent);
    return OK;
}

static enum err end(struct agent *agent, enum err err)
{
    notify_send(&agent->notify, "STOPPING=1");
    if (agent->jobs && agent->sensors)
        jobs_read(agent->jobs); /* who ended just now has a last sample */
    agent_close(agent);
    present_clear(&agent->present);
    bool is_written = outlets_close(&agent->outlets);
    sender_close(&agent->sender, SEND_NS);
    return is_written || err ? err : IO;
}

enum err agent_run(const struct agent_settings *settings)
{
    struct agent *agent = calloc(1, sizeof *agent);
    if (!agent)
        return NOMEM;
    enum err err = agent_open(agent, settings);
    if (!err)
        err = agent_listen(agent);
    if (!err)
        notify_send(&agent->notify, "READY=1");
    while (!err && !agent->stop) {
        err = agent_turn(agent, -1);
        if (err)
            log_error("the agent cannot go on: %s", err_text(err));
    }
    err = end(agent, err);
    free(agent);
    return err;
}

enum err agent_once(const struct agent_settings *settings)
{
    struct agent *agent = calloc(1, sizeof *agent);
    if (!agent)
        return NOMEM;
    struct agent_settings once = *settings;
    once.is_once = true;
    enum err err = agent_open(agent, &once);
    if (!err)
        sensors_read_all(agent->sensors, clock_monotonic_ns() + ONCE_NS);
    err = end(agent, err);
    free(agent);
    return err;
}
