/* JSON in, a changed plan, JSON out. */
#include "agent/control.h"

#include "agent/agent.h"
#include "net/json.h"
#include "net/json_read.h"
#include "proc/perf.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 8192

/* Whoever reads a file of many nodes is warned of events that this one lacks; whoever asks this one is told. */
static enum err check_events(const char *list, struct buf *why)
{
    char name[64];
    if (!perf_find_unknown(list, name, sizeof name))
        return OK;
    buf_printf(why, "there is no perf event '%s'; 'perf list' names those of this machine", name);
    return USAGE;
}

/* "period", or "meminfo.period". */
static enum err set(struct plan *plan, const char *key, const char *value, struct buf *why)
{
    const char *dot = strchr(key, '.');
    char section[64];
    if (!strcmp(key, "listen") || !strcmp(key, "socket") || !strcmp(key, "colmet") || !strcmp(key, "sink")
        || uplink_plan_has(key)) {
        buf_printf(why, "'%s' cannot be changed from here: write it into the configuration, then send SIGHUP", key);
        return USAGE;
    }
    if ((!strcmp(key, "events") || !strcmp(key, "perf.events")) && check_events(value, why))
        return USAGE;
    if (!dot)
        return plan_set(plan, "", key, value, why);
    size_t size = (size_t)(dot - key);
    if (size >= sizeof section) {
        buf_add_text(why, "there is no sensor of such a name");
        return USAGE;
    }
    memcpy(section, key, size);
    section[size] = '\0';
    return plan_set(plan, section, dot + 1, value, why);
}

static enum err read_set(struct json_read *read, struct plan *plan, struct buf *why)
{
    struct buf key, value;
    enum err err = OK;
    buf_init(&key, TEXT_MAX);
    buf_init(&value, TEXT_MAX);
    json_read_object(read);
    while (!err && json_read_key(read, &key) && json_read_text(read, &value))
        err = set(plan, buf_text(&key), buf_text(&value), why);
    buf_clear(&key);
    buf_clear(&value);
    return err;
}

/* *changed: something was set. *reload: the configuration shall be read anew. */
static enum err read_request(const char *json, size_t size, struct plan *plan, bool *changed, bool *reload, struct buf *why)
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
            err = read_set(&read, plan, why);
        } else if (strcmp(buf_text(&key), "reload") == 0) {
            json_read_bool(&read, reload);
        } else {
            buf_printf(why, "an agent does not know '%.60s'; it knows 'set' and 'reload'", buf_text(&key));
            err = USAGE;
        }
    }
    if (!err && !json_read_end(&read)) {
        buf_add_text(why, "this is not JSON, or not what is expected: {\"set\": {\"period\": \"1s\"}}");
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
static void add_outlet(struct json *json, struct outlet *outlet)
{
    struct outlet_figures figures;
    outlet_figures(outlet, &figures);
    json_field_u64(json, "failures", figures.failures);
    if (figures.why[0])
        json_field_text(json, "why", figures.why);
    json_field_u64(json, "batches", figures.batches);
    json_field_u64(json, "samples", figures.samples);
    json_field_u64(json, "gaps", figures.gaps);
    json_field_u64(json, "refused", figures.refused);
    json_field_u64(json, "lag_bytes", figures.lag_bytes);
    json_field_u64(json, "lag_ns", figures.lag_ns);
    json_field_u64(json, "success_ns", figures.success_ns);
}

static void add_sinks(struct json *json, const struct outlets *outlets)
{
    json_key(json, "sinks");
    json_begin_array(json);
    for (size_t i = 0; i < outlets->count; i++) {
        if (!outlets->list[i].choice.sink)
            continue;
        json_begin_object(json);
        json_field_text(json, "name", outlets->list[i].choice.sink->name);
        if (outlets->list[i].outlet)
            add_outlet(json, outlets->list[i].outlet);
        else
            json_field_u64(json, "failures", outlets->list[i].failures);
        add_settings(json, &outlets->list[i].choice.settings);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_spool(struct json *json, const struct sender_figures *figures)
{
    json_key(json, "spool");
    json_begin_object(json);
    json_field_text(json, "folder", figures->spool_dir);
    json_field_u64(json, "bytes", figures->spool.bytes);
    json_field_u64(json, "records", figures->records);
    json_field_u64(json, "unspooled", figures->unspooled);
    json_field_u64(json, "lost", figures->spool.lost_records);
    if (figures->spool_why[0])
        json_field_text(json, "trouble", figures->spool_why);
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
    if (uplink->why[0])
        json_field_text(json, "why", uplink->why);
    json_field_u64(json, "since_ns", uplink->since_ns);
    json_field_u64(json, "connections", uplink->connections);
    json_field_u64(json, "records_sent", uplink->records_sent);
    json_field_u64(json, "records_acked", uplink->records_acked);
    json_field_u64(json, "bytes_sent", uplink->bytes_sent);
    json_field_u64(json, "acked_ns", uplink->acked_ns);
    json_field_u64(json, "lag_bytes", uplink->lag_bytes);
    json_field_u64(json, "lag_ns", uplink->lag_ns);
    json_field_u64(json, "unreadable", uplink->unreadable);
    add_spool(json, figures);
    json_end_object(json);
}

static void add_sender(struct json *json, struct sender *sender)
{
    struct sender_figures figures;
    sender_figures(sender, &figures);
    if (figures.has_uplink)
        add_uplink(json, &figures);
    else
        add_spool(json, &figures);
}

static void add_state(struct json *json, struct agent *agent)
{
    json_field_bool(json, "ok", true);
    json_field_text(json, "host", agent->host.name);
    json_field_u64(json, "period_ns", agent->plan.period_ns);
    json_field_text(json, "listen", agent->serve && serve_port(agent->serve) ? agent->plan.listen : PLAN_NONE);
    if (agent->plan.socket)
        json_field_text(json, "socket", agent->plan.socket);
    add_counts(json, &agent->schedule.counts);
    json_field_u64(json, "clock_sets", agent->schedule.clock_sets);
    json_field_u64(json, "jobs", agent->jobs ? jobs_count(agent->jobs) : 0);
    json_field_u64(json, "entries", live_count(agent->live));
    add_sensors(json, agent);
    add_sinks(json, &agent->outlets);
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

/* Not at once: the server that is just answering may have to listen elsewhere. A mistake is told now. */
static enum err reload_soon(struct agent *agent, struct buf *why)
{
    struct plan plan;
    enum err err = agent->settings.make_plan(agent->settings.context, &plan, why);
    if (err)
        return err;
    plan_clear(&plan);
    return kill(getpid(), SIGHUP) < 0 ? IO : OK;
}

enum err control_answer(void *context, const char *json, size_t size, struct buf *answer)
{
    struct agent *agent = context;
    struct plan next;
    struct buf why;
    bool changed = false, reload = false;
    enum err err = plan_copy(&next, &agent->plan);
    if (err)
        return err;
    buf_init(&why, TEXT_MAX);
    err = read_request(json, size, &next, &changed, &reload, &why);
    if (!err && changed)
        err = agent_apply_take(agent, &next, false, &why);
    if (!err && reload)
        err = reload_soon(agent, &why);
    plan_clear(&next);
    write_answer(answer, agent, err ? why.size ? buf_text(&why) : err_text(err) : NULL);
    buf_clear(&why);
    return err;
}
