/* Samples as documents of Elasticsearch (and OpenSearch), by _bulk. Documents wait in an outbox; each has an id that makes
 * sending it again harmless, so that after any failure it is sent again until the server has said that it is there. */
#include "sinks/sink.h"

#include "sinks/http_sender.h"
#include "sinks/elasticsearch/answer.h"
#include "sinks/elasticsearch/colmet_documents.h"
#include "sinks/elasticsearch/documents.h"

#include <stdio.h>
#include <string.h>

struct elasticsearch_state {
    const char *layout, *prefix, *type;
    struct courier courier;
    struct elasticsearch_indexes indexes;
    struct elasticsearch_colmet colmet;
    bool is_colmet;
    unsigned major; /* the server's version; 0: it was not asked yet */
    const char *type_now; /* NULL: without */
    bool is_lost;         /* an index that was there is not there any more */
    unsigned busy;        /* documents of the last portion that it had no time for */
};

static const struct setting elasticsearch_settings[] = {
    HTTP_CLIENT_SETTINGS(struct elasticsearch_state, courier.client, "address: http://HOST:9200", "api_key"),
    { "layout", SETTING_TEXT, "sonde", offsetof(struct elasticsearch_state, layout),
      "sonde: an index per set; colmet: Colmet's indexes and fields" },
    { "prefix", SETTING_TEXT, NULL, offsetof(struct elasticsearch_state, prefix),
      "what names of indexes begin with; sonde_ or colmet_ when it is not given" },
    { "type", SETTING_TEXT, "auto", offsetof(struct elasticsearch_state, type),
      "_type of documents: none, a name, or auto: doc where the server is older than 7" },
    { 0 },
};

/* Asked once, and as soon as the server was away: it may have come back as another. */
static enum err ask_version(struct elasticsearch_state *s, uint64_t deadline_ns)
{
    static const struct http_request request = { .method = "GET", .path = "/" };
    struct http_client *client = &s->courier.client;
    struct http_answer *answer = &s->courier.answer;
    enum err err = http_client_send(client, &request, answer, deadline_ns);
    if (!err && answer->status != 403) /* a key that may only write */
        err = http_client_judge(client, &request, answer);
    if (err)
        return err;
    struct bytes text = { buf_text(&answer->body), answer->body.size };
    if (elasticsearch_answer_version(text, &s->major)) {
        s->major = 8;
        if (answer->status != 403) {
            char excerpt[160];
            s->major = 0;
            http_client_excerpt(excerpt, sizeof excerpt, text);
            http_client_say(client, "%s is no Elasticsearch: it answered %s \"%s\". Is the address right?", client->shown,
                            http_answer_is_page(answer) ? "a page" : "", excerpt);
            return IO;
        }
    }
    bool is_auto = strcmp(s->type, "auto") == 0, is_none = strcmp(s->type, "none") == 0 || !*s->type;
    s->type_now = is_none || (is_auto && s->major >= 7) ? NULL : is_auto ? "doc" : s->type;
    return OK;
}

static enum err make_index(struct elasticsearch_state *s, struct elasticsearch_index *index, uint64_t deadline_ns)
{
    char path[ELASTICSEARCH_NAME_MAX + 2];
    struct http_answer *answer = &s->courier.answer;
    struct http_request request = { .method = "PUT", .path = path, .content_type = "application/json" };
    struct buf body;
    snprintf(path, sizeof path, "/%s", index->name);
    buf_init(&body, 8u << 20);
    elasticsearch_index_mapping(&body, index, s->type_now, s->major < 5);
    request.body = (struct bytes){ buf_text(&body), body.size };
    enum err err = buf_err(&body);
    if (!err)
        err = http_client_send(&s->courier.client, &request, answer, deadline_ns);
    buf_clear(&body);
    /* somebody else was quicker: resource_already_exists_exception, index_already_exists_exception */
    if (!err && answer->status == 400 && strstr(buf_text(&answer->body), "already_exists"))
        return OK;
    return err ? err : http_client_judge(&s->courier.client, &request, answer);
}

static enum err ready_index(struct elasticsearch_state *s, struct elasticsearch_index *index, uint64_t deadline_ns)
{
    char path[ELASTICSEARCH_NAME_MAX + 2];
    struct http_answer *answer = &s->courier.answer;
    const struct http_request request = { .method = "HEAD", .path = path };
    snprintf(path, sizeof path, "/%s", index->name);
    enum err err = http_client_send(&s->courier.client, &request, answer, deadline_ns);
    if (!err && answer->status == 404)
        err = make_index(s, index, deadline_ns);
    else if (!err)
        err = http_client_judge(&s->courier.client, &request, answer);
    index->is_ready = !err;
    return err;
}

static enum err ready_indexes(struct elasticsearch_state *s, size_t count, uint64_t deadline_ns)
{
    enum err err = OK;
    for (size_t i = 0; i < count && !err; i++) {
        struct elasticsearch_index *index = &s->indexes.list[s->courier.box.pieces[i].tag];
        if (!index->is_ready)
            err = ready_index(s, index, deadline_ns);
    }
    return err;
}

static void judge_document(void *user, size_t place, unsigned status, const char *type, const char *reason)
{
    struct elasticsearch_state *s = user;
    struct outbox_piece *piece = &s->courier.box.pieces[place];
    struct http_client *client = &s->courier.client;
    char excerpt[240];
    if ((status >= 200 && status < 300) || status == 409) { /* 409: it is there already */
        piece->is_done = true;
        return;
    }
    http_client_excerpt(excerpt, sizeof excerpt, bytes_of(reason));
    if (status == 404) {
        s->indexes.list[piece->tag].is_ready = false;
        s->is_lost = true;
    } else if (status == 401 || status == 403 || status == 429 || status >= 500 || status == 0) {
        s->busy++;
        http_client_say(client, "%s has not taken all documents: %u for index %s (%s: %s)", client->shown, status,
                        s->indexes.list[piece->tag].name, type, excerpt);
    } else {
        courier_refuse(&s->courier, piece);
        http_client_say(client, "%s refuses documents for good: %u for index %s (%s: %s)", client->shown, status,
                        s->indexes.list[piece->tag].name, type, excerpt);
    }
}

/* Which documents have arrived. */
static enum err take_verdicts(struct elasticsearch_state *s, size_t count)
{
    struct http_client *client = &s->courier.client;
    struct bytes text = { buf_text(&s->courier.answer.body), s->courier.answer.body.size };
    size_t items;
    bool failed;
    char excerpt[160];
    s->busy = 0;
    s->is_lost = false;
    enum err err = elasticsearch_answer_bulk(text, NULL, NULL, &items, &failed);
    if (err || (failed && items != count)) {
        http_client_excerpt(excerpt, sizeof excerpt, text);
        http_client_say(client, "%s answered \"%s\" to documents, which is not how Elasticsearch answers", client->shown,
                        excerpt);
        return IO;
    }
    if (failed)
        elasticsearch_answer_bulk(text, judge_document, s, &items, &failed);
    else
        courier_done(&s->courier, count);
    return s->busy || s->is_lost ? AGAIN : OK;
}

static enum err elasticsearch_post(void *sink, size_t count, size_t bytes, uint64_t deadline_ns)
{
    struct elasticsearch_state *s = sink;
    char path[256] = "/_bulk?filter_path=errors,items.*.status,items.*.error";
    struct http_request request = { .method = "POST", .path = path, .content_type = "application/x-ndjson",
                                    .body = { s->courier.box.bytes.data, bytes } };
    enum err err = s->major ? OK : ask_version(s, deadline_ns);
    if (!err)
        err = ready_indexes(s, count, deadline_ns);
    if (!err && s->type_now) /* the type of all that say none themselves */
        snprintf(path, sizeof path, "/%.60s/%.100s/_bulk?filter_path=errors,items.*.status,items.*.error",
                 s->indexes.list[s->courier.box.pieces[0].tag].name, s->type_now);
    if (!err)
        err = http_client_send(&s->courier.client, &request, &s->courier.answer, deadline_ns);
    if (!err)
        err = http_client_judge(&s->courier.client, &request, &s->courier.answer);
    if (!err)
        err = take_verdicts(s, count);
    if (err == IO || (err && !s->courier.answer.status)) /* no answer, or none of its own */
        s->major = 0;
    return err;
}

static enum err check_layout(struct elasticsearch_state *s)
{
    s->is_colmet = strcmp(s->layout, "colmet") == 0;
    if (s->is_colmet || strcmp(s->layout, "sonde") == 0)
        return OK;
    http_client_say(&s->courier.client, "there is no layout %s: sonde or colmet", s->layout);
    return USAGE;
}

static enum err elasticsearch_check(void *state)
{
    struct elasticsearch_state *s = state;
    enum err err = check_layout(s);
    return err ? err : http_client_check(&s->courier.client);
}

static enum err elasticsearch_open(void *state)
{
    struct elasticsearch_state *s = state;
    s->courier.post = elasticsearch_post;
    s->courier.sink = s;
    s->courier.client.scheme = "ApiKey";
    enum err err = check_layout(s);
    if (err)
        return err;
    s->indexes.prefix = s->prefix ? s->prefix : s->is_colmet ? "colmet_" : "sonde_";
    err = courier_open(&s->courier);
    if (!err && s->is_colmet && (err = elasticsearch_colmet_open(&s->colmet)))
        courier_close(&s->courier);
    return err;
}

static enum err elasticsearch_write(void *state, const struct batch *batch)
{
    struct elasticsearch_state *s = state;
    size_t before = s->courier.box.count;
    if (courier_knows(&s->courier, batch))
        return OK;
    enum err err = s->is_colmet ? elasticsearch_colmet_add(&s->colmet, &s->courier.box, &s->indexes, batch)
                                : elasticsearch_documents_add(&s->courier.box, &s->indexes, batch);
    return courier_took(&s->courier, batch, before, err);
}

static enum err elasticsearch_flush(void *state, uint64_t deadline_ns)
{
    return courier_flush(&((struct elasticsearch_state *)state)->courier, deadline_ns);
}

static void elasticsearch_close(void *state)
{
    struct elasticsearch_state *s = state;
    courier_close(&s->courier);
    elasticsearch_colmet_close(&s->colmet);
    elasticsearch_indexes_clear(&s->indexes);
}

static const char *elasticsearch_message(const void *state)
{
    return ((const struct elasticsearch_state *)state)->courier.client.why;
}

static uint64_t elasticsearch_refused(const void *state)
{
    return ((const struct elasticsearch_state *)state)->courier.refused;
}

const struct sink sink_elasticsearch = {
    .name = "elasticsearch",
    .about = "documents in Elasticsearch or OpenSearch",
    .settings = elasticsearch_settings,
    .state_size = sizeof(struct elasticsearch_state),
    .check = elasticsearch_check,
    .open = elasticsearch_open,
    .write = elasticsearch_write,
    .flush = elasticsearch_flush,
    .close = elasticsearch_close,
    .message = elasticsearch_message,
    .refused = elasticsearch_refused,
    .may_block = true,
};
