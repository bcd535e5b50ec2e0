/* Documents are byte for byte those of a captured session of Colmet's collector with Elasticsearch. */
#include "sinks/elasticsearch/colmet_documents.h"

#include "base/clock.h"

#include "tools/unit.h"

static struct outbox outbox;
static struct elasticsearch_indexes indexes = { .prefix = "colmet_dahu_" };
static struct elasticsearch_colmet colmet;
static struct batch batch;
static struct metric metrics[COLMET_COLUMNS_MAX];
static struct set set;

static int begin(void **state)
{
    (void)state;
    outbox_init(&outbox, 1u << 20);
    batch_init(&batch);
    return elasticsearch_colmet_open(&colmet);
}

static int end(void **state)
{
    (void)state;
    outbox_clear(&outbox);
    batch_clear(&batch);
    elasticsearch_indexes_clear(&indexes);
    elasticsearch_colmet_close(&colmet);
    return 0;
}

/* A sample received from Colmet, with 7 in all columns, on a node with jobs 42 and 43. */
static void came(enum colmet_backend_id id)
{
    static const struct job a = { .id = "43", .source = "slurm" }, b = { .id = "42", .source = "slurm" };
    static const struct job *const jobs[] = { &a, &b };
    const struct colmet_backend *backend = &colmet_backends[id];
    for (size_t i = 0; i < backend->count; i++)
        metrics[i] = (struct metric){ .name = backend->columns[i].name, .unit = backend->columns[i].unit,
                                      .kind = backend->columns[i].kind, .type = colmet_model_type(backend->columns[i].type) };
    set = (struct set){ .name = backend->name, .metrics = metrics, .size = backend->count };
    batch_reset(&batch);
    outbox_truncate(&outbox, 0);
    batch.host = "vm";
    batch.stream = 5;
    batch.sequence = 6;
    batch.jobs = jobs;
    batch.job_count = 2;
    struct sample *sample = batch_add(&batch, &set, 1700000000 * NS_PER_S, "");
    for (size_t i = 0; i < backend->count; i++)
        sample_set_u64(sample, i, 7);
    assert_int_equal(elasticsearch_colmet_add(&colmet, &outbox, &indexes, &batch), OK);
}

static void ipmi_matches_the_capture(void **state)
{
    (void)state;
    came(COLMET_IPMI);
    assert_string_equal(buf_text(&outbox.bytes),
        "{\"create\": {\"_index\": \"colmet_dahu_ipmipowerstats_default\", \"_id\": \"vm.5.6.ipmipowerstats_default.0.0\"}}\n"
        "{\"hostname\": \"vm\", \"job_id\": 0, \"timestamp\": 1700000000, \"average_power_consumption\": 7, "
        "\"involved_jobs\": [42, 43]}\n");
}

static void infiniband_matches_the_capture(void **state)
{
    (void)state;
    came(COLMET_INFINIBAND);
    assert_non_null(strstr(buf_text(&outbox.bytes), "colmet_dahu_infinibandstats_default"));
    assert_non_null(strstr(buf_text(&outbox.bytes),
        "\n{\"hostname\": \"vm\", \"job_id\": 0, \"timestamp\": 1700000000, \"portXmitData\": 7, \"portRcvData\": 7, "
        "\"portXmitPkts\": 7, \"portRcvPkts\": 7, \"involved_jobs\": [42, 43]}\n"));
}

static void nvidia_matches_the_capture(void **state)
{
    (void)state;
    came(COLMET_NVIDIA);
    assert_non_null(strstr(buf_text(&outbox.bytes),
        "\n{\"hostname\": \"vm\", \"job_id\": 0, \"timestamp\": 1700000000, \"power\": 7, \"temperature\": 7, "
        "\"utilization-gpu\": 7, \"utilization-memory\": 7, \"memory-total\": 7, \"memory-free\": 7, \"memory-used\": 7"));
}

static void counter_labels_are_written_once(void **state)
{
    (void)state;
    static const struct metric energy[] = { { "package", "uJ", COUNTER, U64, "" }, { "package_range", "uJ", GAUGE, U64, "" } };
    static const struct set rapl = { "rapl", energy, 2, "zone" };
    size_t mappings = 0;
    for (uint64_t i = 0; i < 3; i++) {
        batch_reset(&batch);
        batch.host = "vm";
        batch.sequence = i + 1;
        sample_set_u64(batch_add(&batch, &rapl, (1700000000 + i) * NS_PER_S, "package-0"), 0, i * 1000);
        assert_int_equal(elasticsearch_colmet_add(&colmet, &outbox, &indexes, &batch), OK);
    }
    for (const char *at = buf_text(&outbox.bytes); (at = strstr(at, "colmet_dahu_mapping")); at++)
        mappings++;
    assert_int_equal(mappings, 1);
    assert_int_equal(outbox.count, 3); /* the first energy has no difference, and gives no row */
    assert_non_null(strstr(buf_text(&outbox.bytes), "\"metric_backend\": \"RAPLstats_default\", \"counter_1\": \""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ipmi_matches_the_capture, begin, end),
        cmocka_unit_test_setup_teardown(infiniband_matches_the_capture, begin, end),
        cmocka_unit_test_setup_teardown(nvidia_matches_the_capture, begin, end),
        cmocka_unit_test_setup_teardown(counter_labels_are_written_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
