/* Samples to Kafka: a message for each, keyed by its job. They wait in a box until the brokers have said that they have them;
 * each says who it is, so that one that comes twice after a crash can be dropped. */
#include "sinks/module.h"

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

struct kafka_state {
    const char *topic, *format, *names, *idempotent, *exactly_once;
    uint64_t queue_bytes, timeout_ns, states_ns;
    struct kafka_producer producer;
    struct kafka_box box;
    struct kafka_topics topics;
    struct kafka_rows rows;
    struct ldms_batch ldms;        /* of names=ldms: rows as it has them */
    struct kafka_records *records; /* format=wire; NULL: rows */
    struct buf body;
    uint64_t refused;          /* records, when they were last looked at */
    uint64_t position;         /* of the last batch that is in the box, or has arrived; 0: none */
    uint64_t stream, sequence; /* for batches straight from the sensors, which have none */
    char host[256];            /* the same */
};

static const struct setting kafka_settings[] = {
    { "brokers", SETTING_TEXT, "localhost:9092", offsetof(struct kafka_state, producer.conf.brokers),
      "where to begin: HOST:PORT, several with ';' between" },
    { "topic", SETTING_TEXT, NULL, offsetof(struct kafka_state, topic),
      "name of the topic, %{set} in it stands for the set; sonde.%{set} when it is not given, sonde.wire for format=wire" },
    { "format", SETTING_TEXT, "json", offsetof(struct kafka_state, format),
      "json, msgpack, or wire: whole records, for sonde collect --from-kafka" },
    { "names", SETTING_TEXT, "sonde", offsetof(struct kafka_state, names), "of fields: sonde, or ldms as in LDMS's CSV" },
    { "compression", SETTING_TEXT, "lz4", offsetof(struct kafka_state, producer.compression), "none, gzip, snappy, lz4, zstd" },
    { "idempotent", SETTING_TEXT, "auto", offsetof(struct kafka_state, idempotent),
      "yes: only to brokers that drop doubles themselves; no; auto: where they can" },
    { "exactly_once", SETTING_TEXT, "auto", offsetof(struct kafka_state, exactly_once),
      "no duplicates after a crash, by transactions (brokers from 0.11 on): yes: send nothing without them; no; auto: where the "
      "brokers have them, else at least once" },
    { "headers", SETTING_FLAG, "yes", offsetof(struct kafka_state, producer.headers),
      "host, stream, sequence and place as headers too" },
    { "queue", SETTING_BYTES, "64MiB", offsetof(struct kafka_state, queue_bytes), "how much may wait for the brokers" },
    { "timeout", SETTING_DURATION, "30s", offsetof(struct kafka_state, timeout_ns), "how long to wait for them at a time" },
    { "states", SETTING_DURATION, "30s", offsetof(struct kafka_state, states_ns),
      "format=wire: how often a record has all newest values with it, so that a reader can begin there" },
    { "options", SETTING_TEXT, NULL, offsetof(struct kafka_state, producer.conf.options),
      "any properties of librdkafka: NAME=VALUE, several with ';' between" },
    { "config", SETTING_TEXT, NULL, offsetof(struct kafka_state, producer.conf.config),
      "a file of such properties, one a line: for what is secret" },
    { 0 },
};

static enum err wrong(struct kafka_state *s, const char *key, const char *value, const char *allowed)
{
    snprintf(s->producer.why, sizeof s->producer.why, "there is no %s %s: %s", key, value, allowed);
    return USAGE;
}

static enum err read_wish(struct kafka_state *s, const char *key, const char *value, enum kafka_wish *wish)
{
    *wish = value[0] == 'y' ? KAFKA_ALWAYS : value[0] == 'n' ? KAFKA_NEVER : KAFKA_WHERE_IT_CAN;
    return strcmp(value, "auto") == 0 || strcmp(value, "yes") == 0 || strcmp(value, "no") == 0
        ? OK : wrong(s, key, value, "yes, no or auto");
}

static enum err read_wishes(struct kafka_state *s)
{
    struct kafka_producer *p = &s->producer;
    enum err err = read_wish(s, "idempotent", s->idempotent, &p->idempotence);
    if (!err)
        err = read_wish(s, "exactly_once", s->exactly_once, &p->exactly_once);
    p->is_at_least_once = p->idempotence == KAFKA_NEVER; /* transactions need it */
    if (err || !p->is_at_least_once || p->exactly_once != KAFKA_ALWAYS)
        return err;
    snprintf(p->why, sizeof p->why, "exactly_once=yes needs transactions, which idempotent=no rules out: remove one of the two");
    return USAGE;
}

static enum err read_settings(struct kafka_state *s, enum kafka_format *format, bool *ldms)
{
    static const char *const formats[] = { [KAFKA_JSON] = "json", [KAFKA_MSGPACK] = "msgpack", [KAFKA_WIRE] = "wire" };
    for (*format = KAFKA_JSON; *format <= KAFKA_WIRE && strcmp(s->format, formats[*format]) != 0; (*format)++)
        ;
    if (*format > KAFKA_WIRE)
        return wrong(s, "format", s->format, "json, msgpack or wire");
    *ldms = strcmp(s->names, "ldms") == 0;
    if (!*ldms && strcmp(s->names, "sonde") != 0)
        return wrong(s, "names", s->names, "sonde or ldms");
    return read_wishes(s);
}

static enum err kafka_check(void *state)
{
    struct kafka_state *s = state;
    enum kafka_format format;
    bool ldms;
    enum err err = read_settings(s, &format, &ldms);
    if (!err && (!s->queue_bytes || !s->timeout_ns)) {
        snprintf(s->producer.why, sizeof s->producer.why, "queue is a size, as 64MiB, and timeout a time, as 30s: neither is 0");
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
    kafka_box_init(&s->box, s->queue_bytes);
    err = kafka_topics_find(&s->topics, "marks", &s->producer.marks_topic);
    if (!err)
        err = format == KAFKA_WIRE ? kafka_records_new(&s->records, s->states_ns) : OK;
    if (!err)
        err = kafka_producer_open(&s->producer, &s->box);
    if (err) {
        kafka_records_free(&s->records);
        kafka_topics_clear(&s->topics);
        return err;
    }
    kafka_rows_init(&s->rows, format, ldms);
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

static struct kafka_mark mark_of(const struct kafka_state *s, const struct batch *batch)
{
    bool has_own = batch->stream || batch->sequence;
    return (struct kafka_mark){ .host = batch->host ? batch->host : s->host,
                                .stream = has_own ? batch->stream : s->stream,
                                .sequence = has_own ? batch->sequence : s->sequence + 1 };
}

static enum err add_row(struct kafka_state *s, const struct batch *batch, const struct kafka_mark *mark, size_t place)
{
    const char *topic;
    struct kafka_name name = { .host = bytes_of(mark->host), .key = bytes_of(kafka_rows_key(batch, mark, place)),
                               .stream = mark->stream, .sequence = mark->sequence, .place = place,
                               .position = batch->position };
    const char *set = kafka_rows_set(batch, place);
    enum err err = kafka_topics_find(&s->topics, s->rows.ldms ? ldms_set_name(set) : set, &topic);
    buf_reset(&s->body);
    kafka_rows_add(&s->rows, batch, mark, place, &s->body);
    if (!err)
        err = buf_err(&s->body);
    return err ? err : kafka_box_add(&s->box, topic, &name, (struct bytes){ s->body.data, s->body.size });
}

static enum err add_record(struct kafka_state *s, const struct batch *batch, const struct kafka_mark *mark)
{
    const char *topic;
    struct kafka_name name = { .host = bytes_of(mark->host), .key = bytes_of(mark->host), .stream = mark->stream,
                               .sequence = mark->sequence, .position = batch->position };
    enum err err = kafka_topics_find(&s->topics, "wire", &topic);
    buf_reset(&s->body);
    if (!err)
        err = kafka_records_add(s->records, batch, mark, &s->body);
    return err ? err : kafka_box_add(&s->box, topic, &name, (struct bytes){ s->body.data, s->body.size });
}

/* What does not fit now may fit when something has gone; what would not fit into an empty box never does. */
static enum err no_room(struct kafka_state *s, enum err err)
{
    kafka_box_take_back(&s->box);
    if (err != FULL)
        return err;
    if (!s->box.count) {
        snprintf(s->producer.why, sizeof s->producer.why, "a batch is larger than the queue, which is %llu MiB",
                 (unsigned long long)s->queue_bytes >> 20);
        return FULL;
    }
    kafka_producer_flush(&s->producer, clock_monotonic_ns() + s->timeout_ns);
    return AGAIN;
}

static enum err say_silent(struct kafka_state *s, enum err err)
{
    if (err && !*s->producer.why)
        snprintf(s->producer.why, sizeof s->producer.why, "the brokers %.200s have not answered yet", s->producer.conf.brokers);
    return err;
}

/* A record that is there must not be made again: those that follow would build on it, and not on the one that is there. */
static enum err find_record(struct kafka_state *s, const struct batch *batch, bool *is_there)
{
    struct kafka_producer *p = &s->producer;
    enum err err = s->box.count ? OK : kafka_producer_learn(p, clock_monotonic_ns() + s->timeout_ns);
    *is_there = !err && batch->position <= p->done_until;
    return say_silent(s, err);
}

static enum err kafka_write(void *state, const struct batch *batch)
{
    struct kafka_state *s = state;
    struct kafka_mark mark = mark_of(s, batch);
    bool is_there = batch->position && (batch->position <= s->position || batch->position <= s->producer.done_until);
    enum err err = OK;
    if (s->records && batch->position && !is_there)
        err = find_record(s, batch, &is_there);
    if (err || is_there)
        return err; /* or it came again after a failure that was not its own */
    if (s->records && s->refused != s->producer.refused) {
        s->refused = s->producer.refused;
        kafka_records_begin_anew(s->records);
    }
    if (s->records)
        err = add_record(s, batch, &mark);
    else if (s->rows.ldms)
        err = ldms_batch_make(&s->ldms, batch, &batch);
    for (size_t place = 0; !s->records && place < kafka_rows_count(batch) && !err; place++)
        err = add_row(s, batch, &mark, place);
    if (err)
        return no_room(s, err);
    kafka_box_keep(&s->box);
    if (batch->position)
        s->position = batch->position;
    if (mark.stream == s->stream)
        s->sequence++;
    kafka_producer_turn(&s->producer, 0);
    return OK;
}

static enum err kafka_flush(void *state, uint64_t deadline_ns)
{
    struct kafka_state *s = state;
    uint64_t until_ns = deadline_ns ? deadline_ns : clock_monotonic_ns() + s->timeout_ns;
    return say_silent(s, kafka_producer_flush(&s->producer, until_ns));
}

static void kafka_close(void *state)
{
    struct kafka_state *s = state;
    kafka_producer_close(&s->producer);
    kafka_box_clear(&s->box);
    kafka_topics_clear(&s->topics);
    kafka_rows_clear(&s->rows);
    ldms_batch_clear(&s->ldms);
    kafka_records_free(&s->records);
    buf_clear(&s->body);
}

static const char *kafka_message(const void *state)
{
    return ((const struct kafka_state *)state)->producer.why;
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
    .may_block = true,
};

SINK_MODULE_EXPORT(&sink_kafka);
