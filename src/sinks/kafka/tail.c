/* A consumer without a group, for all partitions at once. A partition is read when the broker says that it has no more; all are
 * when nothing has come for a second then, or, where others write too, after three. */
#include "sinks/kafka/tail.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STILL_NS (1 * NS_PER_S)
#define STILL_MAX_NS (3 * NS_PER_S)
#define TURN_MS 50
#define MESSAGES_MIN 65536u /* of one partition: what a sender is not sure of lies near the place */

struct part {
    struct kafka_tail *tail;
    rd_kafka_topic_t *topic; /* borrowed */
    size_t topic_at;         /* in the places */
    int32_t number;
    uint64_t count;
    bool is_read, is_started;
};

struct kafka_tail {
    struct kafka_tail_settings settings;
    rd_kafka_t *kafka;
    rd_kafka_queue_t *queue;
    rd_kafka_topic_t **topics; /* as in the places */
    size_t topic_count;
    struct part *parts;
    size_t part_count, unread;
    uint64_t part_max;         /* messages */
    uint64_t read_ns, last_ns; /* CLOCK_MONOTONIC: when the last partition was read; when a message came after that */
    uint64_t count;
    bool was_cut;
};

static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text)
{
    (void)kafka, (void)level, (void)facility, (void)text; /* that a consumer does not need this property of a producer's */
}

static enum err make_consumer(struct kafka_tail *tail, char *why, size_t why_size)
{
    const char *const defaults[] = {
        "client.id", "sonde", "enable.partition.eof", "true", "auto.offset.reset", "error", "fetch.wait.max.ms", "50",
        "fetch.error.backoff.ms", "100", "queued.max.messages.kbytes", "16384", "topic.metadata.refresh.fast.interval.ms", "100",
        "reconnect.backoff.max.ms", "2000", NULL,
    };
    rd_kafka_conf_t *conf;
    enum err err = kafka_conf_new(&conf, tail->settings.conf, defaults, why, why_size);
    if (err)
        return err;
    rd_kafka_conf_set_log_cb(conf, on_log);
    tail->kafka = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, why_size);
    if (!tail->kafka) {
        rd_kafka_conf_destroy(conf);
        return USAGE;
    }
    tail->queue = rd_kafka_queue_new(tail->kafka);
    return OK;
}

static enum err complain(const char *topic, rd_kafka_resp_err_t code, char *why, size_t why_size)
{
    bool is_denied = code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    snprintf(why, why_size, "to look back in topic %.120s: %s%s", topic, rd_kafka_err2str(code),
             is_denied ? ". Allow READ on it" : "");
    return is_denied ? DENIED : IO;
}

/* Partitions may have been added to it: those begin at their beginning. */
static enum err learn_topic(struct kafka_tail *tail, size_t at, int timeout_ms, char *why, size_t why_size)
{
    const struct rd_kafka_metadata *answer = NULL;
    struct kafka_places *places = tail->settings.places;
    tail->topics[at] = rd_kafka_topic_new(tail->kafka, places->topics[at].name, NULL);
    if (!tail->topics[at])
        return NOMEM;
    tail->topic_count = at + 1;
    rd_kafka_resp_err_t code = rd_kafka_metadata(tail->kafka, 0, tail->topics[at], &answer, timeout_ms);
    if (!code)
        code = answer->topic_cnt == 1 ? answer->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    enum err err = code ? complain(places->topics[at].name, code, why, why_size)
                        : kafka_places_add(places, places->topics[at].name, (size_t)answer->topics[0].partition_cnt, 0);
    if (answer)
        rd_kafka_metadata_destroy(answer);
    return err;
}

static enum err learn_topics(struct kafka_tail *tail, int timeout_ms, char *why, size_t why_size)
{
    const struct kafka_places *places = tail->settings.places;
    tail->topics = calloc(places->count + 1, sizeof(rd_kafka_topic_t *));
    enum err err = tail->topics ? OK : NOMEM;
    for (size_t i = 0; i < places->count && !err; i++)
        err = learn_topic(tail, i, timeout_ms, why, why_size);
    return err;
}

static enum err start_part(struct part *part, int64_t offset, char *why, size_t why_size)
{
    if (rd_kafka_consume_start_queue(part->topic, part->number, offset, part->tail->queue))
        return complain(rd_kafka_topic_name(part->topic), rd_kafka_last_error(), why, why_size);
    part->is_started = true;
    return OK;
}

static enum err start_parts(struct kafka_tail *tail, char *why, size_t why_size)
{
    const struct kafka_places *places = tail->settings.places;
    size_t count = kafka_places_partitions(places);
    enum err err = OK;
    tail->parts = calloc(count + 1, sizeof *tail->parts);
    if (!tail->parts)
        return NOMEM;
    tail->part_max = tail->settings.seen->max / (count + 1) + MESSAGES_MIN;
    for (size_t i = 0; i < places->count; i++)
        for (size_t n = 0; n < places->topics[i].count && !err; n++) {
            struct part *part = &tail->parts[tail->part_count++];
            *part = (struct part){ .tail = tail, .topic = tail->topics[i], .topic_at = i, .number = (int32_t)n };
            err = start_part(part, places->topics[i].offsets[n], why, why_size);
        }
    tail->unread = tail->part_count;
    return err;
}

enum err kafka_tail_open(struct kafka_tail **tail, const struct kafka_tail_settings *settings, int timeout_ms, char *why,
                         size_t why_size)
{
    struct kafka_tail *new = *tail = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->settings = *settings;
    kafka_seen_clear(settings->seen);
    enum err err = make_consumer(new, why, why_size);
    if (!err)
        err = learn_topics(new, timeout_ms, why, why_size);
    if (!err)
        err = start_parts(new, why, why_size);
    if (err)
        kafka_tail_close(tail);
    return err;
}

void kafka_tail_close(struct kafka_tail **tail)
{
    struct kafka_tail *old = *tail;
    if (!old)
        return;
    for (size_t i = 0; i < old->part_count; i++)
        if (old->parts[i].is_started)
            rd_kafka_consume_stop(old->parts[i].topic, old->parts[i].number);
    for (size_t i = 0; i < old->topic_count; i++)
        rd_kafka_topic_destroy(old->topics[i]);
    if (old->queue)
        rd_kafka_queue_destroy(old->queue);
    if (old->kafka)
        rd_kafka_destroy(old->kafka);
    free(old->topics);
    free(old->parts);
    free(old);
    *tail = NULL;
}

static struct part *part_of(const struct kafka_tail *tail, const rd_kafka_message_t *message)
{
    for (size_t i = 0; message->rkt && i < tail->part_count; i++)
        if (tail->parts[i].number == message->partition && tail->parts[i].topic == message->rkt)
            return &tail->parts[i];
    return NULL;
}

static void note_read(struct part *part)
{
    if (part->is_read)
        return;
    part->is_read = true;
    if (!--part->tail->unread)
        part->tail->read_ns = clock_monotonic_ns();
}

static void stop_part(struct part *part)
{
    rd_kafka_consume_stop(part->topic, part->number);
    part->is_started = false;
}

/* Said once for each: the broker has thrown away, or lost, what was at our place. */
static enum err move_part(struct part *part, char *why, size_t why_size)
{
    int64_t low, high, *place = &part->tail->settings.places->topics[part->topic_at].offsets[part->number];
    const char *topic = rd_kafka_topic_name(part->topic);
    rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(part->tail->kafka, topic, part->number, &low, &high, 1000);
    if (code)
        return complain(topic, code, why, why_size);
    if (*place > high)
        log_warn("Kafka has lost messages that it had: topic %s, partition %d ends at %lld, and had %lld", topic,
                 (int)part->number, (long long)high, (long long)*place);
    else if (*place < low)
        log_warn("what was under way to Kafka may be there twice: topic %s, partition %d has dropped %lld messages since, by its "
                 "retention", topic, (int)part->number, (long long)(low - *place));
    *place = *place < low ? low : *place > high ? high : *place;
    stop_part(part);
    return start_part(part, *place, why, why_size);
}

/* There is more than anybody needs to look at. */
static void cut_part(struct part *part, const char *reason)
{
    if (!part->tail->was_cut)
        log_warn("what was under way to Kafka may be there twice: topic %s, partition %d has %s",
                 rd_kafka_topic_name(part->topic), (int)part->number, reason);
    part->tail->was_cut = true;
    stop_part(part);
    note_read(part);
}

static enum err take_message(struct part *part, const rd_kafka_message_t *message)
{
    struct kafka_tail *tail = part->tail;
    struct bytes key = { message->key, message->key_len }, body = { message->payload, message->len };
    if (!part->is_started)
        return OK; /* fetched before it was stopped */
    tail->count++;
    tail->last_ns = clock_monotonic_ns();
    if (part->count++ >= tail->part_max) {
        cut_part(part, "more messages since than are looked at");
        return OK;
    }
    enum err err = kafka_seen_add(tail->settings.seen, kafka_identity_of(tail->settings.is_records, key, body));
    if (err != FULL)
        return err;
    cut_part(part, "too many messages since, with those of the others");
    return OK;
}

/* What librdkafka mends by itself, as a broker that is away, is no end: it goes on trying. */
static enum err take(struct kafka_tail *tail, const rd_kafka_message_t *message, char *why, size_t why_size)
{
    struct part *part = part_of(tail, message);
    rd_kafka_resp_err_t code = message->err;
    if (!part)
        return OK;
    if (!code)
        return take_message(part, message);
    if (code == RD_KAFKA_RESP_ERR__PARTITION_EOF)
        note_read(part);
    else if (code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
        return move_part(part, why, why_size);
    else if (complain(rd_kafka_topic_name(part->topic), code, why, why_size) == DENIED)
        return DENIED;
    return OK;
}

static bool is_still(const struct kafka_tail *tail, uint64_t now_ns)
{
    uint64_t last_ns = tail->last_ns > tail->read_ns ? tail->last_ns : tail->read_ns;
    return !tail->unread && (now_ns - last_ns >= STILL_NS || now_ns - tail->read_ns >= STILL_MAX_NS);
}

enum err kafka_tail_read(struct kafka_tail *tail, uint64_t deadline_ns, char *why, size_t why_size)
{
    enum err err = OK;
    if (!tail->part_count)
        return OK;
    while (!err) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(tail->queue, TURN_MS);
        if (message) {
            err = take(tail, message, why, why_size);
            rd_kafka_message_destroy(message);
        }
        uint64_t now_ns = clock_monotonic_ns();
        if (!err && is_still(tail, now_ns))
            return OK;
        if (!err && now_ns >= deadline_ns)
            return AGAIN;
    }
    return err;
}

uint64_t kafka_tail_count(const struct kafka_tail *tail)
{
    return tail->count;
}
