/* The sink `influx`: InfluxDB line protocol to a file, standard output (for Telegraf's execd and tail), or the write
 * endpoint of InfluxDB 1 and 2 and VictoriaMetrics. A point replaces an earlier one of the same series and time, so
 * sending it again is harmless. */
#include "sinks/sink.h"

#include "sinks/http_sender.h"
#include "sinks/influx/line.h"
#include "sinks/output.h"
#include "sinks/writable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_URL 1024

struct influx_state {
    const char *path, *db, *retention, *org, *bucket;
    bool append, create;
    struct http_sender sender;
    struct output output;
    char write_path[PATH_MAX_URL];
};

static const struct setting influx_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct influx_state, path),
      "output file; default without url: standard output" },
    { "append", SETTING_FLAG, "no", offsetof(struct influx_state, append),
      "append to the file, and write each batch immediately" },
    CURL_CLIENT_SETTINGS(struct influx_state, sender.client, "address of the server: http://HOST:8086", "token"),
    { "db", SETTING_TEXT, "sonde", offsetof(struct influx_state, db), "database of InfluxDB 1" },
    { "retention", SETTING_TEXT, NULL, offsetof(struct influx_state, retention), "its retention policy" },
    { "create", SETTING_FLAG, "yes", offsetof(struct influx_state, create), "create the database if it does not exist" },
    { "org", SETTING_TEXT, NULL, offsetof(struct influx_state, org), "organisation, for InfluxDB 2" },
    { "bucket", SETTING_TEXT, NULL, offsetof(struct influx_state, bucket), "bucket, for InfluxDB 2" },
    { 0 },
};

/* Percent-encodes a query value: "my db" becomes "my%20db". */
static void add_escaped(struct buf *out, const char *name, const char *value)
{
    buf_add_text(out, name);
    for (; *value; value++) {
        bool is_plain = (*value >= 'a' && *value <= 'z') || (*value >= 'A' && *value <= 'Z')
            || (*value >= '0' && *value <= '9') || *value == '_' || *value == '-';
        if (is_plain)
            buf_add_char(out, *value);
        else
            buf_printf(out, "%%%02X", (unsigned char)*value);
    }
}

static enum err build_path(struct influx_state *s)
{
    struct buf path;
    buf_init(&path, sizeof s->write_path - 1);
    if (s->bucket) {
        add_escaped(&path, "/api/v2/write?precision=ns&bucket=", s->bucket);
        add_escaped(&path, "&org=", s->org ? s->org : "");
    } else {
        add_escaped(&path, "/write?precision=ns&db=", s->db);
        if (s->retention)
            add_escaped(&path, "&rp=", s->retention);
    }
    snprintf(s->write_path, sizeof s->write_path, "%s", buf_text(&path));
    enum err err = buf_err(&path);
    buf_clear(&path);
    return err ? USAGE : OK;
}

/* CREATE DATABASE does nothing if it exists. */
static enum err create_database(struct influx_state *s, uint64_t deadline_ns)
{
    struct buf body, name;
    buf_init(&body, 4096);
    buf_init(&name, 1024);
    buf_add_text(&name, "CREATE DATABASE \"");
    for (const char *c = s->db; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_add_char(&name, '\\');
        buf_add_char(&name, *c);
    }
    buf_add_char(&name, '"');
    add_escaped(&body, "q=", buf_text(&name));
    struct curl_request request = { .method = "POST", .path = "/query", .content_type = "application/x-www-form-urlencoded",
                                    .body = { buf_text(&body), body.size } };
    enum err err = curl_client_send(&s->sender.client, &request, &s->sender.answer, deadline_ns);
    if (!err)
        err = curl_client_check_status(&s->sender.client, &request, &s->sender.answer);
    buf_clear(&body);
    buf_clear(&name);
    return err;
}

/* InfluxDB stores the valid points and counts the others: "partial write: … dropped=3". */
static enum err handle_partial_write(struct influx_state *s, size_t count)
{
    const char *text = buf_text(&s->sender.answer.body), *dropped = strstr(text, "dropped=");
    if (!strstr(text, "partial write") && count > 1)
        return CORRUPT;
    uint64_t number = dropped ? strtoull(dropped + strlen("dropped="), NULL, 10) : 1;
    s->sender.refused += number <= count ? number : count;
    http_sender_mark_delivered(&s->sender, count);
    return OK;
}

static enum err influx_post(void *sink, size_t count, size_t bytes, uint64_t deadline_ns)
{
    struct influx_state *s = sink;
    struct curl_client *client = &s->sender.client;
    struct curl_response *answer = &s->sender.answer;
    const struct curl_request request = { .method = "POST", .path = s->write_path, .content_type = "text/plain; charset=utf-8",
                                          .body = { s->sender.outbox.bytes.data, bytes } };
    enum err err = curl_client_send(client, &request, answer, deadline_ns);
    if (!err && answer->status == 404 && s->create && !s->bucket && strstr(buf_text(&answer->body), "database not found")) {
        err = create_database(s, deadline_ns);
        if (!err)
            err = curl_client_send(client, &request, answer, deadline_ns);
    }
    if (!err)
        err = curl_client_check_status(client, &request, answer);
    if (!err && curl_response_is_html(answer)) {
        curl_client_set_error(client, "%s returned an HTML page: it is not InfluxDB. Check url", client->shown);
        err = IO;
    }
    if (!err)
        http_sender_mark_delivered(&s->sender, count);
    return err == IO && (answer->status == 400 || answer->status == 422) ? handle_partial_write(s, count) : err;
}

static enum err check_destination(struct influx_state *s)
{
    if (!s->sender.client.url || !s->path)
        return OK;
    curl_client_set_error(&s->sender.client, "path and url exclude each other: set either path or url");
    return USAGE;
}

static enum err influx_check(void *state)
{
    struct influx_state *s = state;
    struct curl_client *client = &s->sender.client;
    enum err err = check_destination(s);
    if (err)
        return err;
    if (client->url)
        return curl_client_check(client);
    if (s->bucket || s->org || s->retention || client->user || client->token || client->credentials) {
        curl_client_set_error(client, "bucket, org, retention and credentials need url=http://HOST:8086");
        return USAGE;
    }
    return writable_check(s->path, WRITABLE_FILE, client->error, sizeof client->error);
}

static enum err influx_open(void *state)
{
    struct influx_state *s = state;
    bool is_new;
    s->sender.post = influx_post;
    s->sender.sink = s;
    s->sender.client.scheme = "Token";
    if (!s->sender.client.url)
        return s->append ? output_append(&s->output, s->path, &is_new) : output_open(&s->output, s->path);
    enum err err = check_destination(s);
    if (!err)
        err = build_path(s);
    return err ? err : http_sender_open(&s->sender);
}

static void add_events(struct buf *out, const struct batch *batch)
{
    for (size_t i = 0; i < batch->event_count; i++)
        influx_line_event(out, batch, &batch->events[i]);
    for (size_t i = 0; i < batch->gap_count; i++)
        influx_line_gap(out, batch, &batch->gaps[i]);
}

static enum err write_output(struct influx_state *s, const struct batch *batch)
{
    enum err err = output_is_stuck(&s->output) ? output_write(&s->output) : OK;
    if (!err && output_is_stuck(&s->output))
        return AGAIN;
    if (!err)
        err = output_begin_batch(&s->output, batch->position);
    for (size_t i = 0; i < batch->count && !err; i++)
        influx_line_sample(&s->output.out, batch, &batch->samples[i]);
    if (!err)
        add_events(&s->output.out, batch);
    if (!err)
        err = s->append ? output_write(&s->output) : output_write_if_large(&s->output);
    return err;
}

static enum err write_outbox(struct influx_state *s, const struct batch *batch)
{
    struct outbox *outbox = &s->sender.outbox;
    size_t before = outbox->count;
    enum err err = OK;
    if (http_sender_has(&s->sender, batch))
        return OK;
    for (size_t i = 0; i < batch->count && !err; i++) {
        influx_line_sample(&outbox->bytes, batch, &batch->samples[i]);
        err = outbox_end_item(outbox, 0);
    }
    add_events(&outbox->bytes, batch);
    if (!err)
        err = outbox_end_item(outbox, 0);
    return http_sender_end_batch(&s->sender, batch, before, err);
}

static enum err influx_write(void *state, const struct batch *batch)
{
    struct influx_state *s = state;
    return s->sender.client.url ? write_outbox(s, batch) : write_output(s, batch);
}

static enum err influx_flush(void *state, uint64_t deadline_ns)
{
    struct influx_state *s = state;
    return s->sender.client.url ? http_sender_flush(&s->sender, deadline_ns) : output_flush(&s->output);
}

static void influx_watch_stop(void *state, const atomic_ullong *stop_ns)
{
    ((struct influx_state *)state)->sender.client.stop_ns = stop_ns;
}

static void influx_close(void *state)
{
    struct influx_state *s = state;
    if (s->sender.client.url)
        http_sender_close(&s->sender);
    else
        output_close(&s->output);
}

static enum err influx_resume(void *state, uint64_t *position)
{
    struct influx_state *s = state;
    *position = s->sender.client.url ? 0 : s->output.checkpoint.position;
    return OK;
}

static const char *influx_message(const void *state)
{
    return ((const struct influx_state *)state)->sender.client.error;
}

static uint64_t influx_refused(const void *state)
{
    return ((const struct influx_state *)state)->sender.refused;
}

const struct sink sink_influx = {
    .name = "influx",
    .about = "InfluxDB's line protocol: a file, standard output, InfluxDB or VictoriaMetrics",
    .settings = influx_settings,
    .state_size = sizeof(struct influx_state),
    .check = influx_check,
    .open = influx_open,
    .write = influx_write,
    .flush = influx_flush,
    .close = influx_close,
    .watch_stop = influx_watch_stop,
    .resume = influx_resume,
    .message = influx_message,
    .refused = influx_refused,
    .may_block = true,
    .is_unprivileged = true,
};
