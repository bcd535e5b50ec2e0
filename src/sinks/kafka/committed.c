/* Group offsets need an existing topic: Sonde uses one of its own, which stays empty. */
#include "sinks/kafka/committed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text)
{
    (void)kafka, (void)level, (void)facility, (void)text; /* warns about producer properties that a consumer ignores */
}

static rd_kafka_resp_err_t set_error(struct kafka_producer *p, rd_kafka_resp_err_t code)
{
    bool is_missing = code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    snprintf(p->error, sizeof p->error, "cannot read the committed position in topic %.120s: %s%s", p->marks_topic,
             rd_kafka_err2str(code),
             is_missing ? ". Create the topic with one partition" : "");
    return code;
}

/* A metadata request of a producer creates the topic, if auto-creation is enabled. */
static rd_kafka_resp_err_t find_topic(const struct kafka_producer *p, int timeout_ms)
{
    const struct rd_kafka_metadata *answer = NULL;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(p->kafka, p->marks_topic, NULL);
    if (!topic)
        return rd_kafka_last_error();
    rd_kafka_resp_err_t code = rd_kafka_metadata(p->kafka, 0, topic, &answer, timeout_ms);
    if (!code)
        code = answer->topic_cnt == 1 ? answer->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (answer)
        rd_kafka_metadata_destroy(answer);
    rd_kafka_topic_destroy(topic);
    return code;
}

static rd_kafka_t *create_consumer(struct kafka_producer *p)
{
    const char *const defaults[] = { "client.id", "sonde", "group.id", p->name, "enable.auto.commit", "false", NULL };
    rd_kafka_conf_t *conf;
    char reason[256];
    if (kafka_conf_new(&conf, &p->conf, defaults, p->error, sizeof p->error))
        return NULL;
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_t *consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason);
    if (!consumer)
        rd_kafka_conf_destroy(conf);
    return consumer;
}

static void parse_offset(const rd_kafka_topic_partition_t *found, struct kafka_committed *last)
{
    char text[20] = "";
    if (found->offset < 0)
        return;
    last->position = (uint64_t)found->offset;
    if (found->metadata && found->metadata_size < sizeof text)
        memcpy(text, found->metadata, found->metadata_size);
    last->opening = strtoull(text, NULL, 16);
}

rd_kafka_resp_err_t kafka_committed_read(struct kafka_producer *p, struct kafka_committed *last, int timeout_ms)
{
    *last = (struct kafka_committed){ 0 };
    rd_kafka_resp_err_t code = find_topic(p, timeout_ms);
    if (code)
        return set_error(p, code);
    rd_kafka_t *consumer = create_consumer(p);
    if (!consumer)
        return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, p->marks_topic, 0);
    code = rd_kafka_committed(consumer, list, timeout_ms);
    if (!code)
        code = list->elems[0].err;
    if (!code)
        parse_offset(&list->elems[0], last);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy_flags(consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    return code ? set_error(p, code) : code;
}

rd_kafka_error_t *kafka_committed_write(const struct kafka_producer *p, int timeout_ms)
{
    char text[20];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *mark = rd_kafka_topic_partition_list_add(list, p->marks_topic, 0);
    snprintf(text, sizeof text, "%016" PRIx64, p->opening);
    mark->offset = (int64_t)p->mark;
    mark->metadata = strdup(text); /* freed with the list */
    mark->metadata_size = mark->metadata ? strlen(text) : 0;
    rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata_new(p->name);
    rd_kafka_error_t *error = rd_kafka_send_offsets_to_transaction(p->kafka, list, group, timeout_ms);
    rd_kafka_consumer_group_metadata_destroy(group);
    rd_kafka_topic_partition_list_destroy(list);
    return error;
}
