/* The exact content of /metrics: names, units, labels, order of families, limits, and access. */
#include "tools/unit.h"

#include "agent/node_view.h"
#include "jobs/job_source.h"
#include "api/metrics_page.h"
#include "model/prom_name.h"
#include "tools/temp.h"

struct fixture {
    struct latest *live;
    struct jobs *jobs;
    struct batch batch;
    struct node_view node;
    struct view view;
    struct buf out;
    char root[TEMP_PATH_MAX];
};

static void nothing(void *context, const struct job *job, enum job_event event)
{
    (void)context;
    (void)job;
    (void)event;
}

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ 0 };
    temp_dir(f.root);
    assert_int_equal(latest_open(&f.live), OK);
    assert_int_equal(jobs_open(&f.jobs, f.root, JOB_SOURCES_ALL, &(struct jobs_listener){ nothing, NULL }), OK);
    batch_init(&f.batch);
    buf_init(&f.out, 1u << 20);
    f.node = (struct node_view){ f.live, f.jobs, "n1" };
    f.view = node_view_of(&f.node, VIEW_ALL);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    batch_clear(&f->batch);
    buf_clear(&f->out);
    jobs_close(&f->jobs);
    latest_close(&f->live);
    temp_remove(f->root);
    return 0;
}

static struct sample *add(struct fixture *f, const struct set *set, const char *instance, const char *job)
{
    struct sample *sample = batch_add(&f->batch, set, 5, instance);
    sample->job = job;
    return sample;
}

static const char *text_of(struct fixture *f, enum metrics_format format, size_t max)
{
    latest_update(f->live, &f->batch, 1);
    batch_reset(&f->batch);
    buf_reset(&f->out);
    metrics_page_write(&f->out, &f->view, format, max);
    assert_int_equal(buf_err(&f->out), OK);
    return buf_text(&f->out);
}

static void job_begins(struct fixture *f, const char *id, const char *user, uint32_t uid)
{
    struct job job = { .id = id, .other_id = "", .source = "told", .user = user, .uid = uid, .start_ns = 1500000000,
                       .cores_milli = 2500, .memory_bytes = 4096, .cgroup = "", .pid = 1 };
    assert_int_equal(jobs_begin(f->jobs, &job), OK);
}

static const struct metric disk_metrics[] = {
    { "busy", "us", COUNTER, U64, "time \\ \"busy\"" },
    { "read", "B", COUNTER, U64, "bytes" },
    { "queue", "1", GAUGE, F64, "requests" },
};
static const struct set disk = { "disk", disk_metrics, 3, "device" };

static void text_format_is_exact(void **state)
{
    struct fixture *f = *state;
    struct sample *sda = add(f, &disk, "sda", NULL);
    sample_set_u64(sda, 0, 1500000);
    sample_set_u64(sda, 1, 7);
    struct sample *odd = add(f, &disk, "s\"d\\b\n\xff", NULL);
    sample_set_u64(odd, 0, 1);
    sample_set_f64(odd, 2, 0.5);
    assert_string_equal(text_of(f, METRICS_TEXT, 100),
        "# TYPE sonde_disk_busy_seconds_total counter\n"
        "# HELP sonde_disk_busy_seconds_total time \\\\ \"busy\"\n"
        "sonde_disk_busy_seconds_total{host=\"n1\",device=\"sda\"} 1.5\n"
        "sonde_disk_busy_seconds_total{host=\"n1\",device=\"s\\\"d\\\\b\\n\xef\xbf\xbd\"} 0.000001\n"
        "# TYPE sonde_disk_read_bytes_total counter\n"
        "# HELP sonde_disk_read_bytes_total bytes\n"
        "sonde_disk_read_bytes_total{host=\"n1\",device=\"sda\"} 7\n"
        "# TYPE sonde_disk_queue gauge\n"
        "# HELP sonde_disk_queue requests\n"
        "sonde_disk_queue{host=\"n1\",device=\"s\\\"d\\\\b\\n\xef\xbf\xbd\"} 0.5\n"
        "# TYPE sonde_build_info gauge\n"
        "# HELP sonde_build_info version of Sonde\n"
        "sonde_build_info{host=\"n1\",version=\"" SONDE_VERSION "\"} 1\n"
        "# TYPE sonde_series gauge\n"
        "# HELP sonde_series number of series of sensors and jobs on this page\n"
        "sonde_series{host=\"n1\"} 4\n"
        "# TYPE sonde_series_left_out gauge\n"
        "# HELP sonde_series_left_out number of series of sensors and jobs left out because of the maximum\n"
        "sonde_series_left_out{host=\"n1\"} 0\n");
}

static void openmetrics_format_is_exact(void **state)
{
    struct fixture *f = *state;
    sample_set_u64(add(f, &disk, "sda", NULL), 0, 1500000);
    const char *text = text_of(f, METRICS_OPEN, 100);
    static const char expected[] = "# TYPE sonde_disk_busy_seconds counter\n"
                                   "# UNIT sonde_disk_busy_seconds seconds\n"
                                   "# HELP sonde_disk_busy_seconds time \\\\ \\\"busy\\\"\n"
                                   "sonde_disk_busy_seconds_total{host=\"n1\",device=\"sda\"} 1.5\n";
    assert_memory_equal(text, expected, sizeof expected - 1);
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
}

static void jobs_have_labels_and_facts(void **state)
{
    struct fixture *f = *state;
    static const struct metric metrics[] = { { "memory", "KB", GAUGE, U64, "memory" } };
    static const struct set cgroup = { "cgroup", metrics, 1 };
    job_begins(f, "4711", "ada", 1000);
    sample_set_u64(add(f, &cgroup, "", "4711"), 0, 2);
    sample_set_u64(add(f, &cgroup, "step_0", "4711"), 0, 1);
    sample_set_u64(add(f, &cgroup, "", "unknown"), 0, 3);
    const char *text = text_of(f, METRICS_TEXT, 100);
    assert_non_null(strstr(text, "\nsonde_cgroup_memory_bytes{host=\"n1\",job=\"4711\",user=\"ada\"} 2048\n"));
    assert_non_null(strstr(text, "bytes{host=\"n1\",job=\"4711\",user=\"ada\",instance_name=\"step_0\"} 1024\n"));
    assert_non_null(strstr(text, "\nsonde_cgroup_memory_bytes{host=\"n1\",job=\"unknown\"} 3072\n"));
    assert_non_null(strstr(text, "\nsonde_job_info{host=\"n1\",job=\"4711\",user=\"ada\",source=\"told\"} 1\n"));
    assert_non_null(strstr(text, "\nsonde_job_start_time_seconds{host=\"n1\",job=\"4711\",user=\"ada\"} 1.5\n"));
    assert_non_null(strstr(text, "\nsonde_job_cores_allowed{host=\"n1\",job=\"4711\",user=\"ada\"} 2.5\n"));
    assert_non_null(strstr(text, "\nsonde_job_memory_limit_bytes{host=\"n1\",job=\"4711\",user=\"ada\"} 4096\n"));
}

static void users_see_their_own_jobs(void **state)
{
    struct fixture *f = *state;
    job_begins(f, "1", "ada", 1000);
    job_begins(f, "2", "bob", 1001);
    sample_set_u64(add(f, &disk, "sda", NULL), 1, 1);
    sample_set_u64(add(f, &disk, "", "1"), 1, 2);
    sample_set_u64(add(f, &disk, "", "2"), 1, 3);
    sample_set_u64(add(f, &disk, "", "3"), 1, 4);
    f->view.uid = 1000;
    const char *text = text_of(f, METRICS_TEXT, 100);
    assert_non_null(strstr(text, "device=\"sda\"} 1\n"));
    assert_non_null(strstr(text, "job=\"1\",user=\"ada\"} 2\n"));
    assert_null(strstr(text, "job=\"2\""));
    assert_null(strstr(text, "job=\"3\""));
    assert_null(strstr(text, "bob"));
}

/* Two different sets of one name: families stay contiguous, and no metric is lost. */
static void families_are_contiguous(void **state)
{
    struct fixture *f = *state;
    static const struct metric first[] = { { "a", "1", GAUGE, U64, "a" }, { "b", "1", GAUGE, U64, "b" } };
    static const struct metric second[] = { { "c", "1", GAUGE, U64, "c" }, { "a", "1", GAUGE, U64, "a" },
                                            { "b", "1", COUNTER, U64, "b" } };
    static const struct set one = { "perf", first, 2 }, two = { "perf", second, 3 };
    struct sample *sample = add(f, &one, "", "1");
    for (size_t i = 0; i < 2; i++)
        sample_set_u64(sample, i, i);
    sample_set_u64(add(f, &disk, "sda", NULL), 1, 1);
    struct sample *other = add(f, &two, "", "2");
    for (size_t i = 0; i < 3; i++)
        sample_set_u64(other, i, 10 + i);
    const char *text = text_of(f, METRICS_TEXT, 100);
    assert_non_null(strstr(text, "# TYPE sonde_perf_a gauge\n# HELP sonde_perf_a a\nsonde_perf_a{host=\"n1\",job=\"1\"} 0\n"
                                 "sonde_perf_a{host=\"n1\",job=\"2\"} 11\n#"));
    assert_non_null(strstr(text, "# TYPE sonde_perf_b gauge\n# HELP sonde_perf_b b\nsonde_perf_b{host=\"n1\",job=\"1\"} 1\n#"));
    assert_non_null(strstr(text, "# TYPE sonde_perf_b_total counter\n# HELP sonde_perf_b_total b\n"
                                 "sonde_perf_b_total{host=\"n1\",job=\"2\"} 12\n#"));
    assert_non_null(strstr(text, "# TYPE sonde_perf_c gauge\n# HELP sonde_perf_c c\nsonde_perf_c{host=\"n1\",job=\"2\"} 10\n#"));
    assert_ptr_equal(strstr(strstr(text, "TYPE sonde_perf_a ") + 1, "TYPE sonde_perf_a "), NULL);
}

/* Two metrics with the same Prometheus name must not make the scrape fail. */
static void a_duplicate_family_is_written_once(void **state)
{
    struct fixture *f = *state;
    static const struct metric metrics[] = { { "read-x", "1", GAUGE, U64, "a" }, { "read_x", "1", GAUGE, U64, "b" } };
    static const struct set set = { "s", metrics, 2 };
    struct sample *sample = add(f, &set, "", NULL);
    sample_set_u64(sample, 0, 1);
    sample_set_u64(sample, 1, 2);
    const char *text = text_of(f, METRICS_TEXT, 100), *at = strstr(text, "# TYPE sonde_s_read_x ");
    assert_non_null(at);
    assert_null(strstr(at + 1, "# TYPE sonde_s_read_x "));
    assert_null(strstr(text, "sonde_s_read_x{host=\"n1\"} 2"));
}

static void cardinality_is_bounded(void **state)
{
    struct fixture *f = *state;
    char job[16];
    static char ids[50][16];
    for (int i = 0; i < 50; i++) {
        snprintf(job, sizeof job, "%d", i);
        memcpy(ids[i], job, sizeof job);
        struct sample *sample = add(f, &disk, "", ids[i]);
        for (size_t k = 0; k < 2; k++)
            sample_set_u64(sample, k, 1);
    }
    sample_set_u64(add(f, &disk, "sda", NULL), 1, 1);
    const char *text = text_of(f, METRICS_TEXT, 21);
    assert_non_null(strstr(text, "\nsonde_series{host=\"n1\"} 21\n"));
    assert_non_null(strstr(text, "\nsonde_series_left_out{host=\"n1\"} 80\n"));
    assert_non_null(strstr(text, "device=\"sda\"}")); /* the node has priority */
    assert_non_null(strstr(text, "job=\"9\"}"));
    assert_null(strstr(text, "job=\"10\"}"));
}

/* Facts of a job are four series, written all or none. */
static void job_series_count_against_the_maximum(void **state)
{
    struct fixture *f = *state;
    char id[16];
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof id, "%d", i);
        job_begins(f, id, "ann", 1000);
    }
    sample_set_u64(add(f, &disk, "sda", NULL), 1, 1);
    sample_set_u64(add(f, &disk, "", "0"), 1, 1);
    const char *text = text_of(f, METRICS_TEXT, 22), *at = text;
    size_t count = 0;
    for (; (at = strstr(at, "\nsonde_")); at++)
        count++;
    assert_int_equal(count, 22 + 3); /* plus three about the agent */
    assert_non_null(strstr(text, "\nsonde_series{host=\"n1\"} 22\n")); /* a node's, five jobs, one of a job */
    assert_non_null(strstr(text, "\nsonde_series_left_out{host=\"n1\"} 180\n"));
    text = text_of(f, METRICS_TEXT, 0);
    assert_null(strstr(text, "sonde_job_"));
    text = text_of(f, METRICS_TEXT, 202);
    assert_non_null(strstr(text, "\nsonde_series{host=\"n1\"} 202\n"));
}

static void an_empty_view_has_a_page(void **state)
{
    struct fixture *f = *state;
    f->node.jobs = NULL;
    assert_non_null(strstr(text_of(f, METRICS_OPEN, 100), "sonde_series{host=\"n1\"} 0\n"));
}

static void names(void **state)
{
    (void)state;
    static const struct { const char *set, *metric, *unit; enum metric_kind kind; const char *name; } cases[] = {
        { "stat", "user", "us", COUNTER, "sonde_stat_user_seconds" },
        { "meminfo", "mem_total", "B", GAUGE, "sonde_meminfo_mem_total_bytes" },
        { "meminfo", "huge_pages_total", "1", GAUGE, "sonde_meminfo_huge_pages_all" },
        { "edac", "ce_count", "1", COUNTER, "sonde_edac_ce_number" },
        { "io", "read_bytes", "B", COUNTER, "sonde_io_read_bytes" },
        { "x", "packets_total", "1", COUNTER, "sonde_x_packets" },
        { "temperature", "value", "C", GAUGE, "sonde_temperature_value_celsius" },
        { "ipmi", "Fan 1 (RPM)", "rpm", GAUGE, "sonde_ipmi_fan_1_rpm" },
        { "ipmi", "Power", "W", GAUGE, "sonde_ipmi_power_watts" },
        { "perf", "L1-dcache-loads", "1", COUNTER, "sonde_perf_l1_dcache_loads" },
        { "rapl", "package", "uJ", COUNTER, "sonde_rapl_package_joules" },
        { "gpu", "busy", "%", GAUGE, "sonde_gpu_busy_ratio" },
        { "meminfo", "s_reclaimable", "B", GAUGE, "sonde_meminfo_sreclaimable_bytes" },
        { "meminfo", "direct_map_2_m", "B", GAUGE, "sonde_meminfo_direct_map_2m_bytes" },
        { "s", "a_s_ms", "1", GAUGE, "sonde_s_a_sms" },
        { "s", "sec", "s", GAUGE, "sonde_s_sec_seconds" },
        { "taskstats", "rss_time", "MB*us", COUNTER, "sonde_taskstats_rss_time_byte_seconds" },
        { "what", "ever", "furlong", GAUGE, "sonde_what_ever" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct set set = { cases[i].set, NULL, 0 };
        struct metric metric = { cases[i].metric, cases[i].unit, cases[i].kind, U64, "" };
        struct prom_name name;
        assert_true(prom_name_of(&set, &metric, &name));
        assert_string_equal(name.text, cases[i].name);
    }
    struct prom_name name;
    assert_false(prom_name_of(&(struct set){ "s", NULL, 0 }, &(struct metric){ "-", "1" }, &name));
}

static void negotiation(void **state)
{
    (void)state;
    static const struct { const char *accept; enum metrics_format format; } cases[] = {
        { "", METRICS_TEXT },
        { "*/*", METRICS_TEXT },
        { "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", METRICS_OPEN },
        { "text/plain, application/openmetrics-text;q=0.5", METRICS_TEXT },
        { "application/openmetrics-text;q=0.5, */*;q=0.1", METRICS_OPEN },
        { "application/openmetrics-text;q=0", METRICS_TEXT },
        { "application/openmetrics-text; q=0.000", METRICS_TEXT },
        { "Application/OpenMetrics-Text", METRICS_OPEN },
        { "text/html,,;;q=,application/json;q=x", METRICS_TEXT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (metrics_format_negotiate(bytes_of(cases[i].accept)) != cases[i].format)
            fail_msg("%s", cases[i].accept);
    assert_int_equal(metrics_format_negotiate((struct bytes){ NULL, 0 }), METRICS_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_format_is_exact, begin, end),
        cmocka_unit_test_setup_teardown(openmetrics_format_is_exact, begin, end),
        cmocka_unit_test_setup_teardown(jobs_have_labels_and_facts, begin, end),
        cmocka_unit_test_setup_teardown(users_see_their_own_jobs, begin, end),
        cmocka_unit_test_setup_teardown(families_are_contiguous, begin, end),
        cmocka_unit_test_setup_teardown(a_duplicate_family_is_written_once, begin, end),
        cmocka_unit_test_setup_teardown(cardinality_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(job_series_count_against_the_maximum, begin, end),
        cmocka_unit_test_setup_teardown(an_empty_view_has_a_page, begin, end),
        cmocka_unit_test(names),
        cmocka_unit_test(negotiation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
