/* The sink `prometheus`: remote write 1.0 to Prometheus, VictoriaMetrics, Mimir and others. Prometheus accepts
 * samples of a series in order of time only, and rejects a request with an older one; an exact repetition of the
 * last sample is accepted. So a request holds at most one batch per host, which makes it safe to send again. */
#include "base/hash.h"
#include "sinks/sink.h"

#include "sinks/http_sender.h"
#include "sinks/prometheus/remote_write.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#define HOST_BITS 16 /* bits of a host's hash */

struct prometheus_state {
    const char *labels;
    struct http_sender sender;
    struct remote_write write;
    char *labels_copy;
    struct buf packed;
    uint32_t batches; /* counter */
    uint8_t hosts[(1u << HOST_BITS) / 8];   /* hosts in the request, by hash */
    uint8_t delivered[(1u << HOST_BITS) / 8]; /* hosts with a delivered sample since the start, by hash */
};

static const struct setting prometheus_settings[] = {
    CURL_CLIENT_SETTINGS(struct prometheus_state, sender.client,
                         "remote-write endpoint: http://HOST:9090/api/v1/write", "token"),
    { "labels", SETTING_TEXT, NULL, offsetof(struct prometheus_state, labels),
      "labels added to every series: NAME:VALUE;NAME:VALUE" },
    { 0 },
};

static uint32_t hash_of(const char *host)
{
    uint64_t hash = hash_add_text(HASH_START, host);
    return (uint32_t)(hash ^ hash >> 32) & ((1u << HOST_BITS) - 1);
}

/* The number of first items with at most one batch per host. The upper half of a tag is the host, the lower half the
 * batch. */
static size_t one_batch_per_host(struct prometheus_state *s, size_t count, size_t *bytes)
{
    const struct outbox_item *items = s->sender.outbox.items;
    memset(s->hosts, 0, sizeof s->hosts);
    *bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t host = items[i].tag >> HOST_BITS;
        bool is_new = i == 0 || items[i].tag != items[i - 1].tag;
        if (is_new && s->hosts[host / 8] & 1u << host % 8)
            return i;
        s->hosts[host / 8] |= (uint8_t)(1u << host % 8);
        *bytes += items[i].size;
    }
    return count;
}

/* After a crash the last batches are delivered again, and rejected as out of order because they are stored already. */
static bool is_stored_already(const struct prometheus_state *s)
{
    uint32_t host = s->sender.outbox.items[0].tag >> HOST_BITS;
    const char *text = buf_text(&s->sender.answer.body);
    return !(s->delivered[host / 8] & 1u << host % 8) && (strstr(text, "out of order") || strstr(text, "duplicate sample"));
}

static void mark_delivered(struct prometheus_state *s)
{
    for (size_t i = 0; i < s->sender.sent; i++) {
        uint32_t host = s->sender.outbox.items[i].tag >> HOST_BITS;
        s->delivered[host / 8] |= (uint8_t)(1u << host % 8);
    }
    http_sender_mark_delivered(&s->sender, s->sender.sent);
}

/* Without a response the request may have been stored: treat out of order errors as duplicates next time. */
static void forget_delivered(struct prometheus_state *s)
{
    for (size_t i = 0; i < s->sender.sent; i++) {
        uint32_t host = s->sender.outbox.items[i].tag >> HOST_BITS;
        s->delivered[host / 8] &= (uint8_t)~(1u << host % 8);
    }
}

static enum err compress(struct prometheus_state *s, size_t bytes)
{
    size_t size = snappy_max_compressed_length(bytes);
    buf_reset(&s->packed);
    char *to = buf_reserve(&s->packed, size);
    if (!to || snappy_compress(s->sender.outbox.bytes.data, bytes, to, &size) != SNAPPY_OK)
        return NOMEM;
    s->packed.size = size;
    return OK;
}

static enum err prometheus_post(void *sink, size_t count, size_t bytes, uint64_t deadline_ns)
{
    static const char *const headers[] = { "Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 0.1.0", NULL };
    struct prometheus_state *s = sink;
    struct curl_client *client = &s->sender.client;
    s->sender.sent = one_batch_per_host(s, count, &bytes);
    enum err err = compress(s, bytes);
    struct curl_request request = { .method = "POST", .path = "", .content_type = "application/x-protobuf", .headers = headers,
                                    .body = { s->packed.data, s->packed.size } };
    if (!err)
        err = curl_client_send(client, &request, &s->sender.answer, deadline_ns);
    if (!err)
        err = curl_client_check_status(client, &request, &s->sender.answer);
    if (!err)
        mark_delivered(s);
    else if (!s->sender.answer.status)
        forget_delivered(s);
    /* by the remote-write specification these reject the samples; other 4xx are configuration errors */
    if (err != IO || (s->sender.answer.status != 400 && s->sender.answer.status != 422))
        return err;
    s->sender.outbox.items[0].is_done = s->sender.sent == 1 && is_stored_already(s);
    return CORRUPT;
}

static bool is_label_name(const char *name)
{
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return *name >= 'a' && *name <= 'z' && name[size] == '\0';
}

/* "cluster:alpha;site:lyon" */
static enum err read_labels(struct prometheus_state *s)
{
    if (!s->labels)
        return OK;
    if (!(s->labels_copy = strdup(s->labels)))
        return NOMEM;
    for (char *next = s->labels_copy, *pair; (pair = strsep(&next, ";"));) {
        char *value = strchr(pair, ':');
        if (!*pair)
            continue;
        if (value)
            *value++ = '\0';
        if (!value || !is_label_name(pair) || s->write.fixed_count == REMOTE_WRITE_LABELS_MAX) {
            curl_client_set_error(&s->sender.client,
                                  "invalid label '%s' (expected NAME:VALUE, at most %d, NAME starting with a lower-case "
                                                     "letter)", pair, REMOTE_WRITE_LABELS_MAX);
            return USAGE;
        }
        s->write.fixed[s->write.fixed_count++] = (struct remote_write_label){ pair, value };
    }
    return OK;
}

static void free_state(struct prometheus_state *s)
{
    remote_write_clear(&s->write);
    buf_clear(&s->packed);
    free(s->labels_copy);
    s->labels_copy = NULL;
}

static enum err prometheus_check(void *state)
{
    struct prometheus_state *s = state;
    enum err err = read_labels(s);
    free(s->labels_copy);
    s->labels_copy = NULL;
    s->write.fixed_count = 0;
    return err ? err : curl_client_check(&s->sender.client);
}

static enum err prometheus_open(void *state)
{
    struct prometheus_state *s = state;
    s->sender.post = prometheus_post;
    s->sender.sink = s;
    buf_init(&s->packed, 2 * HTTP_SENDER_OUTBOX_MAX);
    enum err err = remote_write_init(&s->write, &s->sender.outbox.bytes);
    if (!err)
        err = read_labels(s);
    if (!err)
        err = http_sender_open(&s->sender);
    if (err)
        free_state(s);
    return err;
}

static enum err prometheus_write(void *state, const struct batch *batch)
{
    struct prometheus_state *s = state;
    struct outbox *outbox = &s->sender.outbox;
    size_t before = outbox->count;
    enum err err = OK;
    if (http_sender_has(&s->sender, batch))
        return OK;
    uint32_t tag = hash_of(batch->host) << HOST_BITS | (s->batches++ & ((1u << HOST_BITS) - 1));
    for (size_t i = 0; i < batch->count && !err; i++) {
        remote_write_sample(&s->write, batch, &batch->samples[i]);
        err = outbox_end_item(outbox, tag);
    }
    remote_write_jobs(&s->write, batch);
    if (!err)
        err = outbox_end_item(outbox, tag);
    return http_sender_end_batch(&s->sender, batch, before, err);
}

static enum err prometheus_flush(void *state, uint64_t deadline_ns)
{
    return http_sender_flush(&((struct prometheus_state *)state)->sender, deadline_ns);
}

static void prometheus_watch_stop(void *state, const atomic_ullong *stop_ns)
{
    ((struct prometheus_state *)state)->sender.client.stop_ns = stop_ns;
}

static void prometheus_close(void *state)
{
    struct prometheus_state *s = state;
    http_sender_close(&s->sender);
    free_state(s);
}

static const char *prometheus_message(const void *state)
{
    return ((const struct prometheus_state *)state)->sender.client.error;
}

static uint64_t prometheus_refused(const void *state)
{
    return ((const struct prometheus_state *)state)->sender.refused;
}

const struct sink sink_prometheus = {
    .name = "prometheus",
    .about = "remote write to Prometheus, VictoriaMetrics and compatible servers",
    .settings = prometheus_settings,
    .state_size = sizeof(struct prometheus_state),
    .check = prometheus_check,
    .open = prometheus_open,
    .write = prometheus_write,
    .flush = prometheus_flush,
    .close = prometheus_close,
    .watch_stop = prometheus_watch_stop,
    .message = prometheus_message,
    .refused = prometheus_refused,
    .may_block = true,
    .is_unprivileged = true,
};
