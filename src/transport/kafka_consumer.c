/* A member of a Kafka consumer group. Offsets are committed only when the messages before them are durable elsewhere;
 * what was not committed is received again, by us or by the next owner of the partition. Part of sink-kafka.so. */
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

struct kafka_partition {
    int32_t partition;
    int64_t taken, marked, committed; /* offset after the last message received, marked, committed; -1: none yet */
    int64_t until;                    /* messages before this offset are repeats; -1: none are */
    int64_t from, distance;           /* where the last rewind started and how far back it went; 0: none */
    bool is_whole;                    /* the rewind reached the oldest message available */
};

struct kafka_consumer {
    struct kafka_source source;
    char *topic;
    rd_kafka_t *kafka;
    rd_kafka_queue_t *queue;
    int fd;
    rd_kafka_message_t *message; /* the last one returned */
    bool is_unread;              /* it will be returned again */
    struct kafka_partition *partitions;
    size_t count;
    struct kafka_consumer_figures figures;
};

static struct kafka_partition *find_partition(struct kafka_consumer *consumer, int32_t partition)
{
    for (size_t i = 0; i < consumer->count; i++)
        if (consumer->partitions[i].partition == partition)
            return &consumer->partitions[i];
    return NULL;
}

static void on_committed(rd_kafka_t *kafka, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque)
{
    (void)kafka, (void)list;
    *(rd_kafka_resp_err_t *)opaque = err;
}

/* Waits for the answer, but gives up on brokers that do not respond. */
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

/* Commits the marked offsets that the brokers do not have yet. */
static void commit(struct kafka_consumer *consumer, bool waits)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)consumer->count);
    for (size_t i = 0; i < consumer->count; i++) {
        const struct kafka_partition *partition = &consumer->partitions[i];
        if (partition->marked > partition->committed)
            rd_kafka_topic_partition_list_add(list, consumer->topic, partition->partition)->offset = partition->marked;
    }
    if (list->cnt && !(waits ? commit_now(consumer, list) : rd_kafka_commit(consumer->kafka, list, 1))) {
        consumer->figures.commits++;
        for (size_t i = 0; i < consumer->count; i++)
            consumer->partitions[i].committed = consumer->partitions[i].marked;
    }
    rd_kafka_topic_partition_list_destroy(list);
}

static void kafka_consumer_mark(struct kafka_consumer *consumer)
{
    for (size_t i = 0; i < consumer->count; i++)
        consumer->partitions[i].marked = consumer->partitions[i].taken;
}

static void kafka_consumer_commit(struct kafka_consumer *consumer)
{
    commit(consumer, false);
}

/* An unread message belongs to the new owner of its partition. */
static void drop_message(struct kafka_consumer *consumer)
{
    if (consumer->message)
        rd_kafka_message_destroy(consumer->message);
    consumer->message = NULL;
    consumer->is_unread = false;
}

static void assign_partitions(struct kafka_consumer *consumer, const rd_kafka_topic_partition_list_t *list)
{
    struct kafka_partition *partitions = calloc((size_t)list->cnt + 1, sizeof *partitions);
    if (!partitions)
        return;
    free(consumer->partitions);
    consumer->partitions = partitions;
    consumer->count = (size_t)list->cnt;
    for (size_t i = 0; i < consumer->count; i++)
        partitions[i] = (struct kafka_partition){ list->elems[i].partition, -1, -1, -1, .until = -1 };
    consumer->figures.partitions = consumer->count;
}

static void revoke_partitions(struct kafka_consumer *consumer)
{
    if (consumer->source.flush(consumer->source.context)) {
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
        assign_partitions(consumer, list);
        rd_kafka_assign(kafka, list);
        return;
    }
    revoke_partitions(consumer);
    drop_message(consumer);
    rd_kafka_assign(kafka, NULL);
}

/* Failed commits are repeated with the next one. */
static void on_commit(rd_kafka_t *kafka, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list, void *opaque)
{
    struct kafka_consumer *consumer = opaque;
    (void)kafka, (void)list;
    for (size_t i = 0; err && err != RD_KAFKA_RESP_ERR__NO_OFFSET && i < consumer->count; i++)
        consumer->partitions[i].committed = -1;
}

static void on_error(rd_kafka_t *kafka, int err, const char *reason, void *opaque)
{
    struct kafka_consumer *consumer = opaque;
    (void)kafka;
    if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || !*consumer->figures.error) /* less specific than the message before */
        snprintf(consumer->figures.error, sizeof consumer->figures.error, "%s", reason);
}

static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text)
{
    (void)kafka, (void)level, (void)facility, (void)text; /* everything important is also reported as an error */
}

static enum err create(struct kafka_consumer *consumer, const struct kafka_source *source, char *error, size_t error_size)
{
    /* longer sessions are rejected by old brokers */
    const char *const defaults[] = {
        "client.id", "sonde", "group.id", source->group, "enable.auto.commit", "false", "enable.auto.offset.store", "false",
        "auto.offset.reset", "earliest", "session.timeout.ms", "30000", "socket.timeout.ms", "10000", "fetch.wait.max.ms", "100",
        "queued.max.messages.kbytes", "16384", "reconnect.backoff.max.ms", "2000", "socket.keepalive.enable", "true",
        "topic.metadata.refresh.interval.ms", "10000", NULL,
    };
    struct kafka_conf_settings settings = { source->brokers, source->options, source->config };
    rd_kafka_conf_t *conf;
    enum err err = kafka_conf_new(&conf, &settings, defaults, error, error_size);
    if (err)
        return err;
    rd_kafka_conf_set_opaque(conf, consumer);
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    consumer->kafka = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, error_size);
    if (consumer->kafka)
        return OK;
    rd_kafka_conf_destroy(conf);
    return USAGE;
}

static enum err subscribe(struct kafka_consumer *consumer, char *error, size_t error_size)
{
    static const uint64_t one = 1; /* written to the eventfd by librdkafka */
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, consumer->topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_poll_set_consumer(consumer->kafka);
    consumer->queue = rd_kafka_queue_get_consumer(consumer->kafka);
    rd_kafka_queue_io_event_enable(consumer->queue, consumer->fd, &one, sizeof one);
    rd_kafka_resp_err_t err = rd_kafka_subscribe(consumer->kafka, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    if (err)
        snprintf(error, error_size, "topic %s: %s", consumer->topic, rd_kafka_err2str(err));
    return err ? USAGE : OK;
}

/* Gives up all partitions and leaves the group, if it responds. false: still trying. */
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
        return; /* a consumer that is still leaving cannot be destroyed (librdkafka hangs or aborts): it ends with the process */
    if (consumer->queue)
        rd_kafka_queue_destroy(consumer->queue);
    if (consumer->kafka)
        rd_kafka_destroy_flags(consumer->kafka, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    if (consumer->fd >= 0)
        close(consumer->fd);
    free(consumer->partitions);
    free(consumer->topic);
    free(consumer);
}

static enum err kafka_consumer_open(struct kafka_consumer **opened, const struct kafka_source *source, char *error,
                                    size_t error_size)
{
    struct kafka_consumer *consumer = *opened = calloc(1, sizeof *consumer);
    if (!consumer)
        return NOMEM;
    consumer->source = *source;
    consumer->topic = strdup(source->topic);
    consumer->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum err err = consumer->topic && consumer->fd >= 0 ? create(consumer, source, error, error_size) : NOMEM;
    if (!err)
        err = subscribe(consumer, error, error_size);
    if (err)
        kafka_consumer_close(opened);
    return err;
}

static int kafka_consumer_fd(const struct kafka_consumer *consumer)
{
    return consumer->fd;
}

/* Returns true for a repeated message, which does not advance the position. */
static bool advance(struct kafka_partition *partition, int64_t offset)
{
    if (offset < partition->until) {
        partition->is_whole = partition->is_whole || (partition->from >= 0 && offset > partition->from);
        partition->from = -1;
        return true;
    }
    partition->taken = offset + 1;
    if (offset > partition->until + partition->distance) { /* far beyond the last rewind */
        partition->distance = 0;
        partition->is_whole = false;
    }
    return false;
}

static enum err deliver(struct kafka_consumer *consumer, struct bytes *message, bool *is_old)
{
    struct kafka_partition *partition = find_partition(consumer, consumer->message->partition);
    *is_old = partition && advance(partition, consumer->message->offset);
    *message = (struct bytes){ consumer->message->payload, consumer->message->len };
    if (!consumer->is_unread && !*is_old) {
        consumer->figures.messages++;
        consumer->figures.bytes += consumer->message->len;
    }
    consumer->is_unread = false;
    return OK;
}

/* Clears the eventfd before polling, so that no wake-up is lost. */
static rd_kafka_message_t *poll_message(struct kafka_consumer *consumer)
{
    uint64_t ignored;
    (void)!read(consumer->fd, &ignored, sizeof ignored);
    return rd_kafka_consumer_poll(consumer->kafka, 0);
}

static enum err kafka_consumer_next(struct kafka_consumer *consumer, struct bytes *message, bool *is_old)
{
    if (consumer->is_unread)
        return deliver(consumer, message, is_old);
    for (;;) {
        drop_message(consumer);
        rd_kafka_message_t *next = poll_message(consumer);
        if (!next)
            return AGAIN;
        consumer->message = next;
        if (!next->err)
            break;
        if (next->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
            snprintf(consumer->figures.error, sizeof consumer->figures.error, "%s", rd_kafka_message_errstr(next));
    }
    consumer->figures.error[0] = '\0';
    return deliver(consumer, message, is_old);
}

static void kafka_consumer_unread(struct kafka_consumer *consumer)
{
    struct kafka_partition *partition = consumer->message ? find_partition(consumer, consumer->message->partition) : NULL;
    if (partition)
        partition->taken = consumer->message->offset;
    consumer->is_unread = consumer->message != NULL;
}

static enum err seek(struct kafka_consumer *consumer, const struct kafka_partition *partition)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, consumer->topic, partition->partition)->offset = partition->from;
    rd_kafka_error_t *error = rd_kafka_seek_partitions(consumer->kafka, list, SEEK_MS);
    bool is_bad = error || list->elems[0].err;
    rd_kafka_error_destroy(error);
    rd_kafka_topic_partition_list_destroy(list);
    return is_bad ? AGAIN : OK;
}

/* Goes further back each time. */
static enum err kafka_consumer_rewind(struct kafka_consumer *consumer)
{
    struct kafka_partition *partition = consumer->message ? find_partition(consumer, consumer->message->partition) : NULL;
    if (!partition || partition->is_whole)
        return ABSENT;
    int64_t offset = consumer->message->offset;
    partition->distance = partition->distance ? partition->distance * 4 : REWIND_FIRST;
    partition->from = offset > partition->distance ? offset - partition->distance : 0;
    partition->is_whole = partition->from == 0;
    partition->until = partition->taken = offset;
    if (seek(consumer, partition)) {
        partition->distance /= 4;
        partition->is_whole = false;
        kafka_consumer_unread(consumer);
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
    .consumer_unread = kafka_consumer_unread,
    .consumer_rewind = kafka_consumer_rewind,
    .consumer_mark = kafka_consumer_mark,
    .consumer_commit = kafka_consumer_commit,
    .consumer_figures = kafka_consumer_figures,
    .consumer_close = kafka_consumer_close,
};
