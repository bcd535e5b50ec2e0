/* Converts a message to a request for agent/control.c, and logs its answer. */
#include "compat/colmet/node_control.h"

#include "base/clock.h"
#include "net/json.h"
#include "net/json_read.h"
#include "base/log.h"
#include "compat/colmet/config_message.h"
#include "transport/zmq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX (64 << 10)
#define TEXT_MAX 8192
#define ANSWER_MAX (1 << 20)
#define TURN_MAX 64 /* messages per call, so that a flood does not delay sampling */
#define ERROR_MAX 512
#define PERIOD_MIN_NS (100 * NS_PER_MS) /* every local user can send messages */

struct colmet {
    const struct zmq_module *zmq;
    struct zmq_pull *pull;
    struct colmet_control control;
    struct buf message;
    char unknown[256]; /* unknown names that were logged last */
    bool has_logged_parts;
};

enum err colmet_open(struct colmet **colmet, const char *address, const struct colmet_control *control, struct buf *error)
{
    char reason[ERROR_MAX] = "";
    struct colmet *c = *colmet = calloc(1, sizeof *c);
    if (!c)
        return NOMEM;
    c->control = *control;
    buf_init(&c->message, MESSAGE_MAX);
    enum err err = zmq_load(&c->zmq, reason, sizeof reason);
    if (!err)
        err = c->zmq->pull_open(&c->pull, address, reason, sizeof reason);
    if (err) {
        buf_printf(error, "cannot listen for Colmet messages at %s: %s", address, reason[0] ? reason : err_text(err));
        colmet_close(colmet);
    }
    return err;
}

void colmet_close(struct colmet **colmet)
{
    struct colmet *c = *colmet;
    if (!c)
        return;
    if (c->pull)
        c->zmq->pull_close(&c->pull);
    buf_clear(&c->message);
    free(c);
    *colmet = NULL;
}

int colmet_fd(const struct colmet *colmet)
{
    return colmet->zmq->pull_fd(colmet->pull);
}

/* Their default is longer than the agent's period; in Colmet, all sensors follow it. */
static const char *const slow_sensors[] = { "temperature.period", "ipmi.period" };

static void write_request(const struct colmet_config *config, const char *events, struct buf *request)
{
    char period[32];
    struct json json;
    snprintf(period, sizeof period, "%lluns", (unsigned long long)config->period_ns);
    json_init(&json, request);
    json_begin_object(&json);
    json_key(&json, "set");
    json_begin_object(&json);
    if (config->period_ns) {
        json_field_text(&json, "period", period);
        for (size_t i = 0; i < sizeof slow_sensors / sizeof *slow_sensors; i++)
            json_field_text(&json, slow_sensors[i], period);
    }
    if (*events)
        json_field_text(&json, "perf.events", events);
    json_end_object(&json);
    json_end_object(&json);
    json_end(&json);
}

bool colmet_request(struct bytes message, struct buf *request, struct colmet_metrics *metrics, struct buf *error)
{
    struct colmet_config config;
    enum err err = colmet_config_parse(message, &config);
    colmet_metrics_read(metrics, err ? (struct bytes){ 0 } : config.metrics);
    if (err) {
        buf_add_text(error, err == USAGE ? "invalid sample_period (expected seconds)"
                                       : "it is not a MessagePack map of texts, as configure_colmet.py sends it");
        return false;
    }
    if (config.period_ns && config.period_ns < PERIOD_MIN_NS) {
        buf_add_text(error, "sample_period is below 0.1 s; use 'sonde ctl period' as root for shorter ones");
        return false;
    }
    write_request(&config, buf_text(&metrics->events), request);
    return buf_err(request) == OK;
}

/* Logs the same problem once, also if a cron job repeats the message. */
static void log_unsupported(struct colmet *colmet, const struct colmet_metrics *metrics)
{
    char unknown[sizeof colmet->unknown];
    snprintf(unknown, sizeof unknown, "%s", buf_text(&metrics->unknown));
    if (unknown[0] && strcmp(unknown, colmet->unknown) != 0) {
        log_warn("Colmet message: unknown metrics ignored: %s", unknown);
        memcpy(colmet->unknown, unknown, sizeof unknown);
    }
    if (metrics->has_parts && !colmet->has_logged_parts)
        log_warn("Colmet message: periods and jobs of single metrics are ignored; the period of the message applies to all");
    colmet->has_logged_parts |= metrics->has_parts;
}

/* answer: {"ok": false, "error": TEXT} */
static void log_error_of(const struct buf *answer)
{
    struct json_read read;
    struct buf key, text;
    buf_init(&key, TEXT_MAX);
    buf_init(&text, TEXT_MAX);
    json_read_init(&read, answer->data, answer->size);
    json_read_object(&read);
    while (json_read_key(&read, &key) && strcmp(buf_text(&key), "error") != 0)
        json_read_skip(&read);
    json_read_text(&read, &text);
    log_warn("cannot apply Colmet message: %s", buf_text(&text));
    buf_clear(&key);
    buf_clear(&text);
}

static void handle_message(struct colmet *colmet)
{
    struct buf request, answer, error;
    struct colmet_metrics metrics;
    buf_init(&request, TEXT_MAX);
    buf_init(&answer, ANSWER_MAX);
    buf_init(&error, ERROR_MAX);
    struct bytes message = { colmet->message.data, colmet->message.size };
    if (!colmet_request(message, &request, &metrics, &error))
        log_warn("invalid Colmet message: %s; nothing was changed", buf_text(&error));
    else if (colmet->control.answer(colmet->control.context, request.data, request.size, &answer))
        log_error_of(&answer);
    else
        log_info("applied Colmet message; 'sonde ctl show' prints the current settings");
    log_unsupported(colmet, &metrics);
    colmet_metrics_clear(&metrics);
    buf_clear(&request);
    buf_clear(&answer);
    buf_clear(&error);
}

void colmet_turn(struct colmet *colmet)
{
    for (int i = 0; i < TURN_MAX; i++) {
        enum err err = colmet->zmq->pull_next(colmet->pull, &colmet->message);
        if (err == AGAIN || err == IO)
            return;
        if (!err)
            handle_message(colmet);
    }
}
