/* From a message to a request, and its answer into the log. */
#include "compat/colmet/node_control.h"

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
#define TURN_MAX 64 /* messages at a time: a flood of them does not keep us from the ticks */
#define WHY_MAX 512

struct colmet {
    const struct zmq_module *zmq;
    struct zmq_pull *pull;
    struct colmet_control control;
    struct buf message;
    char unknown[256]; /* the names that were last told to be unknown */
    bool has_told_parts;
};

enum err colmet_open(struct colmet **colmet, const char *address, const struct colmet_control *control, struct buf *error)
{
    char reason[WHY_MAX] = "";
    struct colmet *c = *colmet = calloc(1, sizeof *c);
    if (!c)
        return NOMEM;
    c->control = *control;
    buf_init(&c->message, MESSAGE_MAX);
    enum err err = zmq_load(&c->zmq, reason, sizeof reason);
    if (!err)
        err = c->zmq->pull_open(&c->pull, address, reason, sizeof reason);
    if (err) {
        buf_printf(error, "cannot listen for Colmet at %s: %s", address, reason[0] ? reason : err_text(err));
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

static void write_request(const struct colmet_config *config, const char *events, struct buf *request)
{
    char period[32];
    struct json json;
    snprintf(period, sizeof period, "%lluns", (unsigned long long)config->period_ns);
    json_init(&json, request);
    json_begin_object(&json);
    json_key(&json, "set");
    json_begin_object(&json);
    if (config->period_ns)
        json_field_text(&json, "period", period);
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
        buf_add_text(error, err == USAGE ? "its sample_period is not a number of seconds"
                                       : "it is not a MessagePack map of texts, as configure_colmet.py sends it");
        return false;
    }
    write_request(&config, buf_text(&metrics->events), request);
    return buf_err(request) == OK;
}

/* Whoever sends the same again, as from cron, is told nothing new. */
static void tell(struct colmet *colmet, const struct colmet_metrics *metrics)
{
    char unknown[sizeof colmet->unknown];
    snprintf(unknown, sizeof unknown, "%s", buf_text(&metrics->unknown));
    if (unknown[0] && strcmp(unknown, colmet->unknown) != 0) {
        log_warn("a message of Colmet's kind names metrics that are not known here: %s. The others are read.", unknown);
        memcpy(colmet->unknown, unknown, sizeof unknown);
    }
    if (metrics->has_parts && !colmet->has_told_parts)
        log_warn("a message of Colmet's kind has metrics with a period or a job of their own: here all have the period of the "
                 "message, in every job");
    colmet->has_told_parts |= metrics->has_parts;
}

/* answer: {"ok": false, "error": TEXT} */
static void complain(const struct buf *answer)
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
    log_warn("what a message of Colmet's kind wants cannot be done: %s", buf_text(&text));
    buf_clear(&key);
    buf_clear(&text);
}

static void take(struct colmet *colmet)
{
    struct buf request, answer, error;
    struct colmet_metrics metrics;
    buf_init(&request, TEXT_MAX);
    buf_init(&answer, ANSWER_MAX);
    buf_init(&error, WHY_MAX);
    struct bytes message = { colmet->message.data, colmet->message.size };
    if (!colmet_request(message, &request, &metrics, &error))
        log_warn("a message of Colmet's kind was not understood: %s. Nothing was changed.", buf_text(&error));
    else if (colmet->control.answer(colmet->control.context, request.data, request.size, &answer))
        complain(&answer);
    else
        log_info("a message of Colmet's kind was obeyed; 'sonde ctl show' tells what is read now");
    tell(colmet, &metrics);
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
            take(colmet);
    }
}
