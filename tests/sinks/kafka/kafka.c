/* Rows, records, topic names and the message queue of the sink kafka. */
#include "sinks/kafka/queue.h"
#include "sinks/kafka/records.h"
#include "sinks/kafka/rows.h"
#include "sinks/kafka/topics.h"

#include "tools/unit.h"
#include "transport/kafka_envelope.h"
#include "journal/stream.h"

static const struct metric metrics[] = {
    { "mem_total", "B", GAUGE, U64, "", "MemTotal" }, { "host", "1", GAUGE, I64, "" }, { "level", "1", GAUGE, F64, "" },
    { "never", "1", GAUGE, U64, "" },
};
static const struct set set = { "meminfo", metrics, 4 };
static const struct job job = { .id = "47[1]", .other_id = "", .source = "slurm", .user = "ada", .uid = 7, .cgroup = "",
                                .start_ns = 5, .end_ns = 9, .cores_milli = 1500 };
static const struct kafka_batch_id batch_id = { "n1", 0xabc, 42 };

static void fill(struct batch *batch)
{
    static const struct job *const jobs[] = { &job };
    static const struct batch_event event = { JOB_END, &job };
    static const struct batch_gap gap = { .from_ns = 1, .to_ns = 2, .batches = 3, .reason = "spool full" };
    batch_init(batch);
    struct sample *sample = batch_add(batch, &set, 1700000000123456789, "a\"b");
    sample->job = job.id;
    sample_set_u64(sample, 0, 11 * 1024);
    sample_set_u64(sample, 1, (uint64_t)-3);
    sample_set_f64(sample, 2, 0.5);
    batch_add(batch, &set, 7, "");
    batch->jobs = jobs;
    batch->job_count = 1;
    batch->events = &event;
    batch->event_count = 1;
    batch->gaps = &gap;
    batch->gap_count = 1;
}

static void assert_row(enum kafka_format format, bool ldms, const struct batch *batch, size_t place, const char *expected)
{
    struct kafka_rows rows;
    struct ldms_batch converted = { .producer = "%{user}@%{host}" };
    struct buf out;
    kafka_rows_init(&rows, format, ldms);
    buf_init(&out, 4096);
    struct batch named = *batch;
    named.host = batch_id.host;
    if (ldms)
        assert_int_equal(ldms_batch_make(&converted, &named, &batch), OK);
    rows.ldms_rows = converted.rows;
    kafka_rows_add(&rows, batch, &batch_id, place, &out);
    assert_int_equal(buf_err(&out), OK);
    assert_string_equal(buf_text(&out), expected);
    buf_clear(&out);
    kafka_rows_clear(&rows);
    ldms_batch_clear(&converted);
}

static void rows_hold_the_batch_and_have_unique_names(void **state)
{
    (void)state;
    struct batch batch;
    fill(&batch);
    assert_int_equal(kafka_rows_count(&batch), 4);
    assert_row(KAFKA_JSON, false, &batch, 0,
               "{\"time_ns\": 1700000000123456789, \"host\": \"n1\", \"set\": \"meminfo\", \"stream\": \"0000000000000abc\", "
               "\"sequence\": 42, \"place\": 0, \"job\": \"47[1]\", \"job_user\": \"ada\", \"instance\": \"a\\\"b\", "
               "\"mem_total\": 11264, \"metric_host\": -3, \"level\": 0.5}");
    assert_row(KAFKA_JSON, true, &batch, 0,
               "{\"Time\": 1700000000.123456, \"Time_usec\": 123456, \"ProducerName\": \"ada@n1\", \"component_id\": 1, "
               "\"job_id\": 47, \"app_id\": 0, \"time_ns\": 1700000000123456789, \"host\": \"n1\", \"set\": \"meminfo\", "
               "\"stream\": \"0000000000000abc\", \"sequence\": 42, \"place\": 0, \"job\": \"47[1]\", \"job_user\": \"ada\", "
               "\"instance\": \"a\\\"b\", \"MemTotal\": 11, \"metric_host\": -3, \"level\": 0.5}");
    assert_row(KAFKA_JSON, false, &batch, 1,
               "{\"time_ns\": 7, \"host\": \"n1\", \"set\": \"meminfo\", \"stream\": \"0000000000000abc\", \"sequence\": 42, "
               "\"place\": 1}");
    batch_clear(&batch);
}

/* Two jobs of two users share the node: a row for each user, and for a job id that is no longer a number, a list. */
static void rows_of_a_node_name_its_jobs(void **state)
{
    (void)state;
    static const struct job one = { .id = "1", .user = "ada" }, two = { .id = "2", .user = "bob" },
                            three = { .id = "3", .user = "bob" };
    static const struct job *const all[] = { &one, &two, &three };
    struct batch batch;
    fill(&batch);
    batch.samples[0].job = NULL;
    batch.count = 1;
    batch.event_count = batch.gap_count = 0;
    batch.jobs = all;
    batch.job_count = 3;
    assert_row(KAFKA_JSON, true, &batch, 0,
               "{\"Time\": 1700000000.123456, \"Time_usec\": 123456, \"ProducerName\": \"ada@n1\", \"component_id\": 1, "
               "\"job_id\": 1, \"app_id\": 0, \"time_ns\": 1700000000123456789, \"host\": \"n1\", \"set\": \"meminfo\", "
               "\"stream\": \"0000000000000abc\", \"sequence\": 42, \"place\": 0, \"job_user\": \"ada\", "
               "\"instance\": \"a\\\"b\", \"MemTotal\": 11, \"metric_host\": -3, \"level\": 0.5}");
    assert_row(KAFKA_JSON, true, &batch, 1,
               "{\"Time\": 1700000000.123456, \"Time_usec\": 123456, \"ProducerName\": \"bob@n1\", \"component_id\": 1, "
               "\"job_id\": 0, \"job_ids\": \"2 3\", \"app_id\": 0, \"time_ns\": 1700000000123456789, \"host\": \"n1\", "
               "\"set\": \"meminfo\", \"stream\": \"0000000000000abc\", \"sequence\": 42, \"place\": 1, "
               "\"job_user\": \"bob\", \"instance\": \"a\\\"b\", \"MemTotal\": 11, \"metric_host\": -3, \"level\": 0.5}");
    batch_clear(&batch);
}

static void events_and_gaps_are_rows(void **state)
{
    (void)state;
    struct batch batch;
    fill(&batch);
    assert_row(KAFKA_JSON, false, &batch, 2,
               "{\"time_ns\": 1700000000123456789, \"host\": \"n1\", \"set\": \"jobs\", \"stream\": \"0000000000000abc\", "
               "\"sequence\": 42, \"place\": 2, \"job\": \"47[1]\", \"event\": \"end\", \"source\": \"slurm\", "
               "\"job_user\": \"ada\", \"uid\": 7, \"start_ns\": 5, \"end_ns\": 9, \"cores\": 1.5}");
    assert_row(KAFKA_JSON, false, &batch, 3,
               "{\"time_ns\": 2, \"host\": \"n1\", \"set\": \"gaps\", \"stream\": \"0000000000000abc\", \"sequence\": 42, "
               "\"place\": 3, \"from_ns\": 1, \"to_ns\": 2, \"batches\": 3, \"reason\": \"spool full\"}");
    assert_row(KAFKA_MSGPACK, false, &batch, 1,
               "\x86\xa7time_ns\x07\xa4host\xa2n1\xa3set\xa7meminfo\xa6stream\xb0" "0000000000000abc\xa8sequence*\xa5place\x01");
    batch_clear(&batch);
}

static void rows_of_a_job_share_its_key(void **state)
{
    (void)state;
    struct batch batch;
    fill(&batch);
    assert_string_equal(kafka_rows_key(&batch, &batch_id, 0), "47[1]");
    assert_string_equal(kafka_rows_key(&batch, &batch_id, 1), "n1");
    assert_string_equal(kafka_rows_key(&batch, &batch_id, 2), "47[1]");
    assert_string_equal(kafka_rows_key(&batch, &batch_id, 3), "n1");
    batch_clear(&batch);
}

static void topic_names_follow_the_pattern(void **state)
{
    (void)state;
    struct kafka_topics topics = { .pattern = "x.%{set}-%{set}" };
    const char *first, *second, *again;
    assert_int_equal(kafka_topics_find(&topics, "mem/info", &first), OK);
    assert_string_equal(first, "x.mem_info-mem_info");
    for (int i = 0; i < 100; i++) {
        char name[20];
        snprintf(name, sizeof name, "set%d", i);
        assert_int_equal(kafka_topics_find(&topics, name, &second), OK);
    }
    assert_int_equal(kafka_topics_find(&topics, "mem/info", &again), OK);
    assert_ptr_equal(first, again);
    kafka_topics_clear(&topics);
    topics.pattern = "all";
    assert_int_equal(kafka_topics_find(&topics, "a", &first), OK);
    assert_string_equal(first, "all");
    kafka_topics_clear(&topics);
}

/* The envelope of batch n, whose first value is 11 + n. */
static void make_envelope(struct kafka_records *records, uint64_t n, struct buf *out, struct kafka_envelope *envelope)
{
    struct batch batch;
    fill(&batch);
    batch.values[0].u64 = 11 + n;
    buf_init(out, 1 << 20);
    assert_int_equal(kafka_records_add(records, &batch, &(struct kafka_batch_id){ "n1", 5, n }, out), OK);
    assert_int_equal(kafka_envelope_read((struct bytes){ out->data, out->size }, envelope), OK);
    batch_clear(&batch);
}

static void assert_decoded(struct delta_stream *stream, const struct kafka_envelope *envelope, uint64_t n)
{
    struct batch batch;
    batch_init(&batch);
    assert_int_equal(stream_decode(stream, envelope->record, &batch), OK);
    assert_int_equal(batch.count, 2);
    assert_int_equal(batch.samples[0].values[0].u64, 11 + n);
    assert_string_equal(batch.samples[0].job, "47[1]");
    assert_int_equal(batch.gap_count, 1);
    batch_clear(&batch);
}

static void each_record_decodes_alone_and_in_sequence(void **state)
{
    (void)state;
    struct kafka_records *records, *seldom;
    struct delta_stream *follower, *stranger;
    struct buf out;
    struct kafka_envelope envelope;
    uint64_t epoch = 0, before = 0;
    assert_int_equal(kafka_records_new(&records, 0), OK);
    assert_int_equal(stream_new(&follower), OK);
    assert_int_equal(kafka_records_new(&seldom, UINT64_MAX), OK);
    for (uint64_t n = 1; n < 20; n++) {
        make_envelope(seldom, n, &out, &envelope);
        assert_true((envelope.state.size != 0) == (n == 1));
        buf_clear(&out);
        make_envelope(records, n, &out, &envelope);
        assert_true(n == 1 || epoch == envelope.epoch);
        assert_int_equal(envelope.before, before);
        epoch = envelope.epoch;
        before = n;
        assert_decoded(follower, &envelope, n); /* continues from its own state */
        assert_int_equal(stream_new(&stranger), OK);
        assert_int_equal(stream_restore(stranger, envelope.state), OK);
        assert_decoded(stranger, &envelope, n);
        stream_free(&stranger);
        buf_clear(&out);
    }
    /* a record that is encoded again carries a snapshot, because it does not follow the last one */
    make_envelope(seldom, 19, &out, &envelope);
    assert_true(envelope.state.size > 0);
    kafka_records_free(&seldom);
    buf_clear(&out);
    make_envelope(records, 19, &out, &envelope);
    assert_int_equal(envelope.before, 19);
    assert_int_equal(stream_restore(follower, envelope.state), OK);
    assert_decoded(follower, &envelope, 19);
    buf_clear(&out);
    stream_free(&follower);
    kafka_records_free(&records);
}

static void put(struct kafka_queue *queue, const char *body, enum err expected)
{
    struct kafka_message_id name = { .host = bytes_of("n1"), .key = bytes_of("j") };
    assert_int_equal(kafka_queue_add(queue, "t", &name, bytes_of(body)), expected);
}

static void batches_are_queued_whole_and_in_order(void **state)
{
    (void)state;
    struct kafka_queue queue;
    kafka_queue_init(&queue, 5 * sizeof(struct kafka_message));
    put(&queue, "1", OK);
    put(&queue, "2", OK);
    kafka_queue_commit_batch(&queue);
    put(&queue, "3", OK);
    put(&queue, "4", OK);
    put(&queue, "5", FULL);
    kafka_queue_drop_batch(&queue);
    assert_int_equal(queue.count, 2);
    put(&queue, "3", OK);
    kafka_queue_commit_batch(&queue);
    assert_int_equal(queue.waiting, 3);
    /* all are in flight, the second fails first: it is the next to send */
    for (struct kafka_message *message = queue.head; message; message = message->next)
        kafka_queue_set_state(&queue, message, KAFKA_IN_FLIGHT);
    queue.next = NULL;
    kafka_queue_set_state(&queue, queue.head->next, KAFKA_QUEUED);
    kafka_queue_set_state(&queue, queue.tail, KAFKA_DELIVERED);
    kafka_queue_set_state(&queue, queue.head, KAFKA_DELIVERED);
    kafka_queue_remove_delivered(&queue);
    kafka_queue_rewind(&queue);
    assert_int_equal(queue.count, 2);
    assert_int_equal(queue.waiting, 1);
    assert_ptr_equal(queue.next, queue.head);
    assert_memory_equal(queue.next->body.data, "2", 1);
    kafka_queue_set_state(&queue, queue.next, KAFKA_DELIVERED);
    kafka_queue_remove_delivered(&queue);
    assert_int_equal(queue.count, 0);
    assert_int_equal(queue.bytes, 0);
    assert_null(queue.tail);
    assert_null(queue.next);
    put(&queue, "6", OK); /* freed by kafka_queue_clear */
    kafka_queue_clear(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_hold_the_batch_and_have_unique_names),
        cmocka_unit_test(rows_of_a_node_name_its_jobs),
        cmocka_unit_test(events_and_gaps_are_rows),
        cmocka_unit_test(rows_of_a_job_share_its_key),
        cmocka_unit_test(topic_names_follow_the_pattern),
        cmocka_unit_test(each_record_decodes_alone_and_in_sequence),
        cmocka_unit_test(batches_are_queued_whole_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
