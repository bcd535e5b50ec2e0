/* Reads the JSON in one pass: a few lines about the agent, a table of its sensors. */
#include "report/agent_state.h"

#include "api/schema.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/utf8.h"
#include "net/json_read.h"
#include "report/table.h"

#include <string.h>

#define TEXT_MAX 8192

struct agent_state {
    struct json_read json;
    struct buf key, text, settings;
    struct buf host, listen, socket;
    uint64_t period_ns, ticks, late, missed, worst_ns, jobs, entries;
    struct buf uplink, collector, uplink_error, spool_trouble;
    uint64_t acked, lag_bytes, lag_ns, lost, unspooled;
    struct table table;
};

struct agent_state_sensor {
    struct buf name, state;
    uint64_t period_ns, ticks, late, missed, failures;
};

static const struct table_column columns[] = {
    { .title = "SENSOR" },
    { .title = "STATE" },
    { .title = "PERIOD", .right = true },
    { .title = "TICKS", .right = true, .rank = 2 },
    { .title = "LATE", .right = true, .rank = 3 },
    { .title = "MISSED", .right = true, .rank = 4 },
    { .title = "FAILED", .right = true, .rank = 1 },
    { .title = "SETTINGS", .min = 10, .rank = 5 },
};

static bool is(const struct agent_state *state, const char *key)
{
    return strcmp(buf_text(&state->key), key) == 0;
}

/* "events=cycles,instructions step=2" */
static void read_settings(struct agent_state *state)
{
    buf_reset(&state->settings);
    json_read_object(&state->json);
    while (json_read_key(&state->json, &state->key) && json_read_text(&state->json, &state->text))
        buf_printf(&state->settings, "%s%s=%s", state->settings.size ? " " : "", buf_text(&state->key),
                   buf_text(&state->text));
}

static void add_number(struct table *table, enum colour colour, uint64_t number)
{
    table_add_text(table, number ? colour : FAINT, format_count(number).s);
}

static void add_row(struct agent_state *state, const struct agent_state_sensor *sensor)
{
    const char *how = buf_text(&sensor->state);
    bool is_well = strcmp(how, API_STATE_READS) == 0, fails = strcmp(how, API_STATE_FAILS) == 0;
    table_add_text(&state->table, is_well ? BOLD : PLAIN, buf_text(&sensor->name));
    table_add_text(&state->table, is_well ? GREEN : fails ? RED : FAINT, how);
    table_add_text(&state->table, PLAIN, sensor->period_ns ? format_duration(sensor->period_ns).s : "");
    add_number(&state->table, PLAIN, sensor->ticks);
    add_number(&state->table, YELLOW, sensor->late);
    add_number(&state->table, YELLOW, sensor->missed);
    add_number(&state->table, RED, sensor->failures);
    table_add_text(&state->table, PLAIN, buf_text(&state->settings));
}

static void read_sensor_field(struct agent_state *state, struct agent_state_sensor *sensor)
{
    const struct { const char *key; uint64_t *number; } numbers[] = {
        { API_PERIOD_NS, &sensor->period_ns }, { API_TICKS, &sensor->ticks },       { API_LATE, &sensor->late },
        { API_MISSED, &sensor->missed },       { API_FAILURES, &sensor->failures },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is(state, numbers[i].key)) {
            json_read_u64(&state->json, numbers[i].number);
            return;
        }
    if (is(state, API_NAME))
        json_read_text(&state->json, &sensor->name);
    else if (is(state, API_STATE))
        json_read_text(&state->json, &sensor->state);
    else if (is(state, API_SETTINGS))
        read_settings(state);
    else
        json_read_skip(&state->json);
}

static void read_sensors(struct agent_state *state)
{
    json_read_array(&state->json);
    while (json_read_more(&state->json)) {
        struct agent_state_sensor sensor = { 0 };
        buf_init(&sensor.name, TEXT_MAX);
        buf_init(&sensor.state, TEXT_MAX);
        buf_reset(&state->settings);
        json_read_object(&state->json);
        while (json_read_key(&state->json, &state->key))
            read_sensor_field(state, &sensor);
        add_row(state, &sensor);
        buf_clear(&sensor.name);
        buf_clear(&sensor.state);
    }
}

static void read_uplink(struct agent_state *state)
{
    const struct { const char *key; uint64_t *number; } numbers[] = {
        { API_RECORDS_ACKED, &state->acked }, { API_LAG_BYTES, &state->lag_bytes },   { API_LAG_NS, &state->lag_ns },
        { API_LOST, &state->lost },           { API_UNSPOOLED, &state->unspooled },
    };
    const struct { const char *key; struct buf *text; } strings[] = {
        { API_STATE, &state->uplink }, { API_COLLECTOR, &state->collector }, { API_ERROR_REASON, &state->uplink_error },
        { API_TROUBLE, &state->spool_trouble },
    };
    json_read_object(&state->json);
    while (json_read_key(&state->json, &state->key)) {
        bool is_taken = is(state, API_SPOOL);
        if (is_taken)
            read_uplink(state); /* a nested object; its keys are unique */
        for (size_t i = 0; !is_taken && i < sizeof numbers / sizeof *numbers; i++)
            if ((is_taken = is(state, numbers[i].key)))
                json_read_u64(&state->json, numbers[i].number);
        for (size_t i = 0; !is_taken && i < sizeof strings / sizeof *strings; i++)
            if ((is_taken = is(state, strings[i].key)))
                json_read_text(&state->json, strings[i].text);
        if (!is_taken)
            json_read_skip(&state->json);
    }
}

static void read_field(struct agent_state *state)
{
    const struct { const char *key; uint64_t *number; } numbers[] = {
        { API_PERIOD_NS, &state->period_ns }, { API_TICKS, &state->ticks },       { API_LATE, &state->late },
        { API_MISSED, &state->missed },       { API_WORST_NS, &state->worst_ns }, { API_JOBS, &state->jobs },
        { API_ENTRIES, &state->entries },
    };
    const struct { const char *key; struct buf *text; } strings[] = {
        { API_HOST, &state->host }, { API_LISTEN, &state->listen }, { API_SOCKET, &state->socket },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is(state, numbers[i].key)) {
            json_read_u64(&state->json, numbers[i].number);
            return;
        }
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (is(state, strings[i].key)) {
            json_read_text(&state->json, strings[i].text);
            return;
        }
    if (is(state, API_SENSORS))
        read_sensors(state);
    else if (is(state, API_UPLINK))
        read_uplink(state);
    else
        json_read_skip(&state->json);
}

/* "sends to tcp://login1:5555: up; 1,204 records acknowledged, 3.1 KiB pending for 2 s" */
static void print_uplink(const struct agent_state *state, const struct terminal *terminal, struct buf *out)
{
    const char *how = buf_text(&state->uplink);
    if (!*how)
        return;
    buf_add_text(out, "sends to ");
    utf8_add_safe(out, bytes_of(buf_text(&state->collector)), terminal->utf8);
    buf_add_text(out, ": ");
    terminal_add(out, terminal, strcmp(how, "up") == 0 ? GREEN : YELLOW, how);
    if (state->uplink_error.size) {
        buf_add_text(out, " (");
        utf8_add_safe(out, bytes_of(buf_text(&state->uplink_error)), terminal->utf8);
        buf_add_char(out, ')');
    }
    buf_printf(out, "; %s %s acknowledged", format_count(state->acked).s, state->acked == 1 ? "record" : "records");
    if (state->lag_ns >= NS_PER_S)
        buf_printf(out, ", %s pending for %s", format_bytes(state->lag_bytes).s, format_duration(state->lag_ns).s);
    if (state->lost + state->unspooled)
        buf_printf(out, "; %s lost because the journal was full", format_count(state->lost + state->unspooled).s);
    if (state->spool_trouble.size) {
        buf_add_text(out, "; journal: ");
        utf8_add_safe(out, bytes_of(buf_text(&state->spool_trouble)), terminal->utf8);
    }
    buf_add_char(out, '\n');
}

static void print_head(const struct agent_state *state, const struct terminal *terminal, struct buf *out)
{
    struct buf host;
    buf_init(&host, TEXT_MAX);
    utf8_add_safe(&host, bytes_of(buf_text(&state->host)), terminal->utf8);
    terminal_add(out, terminal, BOLD, buf_text(&host));
    buf_printf(out, ": every %s, %s ticks", format_duration(state->period_ns).s, format_count(state->ticks).s);
    if (state->late || state->missed)
        buf_printf(out, " (%s late, by up to %s; %s missed)", format_count(state->late).s,
                   format_duration(state->worst_ns).s, format_count(state->missed).s);
    buf_printf(out, "; %s %s, %s metric %s\n", format_count(state->jobs).s, state->jobs == 1 ? "job" : "jobs",
               format_count(state->entries).s, state->entries == 1 ? "set" : "sets");
    if (state->listen.size && strcmp(buf_text(&state->listen), "none") == 0) {
        buf_add_text(out, "/metrics is disabled\n");
    } else if (state->listen.size) {
        buf_add_text(out, "listening on ");
        utf8_add_safe(out, bytes_of(buf_text(&state->listen)), terminal->utf8);
        buf_add_char(out, '\n');
    }
    print_uplink(state, terminal, out);
    buf_add_char(out, '\n');
    buf_clear(&host);
}

enum err agent_state_print(const char *json, size_t size, const struct terminal *terminal, struct buf *out)
{
    struct agent_state state = { 0 };
    struct buf *const bufs[] = { &state.key, &state.text, &state.settings, &state.host, &state.listen, &state.socket,
                                 &state.uplink, &state.collector, &state.uplink_error, &state.spool_trouble };
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        buf_init(bufs[i], TEXT_MAX);
    table_init(&state.table, columns, sizeof columns / sizeof *columns, terminal->utf8);
    json_read_init(&state.json, json, size);
    json_read_object(&state.json);
    while (json_read_key(&state.json, &state.key))
        read_field(&state);
    enum err err = json_read_end(&state.json) ? OK : CORRUPT;
    if (!err) {
        print_head(&state, terminal, out);
        err = table_print(&state.table, terminal, out);
    }
    table_clear(&state.table);
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        buf_clear(bufs[i]);
    return err;
}
