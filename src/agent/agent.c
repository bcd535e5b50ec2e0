/* The agent's event loop. Everything runs in it, except for slow samplers and sinks that may block, which have threads. */
#include "agent/agent.h"

#include "agent/control.h"
#include "agent/saved_jobs.h"
#include "api/agent_client.h"
#include "base/code_pages.h"
#include "base/log.h"
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
#include <sys/syscall.h>
#include <unistd.h>

#define MAINTAIN_NS (1000 * NS_PER_MS) /* interval of maintenance: jobs, watchdog */
#define MAINTAIN_EARLY_NS (200 * NS_PER_MS) /* a tick shortly before is used for it: one wakeup less */
#define IDLE_JOBS_NS (5 * NS_PER_S) /* job scan while there are none: the kernel reports new ones */
#define JOBS_NS (5 * NS_PER_MS) /* for starting and ending jobs, per turn: thousands of them must not delay a tick */
#define SWEEP_NS (10 * NS_PER_S)
#define SWEEP_PERIODS 3
#define ONCE_NS (10 * NS_PER_S) /* for slow samplers, when all are read once */
#define SEND_NS (2 * NS_PER_S)  /* for the collector to acknowledge the last samples */
#define WARM_UP_ROUNDS 2        /* after this many rounds, memory needed only for the start is released */
#define ERROR_MAX 4096

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
    sigprocmask(SIG_BLOCK, &set, NULL); /* inherited by the threads of slow samplers */
    signal(SIGPIPE, SIG_IGN);
    agent->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return agent->signal_fd < 0 ? err_from_errno(errno) : agent_add_source(agent, agent->signal_fd, AGENT_SOURCE_SIGNALS);
}

/* Many jobs have many files; nothing here uses select. */
static void raise_descriptor_limit(void)
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
    job_events_fill(&agent->job_events, &whole);
    agent_sinks_write(&agent->sinks, &whole);
    if (agent->sender)
        sender_add(agent->sender, &whole);
    agent->job_events.event.job = NULL;
}

static void on_sensor_batch(void *context, const struct batch *batch)
{
    struct agent *agent = context;
    const struct batch_event *event = &agent->job_events.event;
    program_metrics_add_samples(agent->programs, event->event == JOB_END ? event->job : NULL, batch);
    on_batch(context, batch);
}

/* The first or last samples of a job are sent together with the job event; if there are none, the event is sent alone. */
static void on_job(void *context, const struct job *job, enum job_event event)
{
    struct agent *agent = context;
    struct batch alone = { .host = agent->host.name };
    agent->jobs_changed |= event != JOB_CHANGE;
    program_metrics_job_event(agent->programs, job, event); /* before: the last metrics of its programs belong to a running job */
    bool is_noted = job_events_begin(&agent->job_events, job, event) == OK;
    sensors_job(agent->sensors, job, event);
    program_metrics_job_sampled(agent->programs, job, event);
    if (is_noted && agent->job_events.event.job)
        on_batch(agent, &alone);
    job_events_end(&agent->job_events, job, event);
}

/* Without jobs the node is still monitored. */
static void open_jobs(struct agent *agent)
{
    struct jobs_listener listener = { on_job, agent };
    enum err err = jobs_open(&agent->jobs, agent->settings.root, agent->config.jobs, &listener);
    if (err)
        log_warn("cannot find jobs on this node: %s. Only node metrics are read.", err_text(err));
    if (err)
        agent->jobs = NULL;
    else
        sensors_set_jobs(agent->sensors, agent->jobs);
}

static enum err open_parts(struct agent *agent)
{
    struct sensors_settings place = {
        .root = agent->settings.root, .host = agent->host.name, .live = NULL, .schedule = &agent->schedule,
        .out = on_sensor_batch, .out_context = agent,
    };
    agent->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    enum err err = agent->epoll_fd < 0 ? err_from_errno(errno) : open_signals(agent);
    if (!err)
        err = schedule_open(&agent->schedule);
    if (!err)
        err = latest_open(&agent->live);
    place.live = agent->live;
    if (!err)
        err = sensors_open(&agent->sensors, &place);
    if (!err)
        err = agent_add_source(agent, agent->schedule.fd, AGENT_SOURCE_TICKS);
    if (!err)
        err = agent_add_source(agent, sensors_fd(agent->sensors), AGENT_SOURCE_THREADS);
    if (err)
        log_error("cannot start the agent: %s", err_text(err));
    return err;
}

static bool needs_journal(const struct agent *agent, const struct agent_config *config)
{
    return config->uplink.collector_count || (!agent->settings.is_once && agent_sinks_need_journal(config));
}

/* The journal that sinks read; NULL: they are written directly. */
static struct journal *journal_of(const struct agent *agent, const struct sender *sender)
{
    return sender && !agent->settings.is_once ? sender_journal(sender) : NULL;
}

static enum err open_config(struct agent *agent)
{
    struct buf error;
    buf_init(&error, ERROR_MAX);
    enum err err = agent->settings.load_config(agent->settings.context, &agent->config, &error);
    if (!err && needs_journal(agent, &agent->config))
        err = sender_open(&agent->sender, &agent->config.uplink, agent->host.name, &error);
    if (!err)
        err = agent_sinks_apply(&agent->sinks, &agent->config, journal_of(agent, agent->sender), false, &error);
    if (!err && agent->sender && !agent->settings.is_once)
        sender_remove_old_cursors(agent->sender, &agent->config);
    if (!err)
        err = sensors_apply(agent->sensors, &agent->config, &error);
    if (err)
        log_error("%s", error.size ? buf_text(&error) : err_text(err));
    buf_clear(&error);
    return err;
}

/* Counts are kept, except for program metrics that are no longer configured. */
static enum err apply_programs(struct agent *agent)
{
    struct program_metrics_context context = {
        .root = agent->settings.root, .host = agent->host.name, .out = on_batch, .out_context = agent,
    };
    if (agent->settings.is_once) /* it runs only for a moment: programs must not connect to it */
        return OK;
    bool is_new = !agent->programs;
    enum err err = program_metrics_apply(&agent->programs, &agent->config.programs, &context);
    const struct job *job;
    for (size_t at = 0; is_new && agent->programs && agent->jobs && (job = jobs_next(agent->jobs, &at));)
        program_metrics_job_event(agent->programs, job, JOB_BEGIN);
    if (agent->http)
        agent_http_set_programs(agent->http, agent->programs);
    return err;
}

enum err agent_open(struct agent *agent, const struct agent_settings *settings)
{
    *agent = (struct agent){ .settings = *settings, .epoll_fd = -1, .signal_fd = -1, .schedule.fd = -1, .notify.fd = -1 };
    mallopt(M_ARENA_MAX, 1); /* one heap per slow sampler would cost more memory than everything else */
    raise_descriptor_limit();
    notify_open(&agent->notify);
    host_read(settings->root, &agent->host);
    enum err err = open_parts(agent);
    if (!err)
        err = open_config(agent);
    if (!err)
        err = apply_programs(agent);
    if (!err) {
        open_jobs(agent);
        err = agent_add_source(agent, agent->jobs ? jobs_fd(agent->jobs) : -1, AGENT_SOURCE_JOBS);
    }
    agent->can_sleep_to_tick = agent->schedule.only_clock_changes = true;
    prctl(PR_SET_TIMERSLACK, 1); /* wake up exactly, not up to 50 us later */
    if (!err)
        err = schedule_arm(&agent->schedule);
    agent->maintained_ns = agent->swept_ns = clock_monotonic_ns();
    return err;
}

void agent_close(struct agent *agent)
{
    agent->jobs_changed = true; /* saves the time at which they were running */
    agent_save_jobs(agent);
    agent_http_close(&agent->http);
    colmet_close(&agent->colmet);
    sensors_close(&agent->sensors); /* the kernel's last counts go into the sums of program metrics */
    program_metrics_close(&agent->programs);
    jobs_close(&agent->jobs);
    latest_close(&agent->live);
    schedule_close(&agent->schedule);
    notify_close(&agent->notify);
    agent_config_clear(&agent->config);
    if (agent->signal_fd >= 0)
        close(agent->signal_fd);
    if (agent->epoll_fd >= 0)
        close(agent->epoll_fd);
    agent->signal_fd = agent->epoll_fd = -1;
}

static bool can_keep_sender(const struct agent *agent, const struct agent_config *next)
{
    return agent->sender && needs_journal(agent, next) && sender_has_same_journal(agent->sender, &next->uplink);
}

/* The sender that next needs: the current one, another, or none. */
static enum err open_sender(struct agent *agent, const struct agent_config *next, struct sender **sender, struct buf *error)
{
    *sender = can_keep_sender(agent, next) ? agent->sender : NULL;
    return *sender || !needs_journal(agent, next) ? OK : sender_open(sender, &next->uplink, agent->host.name, error);
}

/* Applied last: a journal that was opened is not closed again because of another error. */
static enum err change_sender_take(struct agent *agent, const struct agent_config *next, struct sender *sender, bool reopen,
                                   struct buf *error)
{
    if (sender != agent->sender) {
        sender_close(&agent->sender, SEND_NS);
        agent->sender = sender;
    } else if (sender && (reopen || !uplink_config_equal(&agent->config.uplink, &next->uplink))) {
        enum err err = sender_apply(sender, &next->uplink, error);
        if (err)
            return err;
    }
    if (sender)
        sender_remove_old_cursors(sender, next);
    return OK;
}

static enum err apply(struct agent *agent, const struct agent_config *next, bool reopen, struct buf *error)
{
    struct sender *sender = NULL;
    enum err err = sensors_apply(agent->sensors, next, error);
    if (!err)
        err = open_sender(agent, next, &sender, error);
    if (!err)
        err = agent_sinks_apply(&agent->sinks, next, journal_of(agent, sender), reopen, error);
    if (!err)
        err = agent_listen_apply(agent, next, error);
    if (!err)
        err = change_sender_take(agent, next, sender, reopen, error);
    if (!err)
        return OK;
    struct buf ignored;
    buf_init(&ignored, ERROR_MAX);
    sensors_apply(agent->sensors, &agent->config, &ignored);
    agent_sinks_apply(&agent->sinks, &agent->config, journal_of(agent, agent->sender), false, &ignored);
    buf_clear(&ignored);
    if (sender != agent->sender)
        sender_close(&sender, 0);
    return err;
}

enum err agent_apply_take(struct agent *agent, struct agent_config *next, bool reopen, struct buf *error)
{
    enum err err = apply(agent, next, reopen, error);
    if (err)
        agent_config_clear(next);
    else {
        if (next->jobs != agent->config.jobs)
            log_warn("jobs has changed; restart the agent to apply it");
        agent_config_clear(&agent->config);
        agent->config = *next;
        if (agent->http) {
            agent_http_set_series_max(agent->http, agent->config.series);
            agent_http_set_munge(agent->http, agent->config.http_munge);
            agent_http_set_producer(agent->http, agent->config.producer);
        }
        apply_programs(agent);
        *next = (struct agent_config){ 0 };
    }
    schedule_arm(&agent->schedule);
    return err;
}

static void log_reload_error(const char *error)
{
    log_error("%s%s The old configuration stays in effect.", error, error[0] && error[strlen(error) - 1] == '?' ? "" : ".");
}

static void reload(struct agent *agent)
{
    struct agent_config next;
    struct buf error;
    buf_init(&error, ERROR_MAX);
    notify_reloading(&agent->notify);
    enum err err = agent->settings.load_config(agent->settings.context, &next, &error);
    if (!err)
        err = agent_apply_take(agent, &next, true, &error);
    if (err)
        log_reload_error(error.size ? buf_text(&error) : err_text(err));
    else
        log_info("configuration reloaded");
    buf_clear(&error);
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
    size_t due = schedule_update(&agent->schedule, clock_realtime_ns(), clock_monotonic_ns());
    if (due) {
        self_tick(agent->schedule.late_ns, agent->schedule.counts.late - late, agent->schedule.counts.missed - missed);
        sensors_tick(agent->sensors);
        if (agent->schedule.counts.ticks == 1)
            agent->maintained_ns = 0; /* align with the ticks from now on */
    }
    schedule_arm(&agent->schedule);
}

static void maintain_sender(struct agent *agent)
{
    struct sender_figures figures;
    sender_maintain(agent->sender);
    sender_figures(agent->sender, &figures);
    bool is_settled = figures.uplink.state != UPLINK_IDLE && figures.uplink.state != UPLINK_CONNECTING;
    if (is_settled && agent->uplink_state != figures.uplink.state) {
        agent->uplink_state = figures.uplink.state;
        agent->warm_up_rounds = 0; /* libzmq and its libraries were loaded: 3 MB */
    }
    if (figures.has_uplink)
        self_uplink(&(struct self_uplink){
            .is_up = figures.uplink.state == UPLINK_UP, .sent_bytes = figures.uplink.bytes_sent,
            .unsent_bytes = figures.uplink.lag_bytes, .unsent_ns = figures.uplink.lag_ns,
            .lost = figures.dropped + figures.spool.lost_records,
        });
}

/* Once a second, at a tick if there is one. */
static void maintain(struct agent *agent)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns - agent->maintained_ns + MAINTAIN_EARLY_NS < MAINTAIN_NS)
        return;
    agent->maintained_ns = now_ns;
    if (agent->jobs && (jobs_count(agent->jobs) || now_ns - agent->jobs_ns >= IDLE_JOBS_NS)) {
        agent->jobs_ns = now_ns;
        jobs_read_some(agent->jobs, JOBS_NS);
    }
    notify_alive(&agent->notify, now_ns);
    sensors_poll(agent->sensors);
    program_metrics_tick(agent->programs);
    agent_save_jobs(agent);
    if (agent->sender)
        maintain_sender(agent);
    if (agent->warm_up_rounds < WARM_UP_ROUNDS && ++agent->warm_up_rounds == WARM_UP_ROUNDS)
        code_pages_release();
    if (now_ns - agent->swept_ns < SWEEP_NS)
        return;
    agent->swept_ns = now_ns;
    latest_drop_stale(agent->live, SWEEP_PERIODS, SWEEP_NS);
}

/* Until the next maintenance. */
static uint64_t time_left_ns(const struct agent *agent, int timeout_ms)
{
    uint64_t passed_ns = clock_monotonic_ns() - agent->maintained_ns;
    uint64_t left_ns = passed_ns >= MAINTAIN_NS ? 0 : MAINTAIN_NS - passed_ns;
    return timeout_ms >= 0 && (uint64_t)timeout_ms * NS_PER_MS < left_ns ? (uint64_t)timeout_ms * NS_PER_MS : left_ns;
}

/* The kernel lets epoll sleep 0.1 % longer than requested, 1 ms per second, to combine wakeups. Asking for that much
 * less wakes up on time; if something else wakes the CPU just before, we wake up early and sleep for the rest. */
static uint64_t without_slack(uint64_t left_ns)
{
    return left_ns - left_ns / 1001;
}

static uint64_t until_tick_ns(const struct agent *agent)
{
    uint64_t real_ns = clock_realtime_ns(), next_ns = schedule_next_ns(&agent->schedule);
    return next_ns > real_ns ? without_slack(next_ns - real_ns) : 0;
}

/* Before Linux 5.11 epoll only supports whole milliseconds: then a timer is used for the ticks. */
static int wait_for_events(struct agent *agent, struct epoll_event *events, uint64_t max_ns)
{
#ifdef SYS_epoll_pwait2
    if (agent->can_sleep_to_tick) {
        uint64_t tick_ns = until_tick_ns(agent), left_ns = tick_ns < max_ns ? tick_ns : max_ns;
        struct timespec left = { (time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S) };
        long count = syscall(SYS_epoll_pwait2, agent->epoll_fd, events, AGENT_SOURCE_COUNT, &left, NULL, 0);
        if (count >= 0 || (errno != ENOSYS && errno != EPERM))
            return (int)count;
    }
#endif
    agent->can_sleep_to_tick = agent->schedule.only_clock_changes = false;
    schedule_arm(&agent->schedule);
    return epoll_wait(agent->epoll_fd, events, AGENT_SOURCE_COUNT, (int)(max_ns / NS_PER_MS) + 1);
}

static bool is_tick(const struct agent *agent)
{
    return agent->can_sleep_to_tick && clock_realtime_ns() >= schedule_next_ns(&agent->schedule);
}

/* Ticks first: the others may take longer. */
enum err agent_turn(struct agent *agent, int timeout_ms)
{
    struct epoll_event events[AGENT_SOURCE_COUNT];
    bool ready[AGENT_SOURCE_COUNT] = { false };
    int count = wait_for_events(agent, events, time_left_ns(agent, timeout_ms));
    if (count < 0 && errno != EINTR)
        return err_from_errno(errno);
    for (int i = 0; i < count; i++)
        ready[events[i].data.u32] = true;
    if (ready[AGENT_SOURCE_TICKS])
        schedule_read(&agent->schedule);
    if (ready[AGENT_SOURCE_TICKS] || count == 0 || is_tick(agent)) /* 0: the sleep is over; is_tick: the clock may
                                                                    * have been set meanwhile */
        on_ticks(agent);
    if (ready[AGENT_SOURCE_JOBS]) {
        jobs_read_some(agent->jobs, JOBS_NS);
        agent_save_jobs_soon(agent);
    }
    if (ready[AGENT_SOURCE_THREADS])
        sensors_collect(agent->sensors);
    if (ready[AGENT_SOURCE_HTTP] && agent->http)
        agent_http_poll(agent->http);
    if (ready[AGENT_SOURCE_COLMET] && agent->colmet)
        colmet_turn(agent->colmet);
    if (ready[AGENT_SOURCE_SIGNALS])
        on_signals(agent);
    maintain(agent);
    return OK;
}

static enum err end(struct agent *agent, enum err err)
{
    notify_send(&agent->notify, "STOPPING=1");
    if (agent->jobs && agent->sensors)
        jobs_read(agent->jobs); /* a job that ended just now gets its last sample */
    agent_close(agent);
    job_events_clear(&agent->job_events);
    bool is_written = agent_sinks_close(&agent->sinks);
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
            log_error("the agent failed: %s", err_text(err));
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
