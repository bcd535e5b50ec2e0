/* From a message to a request, and its answer into the log. */
#include "agent/colmet.h"

#include "base/json.h"
#include "base/json_read.h"
#include "base/log.h"
#include "sample/perf.h"
#include "wire/colmet_config.h"
#include "wire/zmq.h"

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
};

enum err colmet_open(struct colmet **colmet, const char *address, const struct colmet_control *control, struct buf *why)
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
        buf_printf(why, "cannot listen for Colmet at %s: %s", address, reason[0] ? reason : err_text(err));
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

/* Of "rss:2:-1,cache_ll" those that are perf events, without what stands behind their names: memory is read anyway. */
static void add_events(struct buf *events, struct bytes metrics)
{
    const char *at = metrics.data, *end = metrics.data + metrics.size;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *next = comma ? comma : end;
        const char *colon = memchr(at, ':', (size_t)(next - at));
        char name[64];
        struct perf_event_spec spec;
        struct perf_trouble trouble;
        int size = snprintf(name, sizeof name, "%.*s", (int)((colon ? colon : next) - at), at);
        at = next + 1;
        if (size <= 0 || (size_t)size >= sizeof name || perf_resolve_one(name, &spec, &trouble) == USAGE)
            continue;
        buf_printf(events, "%s%s", events->size ? "," : "", name);
    }
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

bool colmet_request(struct bytes message, struct buf *request, struct buf *why)
{
    struct colmet_config config;
    struct buf events;
    enum err err = colmet_config_parse(message, &config);
    if (err) {
        buf_add_text(why, err == USAGE ? "its sample_period is not a number of seconds"
                                       : "it is not a MessagePack map of texts, as configure_colmet.py sends it");
        return false;
    }
    buf_init(&events, TEXT_MAX);
    add_events(&events, config.metrics);
    write_request(&config, buf_text(&events), request);
    buf_clear(&events);
    return buf_err(request) == OK;
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
    struct buf request, answer, why;
    buf_init(&request, TEXT_MAX);
    buf_init(&answer, ANSWER_MAX);
    buf_init(&why, WHY_MAX);
    struct bytes message = { colmet->message.data, colmet->message.size };
    if (!colmet_request(message, &request, &why))
        log_warn("a message of Colmet's kind was not understood: %s. Nothing was changed.", buf_text(&why));
    else if (colmet->control.answer(colmet->control.context, request.data, request.size, &answer))
        complain(&answer);
    else
        log_info("a message of Colmet's kind was obeyed; 'sonde ctl show' tells what is read now");
    buf_clear(&request);
    buf_clear(&answer);
    buf_clear(&why);
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
