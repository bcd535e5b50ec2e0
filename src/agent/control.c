/* JSON in, a changed config, JSON out. */
#include "agent/control.h"

#include "agent/agent.h"
#include "net/json.h"
#include "net/json_read.h"
#include "proc/perf.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 8192

/* Whoever reads a file of many nodes is warned of events that this one lacks; whoever asks this one is job_posted. */
static enum err check_events(const char *list, struct buf *error)
{
    char name[64];
    if (!perf_find_unknown(list, name, sizeof name))
        return OK;
    buf_printf(error, "there is no perf event '%s'; 'perf list' names those of this machine", name);
    return USAGE;
}

/* "period", or "meminfo.period". */
static enum err set(struct agent_config *config, const char *key, const char *value, struct buf *error)
{
    const char *dot = strchr(key, '.');
    char section[64];
    if (!strcmp(key, "listen") || !strcmp(key, "socket") || !strcmp(key, "colmet") || !strcmp(key, "sink")
        || uplink_config_has(key)) {
        buf_printf(error, "'%s' cannot be changed from here: write it into the configuration, then send SIGHUP", key);
        return USAGE;
    }
    if ((!strcmp(key, "events") || !strcmp(key, "perf.events")) && check_events(value, error))
        return USAGE;
    if (!dot)
        return agent_config_set(config, "", key, value, error);
    size_t size = (size_t)(dot - key);
    if (size >= sizeof section) {
        buf_add_text(error, "there is no sensor of such a name");
        return USAGE;
    }
    memcpy(section, key, size);
    section[size] = '\0';
    return agent_config_set(config, section, dot + 1, value, error);
}

static enum err read_set(struct json_read *read, struct agent_config *config, struct buf *error)
{
    struct buf key, value;
    enum err err = OK;
    buf_init(&key, TEXT_MAX);
    buf_init(&value, TEXT_MAX);
    json_read_object(read);
    while (!err && json_read_key(read, &key) && json_read_text(read, &value))
        err = set(config, buf_text(&key), buf_text(&value), error);
    buf_clear(&key);
    buf_clear(&value);
    return err;
}

/* *changed: something was set. *reload: the configuration shall be read reopen. */
static enum err read_request(const char *json, size_t size, struct agent_config *config, bool *changed, bool *reload, struct buf *error)
{
    struct json_read read;
    struct buf key;
    enum err err = OK;
    buf_init(&key, TEXT_MAX);
    json_read_init(&read, json, size);
    json_read_object(&read);
    while (!err && json_read_key(&read, &key)) {
        if (strcmp(buf_text(&key), "set") == 0) {
            *changed = true;
            err = read_set(&read, config, error);
        } else if (strcmp(buf_text(&key), "reload") == 0) {
            json_read_bool(&read, reload);
        } else {
            buf_printf(error, "an agent does not know '%.60s'; it knows 'set' and 'reload'", buf_text(&key));
            err = USAGE;
        }
    }
    if (!err && !json_read_end(&read)) {
        buf_add_text(error, "this is not JSON, or not what is expected: {\"set\": {\"period\": \"1s\"}}");
        err = USAGE;
    }
    buf_clear(&key);
    return err;
}

static void add_settings(struct json *json, const struct setting_list *settings)
{
    json_key(json, "settings");
    json_begin_object(json);
    for (size_t i = 0; i < settings->count; i++) {
        const struct setting_pair *pair = &settings->list[i];
        json_field_text(json, pair->key, sink_choice_is_secret(pair->key) ? "***" : pair->value);
    }
    json_end_object(json);
}

static void add_counts(struct json *json, const struct schedule_counts *counts)
{
    json_field_u64(json, "ticks", counts->ticks);
    json_field_u64(json, "late", counts->late);
    json_field_u64(json, "missed", counts->missed);
    json_field_u64(json, "worst_ns", counts->worst_ns);
}

static void add_sensors(struct json *json, struct agent *agent)
{
    struct sensor_facts facts;
    json_key(json, "sensors");
    json_begin_array(json);
    for (size_t at = 0; sensors_next(agent->sensors, &at, &facts);) {
        json_begin_object(json);
        json_field_text(json, "name", facts.sampler->name);
        json_field_text(json, "about", facts.sampler->about);
        json_field_bool(json, "enabled", facts.state != SENSOR_OFF);
        json_field_text(json, "state", sensors_state_name(facts.state));
        json_field_u64(json, "period_ns", facts.period_ns);
        add_counts(json, &facts.counts);
        json_field_u64(json, "failures", facts.failures);
        add_settings(json, facts.settings);
        json_end_object(json);
    }
    json_end_array(json);
}

/* One that reads the spool. */
static void add_worker(struct json *json, struct sink_worker *worker)
{
    struct sink_worker_figures figures;
    sink_worker_figures(worker, &figures);
    json_field_u64(json, "failures", figures.failures);
    if (figures.error[0])
        json_field_text(json, "why", figures.error);
    json_field_u64(json, "batches", figures.batches);
    json_field_u64(json, "samples", figures.samples);
    json_field_u64(json, "gaps", figures.gaps);
    json_field_u64(json, "refused", figures.refused);
    json_field_u64(json, "lag_bytes", figures.lag_bytes);
    json_field_u64(json, "lag_ns", figures.lag_ns);
    json_field_u64(json, "success_ns", figures.success_ns);
}

static void add_sinks(struct json *json, const struct agent_sinks *sinks)
{
    json_key(json, "sinks");
    json_begin_array(json);
    for (size_t i = 0; i < sinks->count; i++) {
        if (!sinks->list[i].choice.sink)
            continue;
        json_begin_object(json);
        json_field_text(json, "name", sinks->list[i].choice.sink->name);
        if (sinks->list[i].worker)
            add_worker(json, sinks->list[i].worker);
        else
            json_field_u64(json, "failures", sinks->list[i].failures);
        add_settings(json, &sinks->list[i].choice.settings);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_journal(struct json *json, const struct sender_figures *figures)
{
    json_key(json, "spool");
    json_begin_object(json);
    json_field_text(json, "folder", figures->journal_dir);
    json_field_u64(json, "bytes", figures->spool.bytes);
    json_field_u64(json, "records", figures->records);
    json_field_u64(json, "unspooled", figures->dropped);
    json_field_u64(json, "lost", figures->spool.lost_records);
    if (figures->journal_error[0])
        json_field_text(json, "trouble", figures->journal_error);
    json_end_object(json);
}

static void add_uplink(struct json *json, const struct sender_figures *figures)
{
    static const char *const states[] = { "idle", "connecting", "up", "refused", "waiting" };
    const struct uplink_figures *uplink = &figures->uplink;
    json_key(json, "uplink");
    json_begin_object(json);
    json_field_text(json, "state", states[uplink->state]);
    json_field_text(json, "collector", uplink->collector);
    if (uplink->error[0])
        json_field_text(json, "why", uplink->error);
    json_field_u64(json, "since_ns", uplink->since_ns);
    json_field_u64(json, "connections", uplink->connections);
    json_field_u64(json, "records_sent", uplink->records_sent);
    json_field_u64(json, "records_acked", uplink->records_acked);
    json_field_u64(json, "bytes_sent", uplink->bytes_sent);
    json_field_u64(json, "acked_ns", uplink->acked_ns);
    json_field_u64(json, "lag_bytes", uplink->lag_bytes);
    json_field_u64(json, "lag_ns", uplink->lag_ns);
    json_field_u64(json, "unreadable", uplink->unreadable);
    add_journal(json, figures);
    json_end_object(json);
}

static void add_sender(struct json *json, struct sender *sender)
{
    struct sender_figures figures;
    sender_figures(sender, &figures);
    if (figures.has_uplink)
        add_uplink(json, &figures);
    else
        add_journal(json, &figures);
}

static void add_state(struct json *json, struct agent *agent)
{
    json_field_bool(json, "ok", true);
    json_field_text(json, "host", agent->host.name);
    json_field_u64(json, "period_ns", agent->config.period_ns);
    json_field_text(json, "listen", agent->http && agent_http_port(agent->http) ? agent->config.listen : AGENT_NONE);
    if (agent->config.socket)
        json_field_text(json, "socket", agent->config.socket);
    add_counts(json, &agent->schedule.counts);
    json_field_u64(json, "clock_sets", agent->schedule.clock_sets);
    json_field_u64(json, "jobs", agent->jobs ? jobs_count(agent->jobs) : 0);
    json_field_u64(json, "entries", live_count(agent->live));
    add_sensors(json, agent);
    add_sinks(json, &agent->sinks);
    if (agent->sender)
        add_sender(json, agent->sender);
}

static void write_answer(struct buf *answer, struct agent *agent, const char *error)
{
    struct json json;
    json_init(&json, answer);
    json_begin_object(&json);
    if (error) {
        json_field_bool(&json, "ok", false);
        json_field_text(&json, "error", error);
    } else
        add_state(&json, agent);
    json_end_object(&json);
    json_end(&json);
}

/* Not at once: the server that is just answering may have to listen elsewhere. A mistake is job_posted now. */
static enum err schedule_reload(struct agent *agent, struct buf *error)
{
    struct agent_config config;
    enum err err = agent->settings.load_config(agent->settings.context, &config, error);
    if (err)
        return err;
    agent_config_clear(&config);
    return kill(getpid(), SIGHUP) < 0 ? IO : OK;
}

enum err control_answer(void *context, const char *json, size_t size, struct buf *answer)
{
    struct agent *agent = context;
    struct agent_config next;
    struct buf error;
    bool changed = false, reload = false;
    enum err err = agent_config_copy(&next, &agent->config);
    if (err)
        return err;
    buf_init(&error, TEXT_MAX);
    err = read_request(json, size, &next, &changed, &reload, &error);
    if (!err && changed)
        err = agent_apply_take(agent, &next, false, &error);
    if (!err && reload)
        err = schedule_reload(agent, &error);
    agent_config_clear(&next);
    write_answer(answer, agent, err ? error.size ? buf_text(&error) : err_text(err) : NULL);
    buf_clear(&error);
    return err;
}
