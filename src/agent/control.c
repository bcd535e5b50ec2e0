/* Reads the JSON request, applies it, writes the JSON response. */
#include "agent/control.h"

#include "agent/agent.h"
#include "api/schema.h"
#include "base/mask.h"
#include "net/json.h"
#include "net/json_read.h"
#include "proc/perf.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 8192

/* A configuration file for many nodes may have events that this node lacks, which is only a warning; a request to this
 * node is rejected. */
static enum err check_events(const char *list, struct buf *error)
{
    char name[64];
    if (!perf_find_unknown(list, name, sizeof name))
        return OK;
    buf_printf(error, "unknown perf event '%s'; 'perf list' shows those of this node", name);
    return USAGE;
}

/* "period" or "meminfo.period". */
static enum err set(struct agent_config *config, const char *key, const char *value, struct buf *error)
{
    const char *dot = strchr(key, '.');
    char section[64];
    if (!strcmp(key, "listen") || !strcmp(key, "socket") || !strcmp(key, "colmet") || !strcmp(key, "sink")
        || !strcmp(key, "http-munge")
        || uplink_config_has(key)) {
        buf_printf(error, "'%s' cannot be changed at run time; set it in the configuration file, then send SIGHUP", key);
        return USAGE;
    }
    if ((!strcmp(key, "events") || !strcmp(key, "perf.events")) && check_events(value, error))
        return USAGE;
    if (!dot)
        return agent_config_set(config, "", key, value, error);
    size_t size = (size_t)(dot - key);
    if (size >= sizeof section) {
        buf_add_text(error, "unknown sensor");
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

/* *changed: something was set. *reload: reload the configuration. */
static enum err read_request(const char *json, size_t size, struct agent_config *config, bool *changed, bool *reload,
                             struct buf *error)
{
    struct json_read read;
    struct buf key;
    enum err err = OK;
    buf_init(&key, TEXT_MAX);
    json_read_init(&read, json, size);
    json_read_object(&read);
    while (!err && json_read_key(&read, &key)) {
        if (strcmp(buf_text(&key), API_SET) == 0) {
            *changed = true;
            err = read_set(&read, config, error);
        } else if (strcmp(buf_text(&key), API_RELOAD) == 0) {
            json_read_bool(&read, reload);
        } else {
            buf_printf(error, "unknown request '%.60s' (expected 'set' or 'reload')", buf_text(&key));
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
    struct buf value;
    buf_init(&value, 2 * TEXT_MAX);
    json_key(json, API_SETTINGS);
    json_begin_object(json);
    for (size_t i = 0; i < settings->count; i++) {
        const struct setting_pair *pair = &settings->list[i];
        buf_reset(&value);
        mask_add_setting(&value, pair->key, pair->value);
        json_field_text(json, pair->key, buf_text(&value));
    }
    json_end_object(json);
    buf_clear(&value);
}

static void add_counts(struct json *json, const struct schedule_counts *counts)
{
    json_field_u64(json, API_TICKS, counts->ticks);
    json_field_u64(json, API_LATE, counts->late);
    json_field_u64(json, API_MISSED, counts->missed);
    json_field_u64(json, API_WORST_NS, counts->worst_ns);
}

static void add_sensors(struct json *json, struct agent *agent)
{
    struct sensor_facts facts;
    json_key(json, API_SENSORS);
    json_begin_array(json);
    for (size_t at = 0; sensors_next(agent->sensors, &at, &facts);) {
        json_begin_object(json);
        json_field_text(json, API_NAME, facts.sampler->name);
        json_field_text(json, API_ABOUT, facts.sampler->about);
        json_field_bool(json, API_ENABLED, facts.state != SENSOR_OFF);
        json_field_text(json, API_STATE, sensors_state_name(facts.state));
        json_field_u64(json, API_PERIOD_NS, facts.period_ns);
        add_counts(json, &facts.counts);
        json_field_u64(json, API_FAILURES, facts.failures);
        add_settings(json, facts.settings);
        json_end_object(json);
    }
    json_end_array(json);
}

/* A sink that reads the journal. */
static void add_worker(struct json *json, struct sink_worker *worker)
{
    struct sink_worker_figures figures;
    sink_worker_figures(worker, &figures);
    json_field_u64(json, API_FAILURES, figures.failures);
    if (figures.error[0])
        json_field_text(json, API_ERROR_REASON, figures.error);
    json_field_u64(json, API_BATCHES, figures.batches);
    json_field_u64(json, API_SAMPLES, figures.samples);
    json_field_u64(json, API_GAPS, figures.gaps);
    json_field_u64(json, API_REFUSED, figures.refused);
    json_field_u64(json, API_LAG_BYTES, figures.lag_bytes);
    json_field_u64(json, API_LAG_NS, figures.lag_ns);
    json_field_u64(json, API_SUCCESS_NS, figures.success_ns);
}

static void add_sinks(struct json *json, const struct agent_sinks *sinks)
{
    json_key(json, API_SINKS);
    json_begin_array(json);
    for (size_t i = 0; i < sinks->count; i++) {
        if (!sinks->list[i].choice.sink)
            continue;
        json_begin_object(json);
        json_field_text(json, API_NAME, sinks->list[i].choice.sink->name);
        if (sinks->list[i].worker)
            add_worker(json, sinks->list[i].worker);
        else
            json_field_u64(json, API_FAILURES, sinks->list[i].failures);
        add_settings(json, &sinks->list[i].choice.settings);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_journal(struct json *json, const struct sender_figures *figures)
{
    json_key(json, API_SPOOL);
    json_begin_object(json);
    json_field_text(json, API_DIRECTORY, figures->journal_dir);
    json_field_u64(json, API_BYTES, figures->spool.bytes);
    json_field_u64(json, API_RECORDS, figures->records);
    json_field_u64(json, API_UNSPOOLED, figures->dropped);
    json_field_u64(json, API_LOST, figures->spool.lost_records);
    if (figures->journal_error[0])
        json_field_text(json, API_TROUBLE, figures->journal_error);
    json_end_object(json);
}

static void add_uplink(struct json *json, const struct sender_figures *figures)
{
    static const char *const states[] = { "idle", "connecting", "up", "refused", "waiting" };
    const struct uplink_figures *uplink = &figures->uplink;
    json_key(json, API_UPLINK);
    json_begin_object(json);
    json_field_text(json, API_STATE, states[uplink->state]);
    json_field_text(json, API_COLLECTOR, uplink->collector);
    if (uplink->error[0])
        json_field_text(json, API_ERROR_REASON, uplink->error);
    json_field_u64(json, API_SINCE_NS, uplink->since_ns);
    json_field_u64(json, API_CONNECTIONS, uplink->connections);
    json_field_u64(json, API_RECORDS_SENT, uplink->records_sent);
    json_field_u64(json, API_RECORDS_ACKED, uplink->records_acked);
    json_field_u64(json, API_BYTES_SENT, uplink->bytes_sent);
    json_field_u64(json, API_ACKED_NS, uplink->acked_ns);
    json_field_u64(json, API_LAG_BYTES, uplink->lag_bytes);
    json_field_u64(json, API_LAG_NS, uplink->lag_ns);
    json_field_u64(json, API_UNREADABLE, uplink->unreadable);
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
    json_field_bool(json, API_OK, true);
    json_field_text(json, API_HOST, agent->host.name);
    json_field_u64(json, API_PERIOD_NS, agent->config.period_ns);
    json_field_text(json, API_LISTEN, agent->http && agent_http_port(agent->http) ? agent->config.listen : AGENT_NONE);
    if (agent->config.socket)
        json_field_text(json, API_SOCKET, agent->config.socket);
    add_counts(json, &agent->schedule.counts);
    json_field_u64(json, API_CLOCK_SETS, agent->schedule.clock_sets);
    json_field_u64(json, API_JOBS, agent->jobs ? jobs_count(agent->jobs) : 0);
    json_field_u64(json, API_ENTRIES, latest_count(agent->live));
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
        json_field_bool(&json, API_OK, false);
        json_field_text(&json, API_ERROR, error);
    } else
        add_state(&json, agent);
    json_end_object(&json);
    json_end(&json);
}

/* Not immediately: the server that is handling this request may have to listen elsewhere. Errors are reported now. */
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
