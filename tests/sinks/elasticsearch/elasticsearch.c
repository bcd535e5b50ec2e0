/* Documents, ids, mappings and responses without a server; tests/scenes/elasticsearch.bats uses real ones. */
#include "sinks/elasticsearch/documents.h"

#include "base/clock.h"
#include "sinks/elasticsearch/response.h"
#include "sinks/elasticsearch/colmet_documents.h"

#include "tools/unit.h"

static struct outbox outbox;
static struct elasticsearch_indexes indexes;
static struct batch batch;

static int begin(void **state)
{
    (void)state;
    outbox_init(&outbox, 1u << 20);
    batch_init(&batch);
    indexes.prefix = "sonde_";
    return 0;
}

static int end(void **state)
{
    (void)state;
    outbox_clear(&outbox);
    batch_clear(&batch);
    elasticsearch_indexes_clear(&indexes);
    return 0;
}

static const struct metric metrics[] = {
    { "a.b", "1", COUNTER, U64, "" }, { "load", "1", GAUGE, F64, "" }, { "change", "1", GAUGE, I64, "" },
};
static const struct set set = { "Job-CPU", metrics, 3 };

static struct sample *add(const char *instance, const char *job)
{
    struct sample *sample = batch_add(&batch, &set, 1234567890123456789ull, instance);
    sample->job = job;
    return sample;
}

static void documents_have_the_values_that_fit(void **state)
{
    (void)state;
    struct job ada = { .id = "77", .user = "ada" };
    const struct job *jobs[] = { &ada };
    batch.host = "n1";
    batch.stream = 0xabc;
    batch.sequence = 42;
    batch.jobs = jobs;
    batch.job_count = 1;
    struct sample *sample = add("", "77");
    sample_set_u64(sample, 0, INT64_MAX);
    sample_set_f64(sample, 1, 3);
    sample = add("cpu\"3", NULL);
    sample_set_u64(sample, 0, UINT64_MAX);
    sample_set_u64(sample, 2, (uint64_t)-5);
    assert_int_equal(elasticsearch_documents_add(&outbox, &indexes, &batch), OK);
    assert_string_equal(buf_text(&outbox.bytes),
        "{\"create\": {\"_index\": \"sonde_job-cpu\", \"_id\": \"n1.abc.42.0\"}}\n"
        "{\"timestamp\": 1234567890123, \"time_ns\": 1234567890123456789, \"host\": \"n1\", \"job\": \"77\", \"user\": \"ada\", "
        "\"set\": \"Job-CPU\", \"Job-CPU\": {\"a_b\": 9223372036854775807, \"load\": 3.0}}\n"
        "{\"create\": {\"_index\": \"sonde_job-cpu\", \"_id\": \"n1.abc.42.1\"}}\n"
        "{\"timestamp\": 1234567890123, \"time_ns\": 1234567890123456789, \"host\": \"n1\", "
        "\"set\": \"Job-CPU\", \"instance\": \"cpu\\\"3\", \"Job-CPU\": {\"change\": -5}}\n");
    assert_int_equal(outbox.count, 2);
    assert_int_equal(indexes.count, 1);
}

static void events_and_gaps_are_documents(void **state)
{
    (void)state;
    const struct job ada = { .id = "77", .user = "ada", .start_ns = 5 * NS_PER_S, .cores_milli = 2000 };
    batch.host = "n1";
    batch.stream = 1;
    batch.sequence = 2;
    batch.events = &(struct batch_event){ JOB_BEGIN, &ada };
    batch.gaps = &(struct batch_gap){ .to_ns = 7 * NS_PER_S, .batches = 12, .reason = "spool full" };
    batch.event_count = batch.gap_count = 1;
    assert_int_equal(elasticsearch_documents_add(&outbox, &indexes, &batch), OK);
    assert_string_equal(buf_text(&outbox.bytes),
        "{\"create\": {\"_index\": \"sonde_job_events\", \"_id\": \"n1.1.2.begin0\"}}\n"
        "{\"timestamp\": 5000, \"time_ns\": 5000000000, \"host\": \"n1\", \"event\": \"begin\", \"job\": \"77\", "
        "\"user\": \"ada\", \"cores_milli\": 2000}\n"
        "{\"create\": {\"_index\": \"sonde_gaps\", \"_id\": \"n1.1.2.gap0\"}}\n"
        "{\"timestamp\": 7000, \"time_ns\": 7000000000, \"host\": \"n1\", \"to_ns\": 7000000000, \"batches\": 12, "
        "\"reason\": \"spool full\"}\n");
}

/* The id that the first document gets. */
static const char *id_of(const char *host, uint64_t sequence, const char *job, const char *instance)
{
    static char id[600];
    batch_reset(&batch);
    outbox_truncate(&outbox, 0);
    batch.host = host;
    batch.sequence = sequence;
    add(instance, job);
    assert_int_equal(elasticsearch_documents_add(&outbox, &indexes, &batch), OK);
    const char *from = strstr(buf_text(&outbox.bytes), "\"_id\": \"") + 8;
    snprintf(id, sizeof id, "%.*s", (int)strcspn(from, "\""), from);
    return id;
}

static void ids_differ_for_any_bytes(void **state)
{
    (void)state;
    char long_name[700], one[600];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_string_equal(id_of("n1", 0, "77", "sda"), "n1.Job-CPU.77.sda.1234567890123456789");
    assert_string_equal(id_of("n1", 0, NULL, ""), "n1.Job-CPU...1234567890123456789");
    assert_string_equal(id_of("n1", 9, "77", "sda"), "n1.0.9.0");
    snprintf(one, sizeof one, "%s", id_of("n\xe9", 9, NULL, ""));
    assert_string_not_equal(id_of("n\xe8", 9, NULL, ""), one);
    assert_string_equal(id_of("n\xe9", 9, NULL, ""), one);
    snprintf(one, sizeof one, "%s", id_of(long_name, 9, NULL, ""));
    assert_true(strlen(one) <= 512);
    long_name[0] = 'y';
    assert_string_not_equal(id_of(long_name, 9, NULL, ""), one);
}

static void mappings_declare_field_types(void **state)
{
    (void)state;
    struct buf out;
    uint32_t number;
    buf_init(&out, 10000);
    assert_int_equal(elasticsearch_index_of(&indexes, "x", &set, false, &number), OK);
    elasticsearch_index_mapping(&out, &indexes.list[number], NULL, false);
    assert_non_null(strstr(buf_text(&out), "{\"mappings\": {\"properties\": {\"timestamp\": {\"type\": \"date\", "
                                           "\"format\": \"epoch_millis\"}, \"time_ns\": {\"type\": \"long\"}, "
                                           "\"host\": {\"type\": \"keyword\"}"));
    assert_non_null(strstr(buf_text(&out), "\"Job-CPU\": {\"properties\": {\"a_b\": {\"type\": \"long\"}, "
                                           "\"load\": {\"type\": \"double\"}, \"change\": {\"type\": \"long\"}}}}}}"));
    buf_reset(&out);
    elasticsearch_index_mapping(&out, &indexes.list[number], "doc", true);
    assert_non_null(strstr(buf_text(&out), "{\"mappings\": {\"doc\": {\"properties\": {\"timestamp\""));
    assert_non_null(strstr(buf_text(&out), "\"host\": {\"type\": \"string\", \"index\": \"not_analyzed\"}"));
    /* Colmet's, byte for byte */
    buf_reset(&out);
    indexes.prefix = "colmet_dahu_";
    assert_int_equal(elasticsearch_index_of(&indexes, "RAPLstats_default", NULL, true, &number), OK);
    assert_string_equal(indexes.list[number].name, "colmet_dahu_raplstats_default");
    elasticsearch_index_mapping(&out, &indexes.list[number], NULL, false);
    assert_string_equal(buf_text(&out),
        "{\"mappings\": {\"properties\": {\"timestamp\": {\"type\": \"date\", \"format\": \"epoch_second\"}}}}");
    buf_clear(&out);
}

struct verdicts {
    size_t count;
    unsigned status[8];
    char text[8][100];
};

static void take(void *user, size_t place, unsigned status, const char *type, const char *reason)
{
    struct verdicts *verdicts = user;
    assert_true(place < 8);
    assert_int_equal(place, verdicts->count++);
    verdicts->status[place] = status;
    snprintf(verdicts->text[place], sizeof verdicts->text[place], "%s|%s", type, reason);
}

static void results_are_read_per_document(void **state)
{
    (void)state;
    struct verdicts verdicts = { 0 };
    size_t items;
    bool failed;
    assert_int_equal(elasticsearch_response_bulk(bytes_of(
        "{\"took\":3,\"errors\":true,\"items\":[{\"create\":{\"_index\":\"x\",\"_id\":\"1\",\"status\":201}},"
        "{\"create\":{\"status\":400,\"error\":{\"root_cause\":[{\"type\":\"no\"}],\"type\":\"mapper_parsing_exception\","
        "\"reason\":\"failed\",\"caused_by\":{\"type\":\"z\",\"reason\":\"y\"}}}},"
        "{\"create\":{\"status\":429,\"error\":\"EsRejectedExecutionException[x]\"}}]}"), take, &verdicts, &items, &failed), OK);
    assert_true(failed);
    assert_int_equal(items, 3);
    assert_int_equal(verdicts.status[0], 201);
    assert_int_equal(verdicts.status[1], 400);
    assert_string_equal(verdicts.text[1], "mapper_parsing_exception|failed");
    assert_int_equal(verdicts.status[2], 429);
    assert_string_equal(verdicts.text[2], "|EsRejectedExecutionException[x]");
    assert_int_equal(elasticsearch_response_bulk(bytes_of("{\"errors\":false}"), take, &verdicts, &items, &failed), OK);
    assert_false(failed);
    assert_int_equal(verdicts.count, 3);
}

static void invalid_responses_give_no_results(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "{}", "[]", "<html>", "{\"error\":\"x\",\"status\":401}", "{\"errors\":1}",
        "{\"errors\":true,\"items\":[{\"create\":{\"status\":201}},{\"cre", "{\"errors\":true,\"items\":[1]}",
        "{\"errors\":false} x" };
    struct verdicts verdicts = { 0 };
    size_t items;
    bool failed;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(elasticsearch_response_bulk(bytes_of(bad[i]), take, &verdicts, &items, &failed), CORRUPT);
    assert_int_equal(verdicts.count, 0);
}

static void server_versions_are_recognised(void **state)
{
    (void)state;
    unsigned major;
    assert_int_equal(elasticsearch_response_version(
        bytes_of("{\"name\":\"a\",\"version\":{\"number\":\"2.4.1\",\"x\":{}}}"), &major), OK);
    assert_int_equal(major, 2);
    assert_int_equal(elasticsearch_response_version(
        bytes_of("{\"version\":{\"distribution\":\"opensearch\",\"number\":\"1.3.0\"}}"), &major), OK);
    assert_int_equal(major, 8);
    assert_int_equal(elasticsearch_response_version(bytes_of("{\"version\":\"x\"}"), &major), CORRUPT);
    assert_int_equal(elasticsearch_response_version(bytes_of("<html>"), &major), CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(documents_have_the_values_that_fit, begin, end),
        cmocka_unit_test_setup_teardown(events_and_gaps_are_documents, begin, end),
        cmocka_unit_test_setup_teardown(ids_differ_for_any_bytes, begin, end),
        cmocka_unit_test_setup_teardown(mappings_declare_field_types, begin, end),
        cmocka_unit_test(results_are_read_per_document),
        cmocka_unit_test(invalid_responses_give_no_results),
        cmocka_unit_test(server_versions_are_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
