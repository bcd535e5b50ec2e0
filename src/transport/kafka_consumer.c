/* A member of a consumer group. Where it is in each partition is told to the brokers only when what came before is safe
 * elsewhere; what was not is given again, to it or to whoever has the partition then. Part of sink-kafka.so. */
#include "transport/kafka.h"

#include "base/clock.h"
#include "transport/kafka_conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define REWIND_FIRST 4096 /* messages */
#define SEEK_MS 5000
#define ANSWER_MS 3000
#define LEAVE_NS (10 * NS_PER_S)

struct place {
    int32_t partition;
    int64_t taken, marked, committed; /* offset behind the last message that was given, …; -1: none yet */
    int64_t until;                    /* what is before it was given before; -1: nothing was */
    int64_t from, distance;           /* where the last look back began, and how far that was; 0: none */
    bool is_whole;                    /* it began at the oldest message that there is */
};

struct kafka_consumer {
    struct kafka_source source;
    char *topic;
    rd_kafka_t *kafka;
    rd_kafka_queue_t *queue;
    int fd;
    rd_kafka_message_t *message; /* the last one that was given */
    bool is_back;                /* it is given again */
    struct place *places;
    size_t count;
    struct kafka_consumer_figures figures;
};

static struct place *place_of(struct kafka_consumer *consumer, int32_t partition)
{
    for (size_t i = 0; i < consumer->count; i++)
        if (consumer->places[i].partition == partition)
            return &consumer->places[i];
    return NULL;
}

static void on_committed(rd_kafka_t *kafka, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque)
{
    (void)kafka, (void)list;
    *(rd_kafka_resp_err_t *)opaque = err;
}

/* Waits for the answer, but not for brokers that have stopped to answer. */
static rd_kafka_resp_err_t commit_now(struct kafka_consumer *consumer, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t answer = RD_KAFKA_RESP_ERR__TIMED_OUT;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer->kafka);
    rd_kafka_resp_err_t err = rd_kafka_commit_queue(consumer->kafka, list, queue, on_committed, &answer);
    if (!err)
        rd_kafka_queue_poll_callback(queue, ANSWER_MS);
    rd_kafka_queue_destroy(queue);
    return err ? err : answer;
}

/* How far what was marked reaches, where the brokers do not know it yet. */
static void commit(struct kafka_consumer *consumer, bool waits)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)consumer->count);
    for (size_t i = 0; i < consumer->count; i++) {
        const struct place *place = &consumer->places[i];
        if (place->marked > place->committed)
            rd_kafka_topic_partition_list_add(list, consumer->topic, place->partition)->offset = place->marked;
    }
    if (list->cnt && !(waits ? commit_now(consumer, list) : rd_kafka_commit(consumer->kafka, list, 1))) {
        consumer->figures.commits++;
        for (size_t i = 0; i < consumer->count; i++)
            consumer->places[i].committed = consumer->places[i].marked;
    }
    rd_kafka_topic_partition_list_destroy(list);
}

static void kafka_consumer_mark(struct kafka_consumer *consumer)
{
    for (size_t i = 0; i < consumer->count; i++)
        consumer->places[i].marked = consumer->places[i].taken;
}

static void kafka_consumer_safe(struct kafka_consumer *consumer)
{
    commit(consumer, false);
}

/* A message that was to be given again belongs to somebody else now. */
static void drop_message(struct kafka_consumer *consumer)
{
    if (consumer->message)
        rd_kafka_message_destroy(consumer->message);
    consumer->message = NULL;
    consumer->is_back = false;
}

static void take_places(struct kafka_consumer *consumer, const rd_kafka_topic_partition_list_t *list)
{
    struct place *places = calloc((size_t)list->cnt + 1, sizeof *places);
    if (!places)
        return;
    free(consumer->places);
    consumer->places = places;
    consumer->count = (size_t)list->cnt;
    for (size_t i = 0; i < consumer->count; i++)
        places[i] = (struct place){ list->elems[i].partition, -1, -1, -1, .until = -1 };
    consumer->figures.partitions = consumer->count;
}

static void give_places_up(struct kafka_consumer *consumer)
{
    if (consumer->source.make_safe(consumer->source.context)) {
        kafka_consumer_mark(consumer);
        commit(consumer, true);
    }
    consumer->count = 0;
    consumer->figures.partitions = 0;
}

static void on_rebalance(rd_kafka_t *kafka, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct kafka_consumer *consumer = opaque;
    if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        take_places(consumer, list);
        rd_kafka_assign(kafka, list);
        return;
    }
    give_places_up(consumer);
    drop_message(consumer);
    rd_kafka_assign(kafka, NULL);
}

/* What did not arrive there is told again with what follows. */
static void on_commit(rd_kafka_t *kafka, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct kafka_consumer *consumer = opaque;
    (void)kafka, (void)list;
    for (size_t i = 0; err && err != RD_KAFKA_RESP_ERR__NO_OFFSET && i < consumer->count; i++)
        consumer->places[i].committed = -1;
}

static void on_error(rd_kafka_t *kafka, int err, const char *reason, void *opaque)
{
    struct kafka_consumer *consumer = opaque;
    (void)kafka;
    if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || !*consumer->figures.why) /* that says less than what came before */
        snprintf(consumer->figures.why, sizeof consumer->figures.why, "%s", reason);
}

static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text)
{
    (void)kafka, (void)level, (void)facility, (void)text; /* what matters comes as an error */
}

static enum err make(struct kafka_consumer *consumer, const struct kafka_source *source, char *why, size_t why_size)
{
    /* old brokers take no session that is longer */
    const char *const defaults[] = {
        "client.id", "sonde", "group.id", source->group, "enable.auto.commit", "false", "enable.auto.offset.store", "false",
        "auto.offset.reset", "earliest", "session.timeout.ms", "30000", "socket.timeout.ms", "10000", "fetch.wait.max.ms", "100",
        "queued.max.messages.kbytes", "16384", "reconnect.backoff.max.ms", "2000", "socket.keepalive.enable", "true",
        "topic.metadata.refresh.interval.ms", "10000", NULL,
    };
    struct kafka_conf_settings settings = { source->brokers, source->options, source->config };
    rd_kafka_conf_t *conf;
    enum err err = kafka_conf_new(&conf, &settings, defaults, why, why_size);
    if (err)
        return err;
    rd_kafka_conf_set_opaque(conf, consumer);
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    consumer->kafka = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, why_size);
    if (consumer->kafka)
        return OK;
    rd_kafka_conf_destroy(conf);
    return USAGE;
}

static enum err subscribe(struct kafka_consumer *consumer, char *why, size_t why_size)
{
    static const uint64_t one = 1; /* what an eventfd takes */
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, consumer->topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_poll_set_consumer(consumer->kafka);
    consumer->queue = rd_kafka_queue_get_consumer(consumer->kafka);
    rd_kafka_queue_io_event_enable(consumer->queue, consumer->fd, &one, sizeof one);
    rd_kafka_resp_err_t err = rd_kafka_subscribe(consumer->kafka, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    if (err)
        snprintf(why, why_size, "topic %s: %s", consumer->topic, rd_kafka_err2str(err));
    return err ? USAGE : OK;
}

/* Gives up all partitions and says so to the group, if that listens. false: it still tries. */
static bool leave(struct kafka_consumer *consumer)
{
    uint64_t until_ns = clock_monotonic_ns() + LEAVE_NS;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer->kafka);
    rd_kafka_error_t *error = rd_kafka_consumer_close_queue(consumer->kafka, queue);
    while (!error && !rd_kafka_consumer_closed(consumer->kafka) && clock_monotonic_ns() < until_ns)
        rd_kafka_queue_poll_callback(queue, 100);
    bool has_left = error || rd_kafka_consumer_closed(consumer->kafka);
    rd_kafka_error_destroy(error);
    if (has_left)
        rd_kafka_queue_destroy(queue);
    return has_left;
}

static void kafka_consumer_close(struct kafka_consumer **closed)
{
    struct kafka_consumer *consumer = *closed;
    if (!consumer)
        return;
    *closed = NULL;
    drop_message(consumer);
    if (consumer->queue && !leave(consumer))
        return; /* whoever is leaving cannot be destroyed: the library hangs or aborts. It ends with the process. */
    if (consumer->queue)
        rd_kafka_queue_destroy(consumer->queue);
    if (consumer->kafka)
        rd_kafka_destroy_flags(consumer->kafka, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    if (consumer->fd >= 0)
        close(consumer->fd);
    free(consumer->places);
    free(consumer->topic);
    free(consumer);
}

static enum err kafka_consumer_open(struct kafka_consumer **opened, const struct kafka_source *source, char *why,
                                    size_t why_size)
{
    struct kafka_consumer *consumer = *opened = calloc(1, sizeof *consumer);
    if (!consumer)
        return NOMEM;
    consumer->source = *source;
    consumer->topic = strdup(source->topic);
    consumer->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum err err = consumer->topic && consumer->fd >= 0 ? make(consumer, source, why, why_size) : NOMEM;
    if (!err)
        err = subscribe(consumer, why, why_size);
    if (err)
        kafka_consumer_close(opened);
    return err;
}

static int kafka_consumer_fd(const struct kafka_consumer *consumer)
{
    return consumer->fd;
}

/* One that was given before moves nothing. */
static bool move_on(struct place *place, int64_t offset)
{
    if (offset < place->until) {
        place->is_whole = place->is_whole || (place->from >= 0 && offset > place->from);
        place->from = -1;
        return true;
    }
    place->taken = offset + 1;
    if (offset > place->until + place->distance) { /* long ago */
        place->distance = 0;
        place->is_whole = false;
    }
    return false;
}

static enum err give(struct kafka_consumer *consumer, struct bytes *message, bool *is_old)
{
    struct place *place = place_of(consumer, consumer->message->partition);
    *is_old = place && move_on(place, consumer->message->offset);
    *message = (struct bytes){ consumer->message->payload, consumer->message->len };
    if (!consumer->is_back && !*is_old) {
        consumer->figures.messages++;
        consumer->figures.bytes += consumer->message->len;
    }
    consumer->is_back = false;
    return OK;
}

/* Without its wake-ups being lost: they are forgotten before the queue is looked at. */
static rd_kafka_message_t *poll_message(struct kafka_consumer *consumer)
{
    uint64_t ignored;
    (void)!read(consumer->fd, &ignored, sizeof ignored);
    return rd_kafka_consumer_poll(consumer->kafka, 0);
}

static enum err kafka_consumer_next(struct kafka_consumer *consumer, struct bytes *message, bool *is_old)
{
    if (consumer->is_back)
        return give(consumer, message, is_old);
    for (;;) {
        drop_message(consumer);
        rd_kafka_message_t *next = poll_message(consumer);
        if (!next)
            return AGAIN;
        consumer->message = next;
        if (!next->err)
            break;
        if (next->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
            snprintf(consumer->figures.why, sizeof consumer->figures.why, "%s", rd_kafka_message_errstr(next));
    }
    consumer->figures.why[0] = '\0';
    return give(consumer, message, is_old);
}

static void kafka_consumer_take_back(struct kafka_consumer *consumer)
{
    struct place *place = consumer->message ? place_of(consumer, consumer->message->partition) : NULL;
    if (place)
        place->taken = consumer->message->offset;
    consumer->is_back = consumer->message != NULL;
}

static enum err seek(struct kafka_consumer *consumer, const struct place *place)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, consumer->topic, place->partition)->offset = place->from;
    rd_kafka_error_t *error = rd_kafka_seek_partitions(consumer->kafka, list, SEEK_MS);
    bool is_bad = error || list->elems[0].err;
    rd_kafka_error_destroy(error);
    rd_kafka_topic_partition_list_destroy(list);
    return is_bad ? AGAIN : OK;
}

/* Each time further back. */
static enum err kafka_consumer_rewind(struct kafka_consumer *consumer)
{
    struct place *place = consumer->message ? place_of(consumer, consumer->message->partition) : NULL;
    if (!place || place->is_whole)
        return ABSENT;
    int64_t offset = consumer->message->offset;
    place->distance = place->distance ? place->distance * 4 : REWIND_FIRST;
    place->from = offset > place->distance ? offset - place->distance : 0;
    place->is_whole = place->from == 0;
    place->until = place->taken = offset;
    if (seek(consumer, place)) {
        place->distance /= 4;
        place->is_whole = false;
        kafka_consumer_take_back(consumer);
        return AGAIN;
    }
    drop_message(consumer);
    consumer->figures.rewinds++;
    return OK;
}

static void kafka_consumer_figures(const struct kafka_consumer *consumer, struct kafka_consumer_figures *figures)
{
    *figures = consumer->figures;
}

extern const struct kafka_module sonde_kafka;
__attribute__((visibility("default"))) const struct kafka_module sonde_kafka = {
    .version = KAFKA_MODULE_VERSION,
    .consumer_open = kafka_consumer_open,
    .consumer_fd = kafka_consumer_fd,
    .consumer_next = kafka_consumer_next,
    .consumer_take_back = kafka_consumer_take_back,
    .consumer_rewind = kafka_consumer_rewind,
    .consumer_mark = kafka_consumer_mark,
    .consumer_safe = kafka_consumer_safe,
    .consumer_figures = kafka_consumer_figures,
    .consumer_close = kafka_consumer_close,
};
