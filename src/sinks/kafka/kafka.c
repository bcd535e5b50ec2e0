/* The sink `kafka`: a message per sample, keyed by its job. Messages stay in a queue until the brokers have
 * acknowledged them; each carries an id, so that consumers can drop duplicates after a crash. */
#include "sinks/sink_module.h"

#include "base/clock.h"
#include "compat/ldms/names.h"
#include "compat/ldms/batch.h"
#include "sinks/kafka/producer.h"
#include "sinks/kafka/records.h"
#include "sinks/kafka/rows.h"
#include "sinks/kafka/topics.h"
#include "transport/kafka.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define MESSAGE_BYTES_MAX (20u << 20)
#define DISCONNECTED_NS (5 * NS_PER_S) /* then it is reported that the brokers cannot be reached */

struct kafka_state {
    const char *topic, *format, *names, *ldms_producer, *idempotent, *exactly_once;
    uint64_t queue_bytes, timeout_ns, states_ns;
    struct kafka_producer producer;
    struct kafka_queue queue;
    struct kafka_topics topics;
    struct kafka_rows rows;
    struct ldms_batch ldms;        /* names=ldms: the batch in LDMS's rows */
    struct kafka_records *records; /* format=wire; NULL: rows */
    struct buf body;
    uint64_t refused;          /* producer.refused at the last write */
    uint64_t position;         /* of the last batch that was queued; 0: none */
    uint64_t stream, sequence; /* ids for batches straight from the samplers, which have none */
    char host[256];            /* likewise */
};

static const struct setting kafka_settings[] = {
    { "brokers", SETTING_TEXT, "localhost:9092", offsetof(struct kafka_state, producer.conf.brokers),
      "bootstrap brokers: HOST:PORT;HOST:PORT" },
    { "topic", SETTING_TEXT, NULL, offsetof(struct kafka_state, topic),
      "topic; %{set} is replaced by the metric set; default: sonde.%{set}, or sonde.wire for format=wire" },
    { "format", SETTING_TEXT, "json", offsetof(struct kafka_state, format),
      "json, msgpack, or wire (whole records, for sonde collect --from-kafka)" },
    { "names", SETTING_TEXT, "sonde", offsetof(struct kafka_state, names), "field names: sonde, or ldms as in LDMS's CSV files" },
    { "producer", SETTING_TEXT, NULL, offsetof(struct kafka_state, ldms_producer),
      "names=ldms: ProducerName, for example %{user}-%{host}, with a row for each user of the node; default: %{host}" },
    { "compression", SETTING_TEXT, "lz4", offsetof(struct kafka_state, producer.compression), "none, gzip, snappy, lz4, zstd" },
    { "idempotent", SETTING_TEXT, "auto", offsetof(struct kafka_state, idempotent),
      "idempotent producer: yes (required), no, or auto (where the brokers support it)" },
    { "exactly_once", SETTING_TEXT, "auto", offsetof(struct kafka_state, exactly_once),
      "transactions, so that a crash causes no duplicates: yes (required), no, or auto (brokers from 0.11 on; others get "
      "at-least-once delivery)" },
    { "headers", SETTING_FLAG, "yes", offsetof(struct kafka_state, producer.headers),
      "add the message headers host, stream, sequence and place" },
    { "queue", SETTING_BYTES, "64MiB", offsetof(struct kafka_state, queue_bytes), "maximum size of the send queue" },
    { "timeout", SETTING_DURATION, "30s", offsetof(struct kafka_state, timeout_ns), "time limit for sending a batch" },
    { "states", SETTING_DURATION, "30s", offsetof(struct kafka_state, states_ns),
      "format=wire: interval of records with a snapshot of all values, where a reader can start" },
    { "options", SETTING_TEXT, NULL, offsetof(struct kafka_state, producer.conf.options),
      "librdkafka properties: NAME=VALUE;NAME=VALUE" },
    { "config", SETTING_TEXT, NULL, offsetof(struct kafka_state, producer.conf.config),
      "file of librdkafka properties, one per line, for secrets" },
    { 0 },
};

static enum err reject_setting(struct kafka_state *s, const char *key, const char *value, const char *allowed)
{
    snprintf(s->producer.error, sizeof s->producer.error, "invalid %s '%s' (expected %s)", key, value, allowed);
    return USAGE;
}

static enum err parse_mode(struct kafka_state *s, const char *key, const char *value, enum kafka_mode *mode)
{
    *mode = value[0] == 'y' ? KAFKA_ALWAYS : value[0] == 'n' ? KAFKA_NEVER : KAFKA_IF_SUPPORTED;
    return strcmp(value, "auto") == 0 || strcmp(value, "yes") == 0 || strcmp(value, "no") == 0
        ? OK : reject_setting(s, key, value, "yes, no or auto");
}

static enum err parse_modes(struct kafka_state *s)
{
    struct kafka_producer *p = &s->producer;
    enum err err = parse_mode(s, "idempotent", s->idempotent, &p->idempotence);
    if (!err)
        err = parse_mode(s, "exactly_once", s->exactly_once, &p->exactly_once);
    p->is_at_least_once = p->idempotence == KAFKA_NEVER; /* transactions require idempotence */
    if (err || !p->is_at_least_once || p->exactly_once != KAFKA_ALWAYS)
        return err;
    snprintf(p->error, sizeof p->error,
             "exactly_once=yes needs transactions, which idempotent=no rules out: remove one of the two");
    return USAGE;
}

static enum err check_ldms_producer(struct kafka_state *s, bool ldms)
{
    struct buf error;
    buf_init(&error, sizeof s->producer.error);
    enum err err = ldms ? ldms_producer_check(s->ldms_producer, &error) : USAGE;
    if (!ldms)
        buf_add_text(&error, "producer needs names=ldms");
    snprintf(s->producer.error, sizeof s->producer.error, "%s", buf_text(&error));
    buf_clear(&error);
    return err;
}

static enum err read_settings(struct kafka_state *s, enum kafka_format *format, bool *ldms)
{
    static const char *const formats[] = { [KAFKA_JSON] = "json", [KAFKA_MSGPACK] = "msgpack", [KAFKA_WIRE] = "wire" };
    for (*format = KAFKA_JSON; *format <= KAFKA_WIRE && strcmp(s->format, formats[*format]) != 0; (*format)++)
        ;
    if (*format > KAFKA_WIRE)
        return reject_setting(s, "format", s->format, "json, msgpack or wire");
    *ldms = strcmp(s->names, "ldms") == 0;
    if (!*ldms && strcmp(s->names, "sonde") != 0)
        return reject_setting(s, "names", s->names, "sonde or ldms");
    enum err err = s->ldms_producer ? check_ldms_producer(s, *ldms) : OK;
    return err ? err : parse_modes(s);
}

static enum err kafka_check(void *state)
{
    struct kafka_state *s = state;
    enum kafka_format format;
    bool ldms;
    enum err err = read_settings(s, &format, &ldms);
    if (!err && (!s->queue_bytes || !s->timeout_ns)) {
        snprintf(s->producer.error, sizeof s->producer.error, "queue and timeout must not be 0");
        return USAGE;
    }
    return err ? err : kafka_producer_check(&s->producer);
}

static enum err kafka_open(void *state)
{
    struct kafka_state *s = state;
    enum kafka_format format = KAFKA_JSON;
    bool ldms = false;
    enum err err = read_settings(s, &format, &ldms);
    if (err)
        return err;
    s->topics.pattern = s->topic ? s->topic : format == KAFKA_WIRE ? KAFKA_TOPIC_WIRE : "sonde.%{set}";
    kafka_queue_init(&s->queue, s->queue_bytes);
    err = kafka_topics_find(&s->topics, "marks", &s->producer.marks_topic);
    if (!err)
        err = format == KAFKA_WIRE ? kafka_records_new(&s->records, s->states_ns) : OK;
    if (!err)
        err = kafka_producer_open(&s->producer, &s->queue);
    if (err) {
        kafka_records_free(&s->records);
        kafka_topics_clear(&s->topics);
        return err;
    }
    kafka_rows_init(&s->rows, format, ldms);
    s->ldms.producer = s->ldms_producer;
    buf_init(&s->body, MESSAGE_BYTES_MAX);
    if (getrandom(&s->stream, sizeof s->stream, 0) != (ssize_t)sizeof s->stream)
        s->stream = clock_realtime_ns();
    if (gethostname(s->host, sizeof s->host - 1))
        s->host[0] = '\0';
    return OK;
}

static void kafka_source(void *state, const struct sink_source *source)
{
    struct kafka_producer *p = &((struct kafka_state *)state)->producer;
    snprintf(p->name, sizeof p->name, "%s", source->name);
    p->opening = source->opening;
    p->opened_at = source->opened_at;
}

static void kafka_watch_stop(void *state, const atomic_ullong *stop_ns)
{
    ((struct kafka_state *)state)->producer.stop_ns = stop_ns;
}

static struct kafka_batch_id batch_id_of(const struct kafka_state *s, const struct batch *batch)
{
    bool has_id = batch->stream || batch->sequence;
    return (struct kafka_batch_id){ .host = batch->host ? batch->host : s->host,
                                .stream = has_id ? batch->stream : s->stream,
                                .sequence = has_id ? batch->sequence : s->sequence + 1 };
}

static enum err add_row(struct kafka_state *s, const struct batch *batch, const struct kafka_batch_id *batch_id, size_t place)
{
    const char *topic;
    struct kafka_message_id name = { .host = bytes_of(batch_id->host), .key = bytes_of(kafka_rows_key(batch, batch_id, place)),
                               .stream = batch_id->stream, .sequence = batch_id->sequence, .place = place,
                               .position = batch->position };
    const char *set = kafka_rows_set(batch, place);
    enum err err = kafka_topics_find(&s->topics, s->rows.ldms ? ldms_set_name(set) : set, &topic);
    buf_reset(&s->body);
    kafka_rows_add(&s->rows, batch, batch_id, place, &s->body);
    if (!err)
        err = buf_err(&s->body);
    return err ? err : kafka_queue_add(&s->queue, topic, &name, (struct bytes){ s->body.data, s->body.size });
}

static enum err add_record(struct kafka_state *s, const struct batch *batch, const struct kafka_batch_id *batch_id)
{
    const char *topic;
    struct kafka_message_id name = { .host = bytes_of(batch_id->host), .key = bytes_of(batch_id->host),
                                     .stream = batch_id->stream,
                               .sequence = batch_id->sequence, .position = batch->position };
    enum err err = kafka_topics_find(&s->topics, "wire", &topic);
    buf_reset(&s->body);
    if (!err)
        err = kafka_records_add(s->records, batch, batch_id, &s->body);
    return err ? err : kafka_queue_add(&s->queue, topic, &name, (struct bytes){ s->body.data, s->body.size });
}

/* The queue is full: send, and let the caller try again. A batch that does not fit into an empty queue never will. */
static enum err handle_full(struct kafka_state *s, enum err err)
{
    kafka_queue_drop_batch(&s->queue);
    if (err != FULL)
        return err;
    if (!s->queue.count) {
        snprintf(s->producer.error, sizeof s->producer.error, "a batch exceeds the queue size of %llu MiB: raise queue",
                 (unsigned long long)s->queue_bytes >> 20);
        return FULL;
    }
    kafka_producer_flush(&s->producer, clock_monotonic_ns() + s->timeout_ns);
    return AGAIN;
}

static enum err explain_timeout(struct kafka_state *s, enum err err)
{
    if (err && !*s->producer.error)
        snprintf(s->producer.error, sizeof s->producer.error, "the brokers %.200s have not answered yet",
                 s->producer.conf.brokers);
    return err;
}

/* A record that was committed must not be encoded again: the following ones would be deltas to the new encoding. */
static enum err is_committed(struct kafka_state *s, const struct batch *batch, bool *is_done)
{
    struct kafka_producer *p = &s->producer;
    enum err err = s->queue.count ? OK : kafka_producer_find_committed(p, clock_monotonic_ns() + s->timeout_ns);
    *is_done = !err && batch->position <= p->done_until;
    return explain_timeout(s, err);
}

static enum err make_ldms_rows(struct kafka_state *s, const struct batch **batch, const char *host)
{
    struct batch named = **batch;
    named.host = host;
    enum err err = ldms_batch_make(&s->ldms, &named, batch);
    s->rows.ldms_rows = s->ldms.rows;
    return err;
}

static enum err kafka_write(void *state, const struct batch *batch)
{
    struct kafka_state *s = state;
    struct kafka_batch_id batch_id = batch_id_of(s, batch);
    bool is_done = batch->position && (batch->position <= s->position || batch->position <= s->producer.done_until);
    enum err err = OK;
    if (s->records && batch->position && !is_done)
        err = is_committed(s, batch, &is_done);
    if (err || is_done)
        return err; /* queued before, and delivered again after another batch failed */
    if (s->records && s->refused != s->producer.refused) {
        s->refused = s->producer.refused;
        kafka_records_reset(s->records);
    }
    if (s->records)
        err = add_record(s, batch, &batch_id);
    else if (s->rows.ldms)
        err = make_ldms_rows(s, &batch, batch_id.host);
    for (size_t place = 0; !s->records && place < kafka_rows_count(batch) && !err; place++)
        err = add_row(s, batch, &batch_id, place);
    if (err)
        return handle_full(s, err);
    kafka_queue_commit_batch(&s->queue);
    if (batch->position)
        s->position = batch->position;
    if (batch_id.stream == s->stream)
        s->sequence++;
    kafka_producer_poll(&s->producer, 0);
    return OK;
}

static enum err kafka_flush(void *state, uint64_t deadline_ns)
{
    struct kafka_state *s = state;
    uint64_t now_ns = clock_monotonic_ns(), until_ns = deadline_ns ? deadline_ns : now_ns + s->timeout_ns;
    uint64_t soon_ns = now_ns + DISCONNECTED_NS < until_ns ? now_ns + DISCONNECTED_NS : until_ns;
    enum err err = kafka_producer_flush(&s->producer, soon_ns);
    if (err == AGAIN && !s->producer.is_disconnected)
        err = kafka_producer_flush(&s->producer, until_ns);
    return explain_timeout(s, err);
}

static void kafka_close(void *state)
{
    struct kafka_state *s = state;
    kafka_producer_close(&s->producer);
    kafka_queue_clear(&s->queue);
    kafka_topics_clear(&s->topics);
    kafka_rows_clear(&s->rows);
    ldms_batch_clear(&s->ldms);
    kafka_records_free(&s->records);
    buf_clear(&s->body);
}

static const char *kafka_message(const void *state)
{
    return ((const struct kafka_state *)state)->producer.error;
}

static uint64_t kafka_refused(const void *state)
{
    return ((const struct kafka_state *)state)->producer.refused;
}

static const struct sink sink_kafka = {
    .name = "kafka",
    .about = "messages to Kafka, keyed by job: JSON or MessagePack",
    .settings = kafka_settings,
    .state_size = sizeof(struct kafka_state),
    .check = kafka_check,
    .open = kafka_open,
    .write = kafka_write,
    .flush = kafka_flush,
    .close = kafka_close,
    .message = kafka_message,
    .refused = kafka_refused,
    .source = kafka_source,
    .watch_stop = kafka_watch_stop,
    .may_block = true,
    .is_unprivileged = true,
};

SINK_MODULE_EXPORT(&sink_kafka);
