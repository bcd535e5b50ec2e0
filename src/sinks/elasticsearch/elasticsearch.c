/* The sink `elasticsearch`: samples as documents for Elasticsearch and OpenSearch, sent with _bulk. Documents stay
 * in an outbox until the server has confirmed them; their ids make it safe to send one again after any failure. */
#include "sinks/sink.h"

#include "sinks/http_sender.h"
#include "sinks/elasticsearch/response.h"
#include "sinks/elasticsearch/colmet_documents.h"
#include "sinks/elasticsearch/documents.h"

#include <stdio.h>
#include <string.h>

struct elasticsearch_state {
    const char *layout, *prefix, *type;
    struct http_sender sender;
    struct elasticsearch_indexes indexes;
    struct elasticsearch_colmet colmet;
    bool is_colmet;
    unsigned major; /* the server's version; 0: not asked yet */
    const char *type_now; /* NULL: none */
    bool is_lost;         /* an index has disappeared */
    unsigned busy;        /* documents of the last request that got status 429 */
};

static const struct setting elasticsearch_settings[] = {
    CURL_CLIENT_SETTINGS(struct elasticsearch_state, sender.client, "address: http://HOST:9200", "api_key"),
    { "layout", SETTING_TEXT, "sonde", offsetof(struct elasticsearch_state, layout),
      "sonde (an index per metric set), or colmet (Colmet's indexes and fields)" },
    { "prefix", SETTING_TEXT, NULL, offsetof(struct elasticsearch_state, prefix),
      "prefix of index names; default: sonde_ or colmet_" },
    { "type", SETTING_TEXT, "auto", offsetof(struct elasticsearch_state, type),
      "_type of documents: none, a name, or auto (doc for servers before version 7)" },
    { 0 },
};

/* Once, and again after the server was unreachable: it may have been upgraded. */
static enum err get_version(struct elasticsearch_state *s, uint64_t deadline_ns)
{
    static const struct curl_request request = { .method = "GET", .path = "/" };
    struct curl_client *client = &s->sender.client;
    struct curl_response *answer = &s->sender.answer;
    enum err err = curl_client_send(client, &request, answer, deadline_ns);
    if (!err && answer->status != 403) /* 403: an API key that may only write */
        err = curl_client_check_status(client, &request, answer);
    if (err)
        return err;
    struct bytes text = { buf_text(&answer->body), answer->body.size };
    if (elasticsearch_response_version(text, &s->major)) {
        s->major = 8;
        if (answer->status != 403) {
            char excerpt[160];
            s->major = 0;
            curl_client_excerpt(excerpt, sizeof excerpt, text);
            curl_client_set_error(client, "%s is not Elasticsearch: it returned %s \"%s\". Check url", client->shown,
                            curl_response_is_html(answer) ? "an HTML page" : "", excerpt);
            return IO;
        }
    }
    bool is_auto = strcmp(s->type, "auto") == 0, is_none = strcmp(s->type, "none") == 0 || !*s->type;
    s->type_now = is_none || (is_auto && s->major >= 7) ? NULL : is_auto ? "doc" : s->type;
    return OK;
}

static enum err create_index(struct elasticsearch_state *s, struct elasticsearch_index *index, uint64_t deadline_ns)
{
    char path[ELASTICSEARCH_NAME_MAX + 2];
    struct curl_response *answer = &s->sender.answer;
    struct curl_request request = { .method = "PUT", .path = path, .content_type = "application/json" };
    struct buf body;
    snprintf(path, sizeof path, "/%s", index->name);
    buf_init(&body, 8u << 20);
    elasticsearch_index_mapping(&body, index, s->type_now, s->major < 5);
    request.body = (struct bytes){ buf_text(&body), body.size };
    enum err err = buf_err(&body);
    if (!err)
        err = curl_client_send(&s->sender.client, &request, answer, deadline_ns);
    buf_clear(&body);
    /* created in the meantime: resource_already_exists_exception, index_already_exists_exception */
    if (!err && answer->status == 400 && strstr(buf_text(&answer->body), "already_exists"))
        return OK;
    return err ? err : curl_client_check_status(&s->sender.client, &request, answer);
}

static enum err ready_index(struct elasticsearch_state *s, struct elasticsearch_index *index, uint64_t deadline_ns)
{
    char path[ELASTICSEARCH_NAME_MAX + 2];
    struct curl_response *answer = &s->sender.answer;
    const struct curl_request request = { .method = "HEAD", .path = path };
    snprintf(path, sizeof path, "/%s", index->name);
    enum err err = curl_client_send(&s->sender.client, &request, answer, deadline_ns);
    if (!err && answer->status == 404)
        err = create_index(s, index, deadline_ns);
    else if (!err)
        err = curl_client_check_status(&s->sender.client, &request, answer);
    index->is_ready = !err;
    return err;
}

static enum err ready_indexes(struct elasticsearch_state *s, size_t count, uint64_t deadline_ns)
{
    enum err err = OK;
    for (size_t i = 0; i < count && !err; i++) {
        struct elasticsearch_index *index = &s->indexes.list[s->sender.outbox.items[i].tag];
        if (!index->is_ready)
            err = ready_index(s, index, deadline_ns);
    }
    return err;
}

static void handle_result(void *user, size_t place, unsigned status, const char *type, const char *reason)
{
    struct elasticsearch_state *s = user;
    struct outbox_item *item = &s->sender.outbox.items[place];
    struct curl_client *client = &s->sender.client;
    char excerpt[240];
    if ((status >= 200 && status < 300) || status == 409) { /* 409: it exists already */
        item->is_done = true;
        return;
    }
    curl_client_excerpt(excerpt, sizeof excerpt, bytes_of(reason));
    if (status == 404) {
        s->indexes.list[item->tag].is_ready = false;
        s->is_lost = true;
    } else if (status == 401 || status == 403 || status == 429 || status >= 500 || status == 0) {
        s->busy++;
        curl_client_set_error(client, "%s did not accept all documents: %u for index %s (%s: %s)", client->shown, status,
                        s->indexes.list[item->tag].name, type, excerpt);
    } else {
        http_sender_reject(&s->sender, item);
        curl_client_set_error(client, "%s rejected documents: %u for index %s (%s: %s)", client->shown, status,
                        s->indexes.list[item->tag].name, type, excerpt);
    }
}

static enum err handle_response(struct elasticsearch_state *s, size_t count)
{
    struct curl_client *client = &s->sender.client;
    struct bytes text = { buf_text(&s->sender.answer.body), s->sender.answer.body.size };
    size_t items;
    bool failed;
    char excerpt[160];
    s->busy = 0;
    s->is_lost = false;
    enum err err = elasticsearch_response_bulk(text, NULL, NULL, &items, &failed);
    if (err || (failed && items != count)) {
        curl_client_excerpt(excerpt, sizeof excerpt, text);
        curl_client_set_error(client, "%s returned \"%s\" for documents: not a response of Elasticsearch", client->shown,
                        excerpt);
        return IO;
    }
    if (failed)
        elasticsearch_response_bulk(text, handle_result, s, &items, &failed);
    else
        http_sender_mark_delivered(&s->sender, count);
    return s->busy || s->is_lost ? AGAIN : OK;
}

static enum err elasticsearch_post(void *sink, size_t count, size_t bytes, uint64_t deadline_ns)
{
    struct elasticsearch_state *s = sink;
    char path[256] = "/_bulk?filter_path=errors,items.*.status,items.*.error";
    struct curl_request request = { .method = "POST", .path = path, .content_type = "application/x-ndjson",
                                    .body = { s->sender.outbox.bytes.data, bytes } };
    enum err err = s->major ? OK : get_version(s, deadline_ns);
    if (!err)
        err = ready_indexes(s, count, deadline_ns);
    if (!err && s->type_now) /* default type of all documents */
        snprintf(path, sizeof path, "/%.60s/%.100s/_bulk?filter_path=errors,items.*.status,items.*.error",
                 s->indexes.list[s->sender.outbox.items[0].tag].name, s->type_now);
    if (!err)
        err = curl_client_send(&s->sender.client, &request, &s->sender.answer, deadline_ns);
    if (!err)
        err = curl_client_check_status(&s->sender.client, &request, &s->sender.answer);
    if (!err)
        err = handle_response(s, count);
    if (err == IO || (err && !s->sender.answer.status)) /* no response, or none of Elasticsearch */
        s->major = 0;
    return err;
}

static enum err check_layout(struct elasticsearch_state *s)
{
    s->is_colmet = strcmp(s->layout, "colmet") == 0;
    if (s->is_colmet || strcmp(s->layout, "sonde") == 0)
        return OK;
    curl_client_set_error(&s->sender.client, "invalid layout '%s' (expected sonde or colmet)", s->layout);
    return USAGE;
}

static enum err elasticsearch_check(void *state)
{
    struct elasticsearch_state *s = state;
    enum err err = check_layout(s);
    return err ? err : curl_client_check(&s->sender.client);
}

static enum err elasticsearch_open(void *state)
{
    struct elasticsearch_state *s = state;
    s->sender.post = elasticsearch_post;
    s->sender.sink = s;
    s->sender.client.scheme = "ApiKey";
    enum err err = check_layout(s);
    if (err)
        return err;
    s->indexes.prefix = s->prefix ? s->prefix : s->is_colmet ? "colmet_" : "sonde_";
    err = http_sender_open(&s->sender);
    if (!err && s->is_colmet && (err = elasticsearch_colmet_open(&s->colmet)))
        http_sender_close(&s->sender);
    return err;
}

static enum err elasticsearch_write(void *state, const struct batch *batch)
{
    struct elasticsearch_state *s = state;
    size_t before = s->sender.outbox.count;
    if (http_sender_has(&s->sender, batch))
        return OK;
    enum err err = s->is_colmet ? elasticsearch_colmet_add(&s->colmet, &s->sender.outbox, &s->indexes, batch)
                                : elasticsearch_documents_add(&s->sender.outbox, &s->indexes, batch);
    return http_sender_end_batch(&s->sender, batch, before, err);
}

static enum err elasticsearch_flush(void *state, uint64_t deadline_ns)
{
    return http_sender_flush(&((struct elasticsearch_state *)state)->sender, deadline_ns);
}

static void elasticsearch_watch_stop(void *state, const atomic_ullong *stop_ns)
{
    ((struct elasticsearch_state *)state)->sender.client.stop_ns = stop_ns;
}

static void elasticsearch_close(void *state)
{
    struct elasticsearch_state *s = state;
    http_sender_close(&s->sender);
    elasticsearch_colmet_close(&s->colmet);
    elasticsearch_indexes_clear(&s->indexes);
}

static const char *elasticsearch_message(const void *state)
{
    return ((const struct elasticsearch_state *)state)->sender.client.error;
}

static uint64_t elasticsearch_refused(const void *state)
{
    return ((const struct elasticsearch_state *)state)->sender.refused;
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
    .watch_stop = elasticsearch_watch_stop,
    .message = elasticsearch_message,
    .refused = elasticsearch_refused,
    .may_block = true,
    .is_unprivileged = true,
};
