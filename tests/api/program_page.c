/* Program metrics on /metrics and at /programs: families in one piece, each viewer's own, valid in both formats. */
#include "model/view.h"
#include "appmetrics/registry.h"
#include "api/program_json.h"
#include "api/program_page.h"
#include "compat/tau/alias.h"

#include "tools/unit.h"

#include <math.h>

static struct registry *registry;
static struct buf out;

static int open_table(void **state)
{
    (void)state;
    buf_init(&out, 1 << 20);
    return registry_open(&registry, &(struct registry_settings){
        .host = "n1", .is_by_user = true, .aliases = tau_alias_list,
    });
}

static int close_table(void **state)
{
    (void)state;
    buf_clear(&out);
    registry_close(&registry);
    return 0;
}

static struct program_metric *make(const char *name, enum program_kind kind)
{
    struct program_metric *metric;
    struct metric_description description = {
        .name = bytes_of(name), .doc = bytes_of("a \"doc\"\n"), .unit = { "", 0 }, .kind = kind,
    };
    static const double bounds[] = { 0.5, 2 };
    if (kind == PROGRAM_HISTOGRAM) {
        description.bounds = bounds;
        description.bound_count = 2;
    }
    assert_int_equal(registry_metric(registry, &description, &metric), OK);
    return metric;
}

static const char *page(enum metrics_format format, uint32_t viewer)
{
    buf_reset(&out);
    program_page_write(&out, registry, &(struct program_page){ .format = format, .viewer = viewer });
    assert_int_equal(buf_err(&out), OK);
    return buf_text(&out);
}

static const char *ask(const char *query, uint32_t viewer)
{
    buf_reset(&out);
    assert_int_equal(program_json_write(&out, registry, bytes_of(query), viewer), OK);
    return buf_text(&out);
}

/* Tau's proxy shows the first 4096 of a family. */
static void a_family_has_all_its_series(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    for (int i = 0; i < COUNT; i++) {
        char name[64];
        snprintf(name, sizeof name, "x_total{i=\"%d\"}", i);
        cell_add(make(name, PROGRAM_COUNTER)->values.node, i + 1, 5);
    }
    size_t lines = 0;
    for (const char *at = page(METRICS_TEXT, VIEW_ALL); (at = strstr(at, "\nx_total{")); at++)
        lines++;
    assert_int_equal(lines, COUNT);
    assert_non_null(strstr(buf_text(&out), "x_total{i=\"9999\",host=\"n1\"} 10000\n"));
}

static void a_series_is_not_shown_before_its_user_is_known(void **state)
{
    (void)state;
    registry->scopes.looks_up_users = true;
    struct program_metric *metric = make("x_total", PROGRAM_COUNTER);
    struct scope *job = scopes_job(&registry->scopes, "4711", 1001);
    struct scope *user = scopes_user(&registry->scopes, 1001);
    assert_non_null(registry_cell(registry, metric, job));
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "x_total{host=\"n1\"} 0"));
    assert_null(strstr(page(METRICS_TEXT, VIEW_ALL), "4711"));
    assert_null(strstr(page(METRICS_TEXT, VIEW_ALL), "1001"));
    job->user.is_pending = user->user.is_pending = false;
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "job=\"4711\""));
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "user=\"1001\""));
}

/* Otherwise the sum over the series of a name would contain what a job has counted two or three times. */
static void scopes_have_different_names(void **state)
{
    (void)state;
    struct scope *job = scopes_job(&registry->scopes, "4711", 1001);
    cell_add(registry_cell(registry, make("x_total", PROGRAM_COUNTER), job), 3, 5);
    cell_add(registry_cell(registry, make("y_total", PROGRAM_COUNTER), job), 4, 5);
    cell_add(make("job_y_total", PROGRAM_COUNTER)->values.node, 5, 5); /* a program has the name of the sum of a job */
    const char *text = page(METRICS_TEXT, VIEW_ALL);
    assert_non_null(strstr(text, "# TYPE x_total counter\nx_total{host=\"n1\"} 3\n# HELP user_x_total"));
    assert_non_null(strstr(text, "# TYPE user_x_total counter\nuser_x_total{host=\"n1\",user=\"1001\"} 3\n# HELP job_x_total"));
    assert_non_null(strstr(text, "# TYPE job_x_total counter\njob_x_total{host=\"n1\",job=\"4711\""));
    assert_non_null(strstr(text, "\njob_y_total{host=\"n1\"} 5\n"));
    assert_null(strstr(text, "job_y_total{host=\"n1\",job="));
    assert_non_null(strstr(page(METRICS_OPEN, VIEW_ALL), "# TYPE job_x counter\njob_x_total{"));
}

static void tau_has_one_series_per_metric(void **state)
{
    (void)state;
    struct scope *job = scopes_job(&registry->scopes, "4711", 1001);
    struct contribution one = { 0 }, two = { 0 };
    cell_add(registry_cell(registry, make("x_total", PROGRAM_COUNTER), job), 3, 5);
    struct cell *gauge = registry_cell(registry, make("g", PROGRAM_GAUGE), job);
    contribution_join(&one, gauge);
    contribution_join(&two, gauge);
    one.cell = two.cell = gauge;
    contribution_set(&one, 10, 5);
    contribution_set(&two, 2, 5);
    buf_reset(&out);
    program_page_write(&out, registry, &(struct program_page){ .viewer = VIEW_ALL, .is_node_only = true });
    assert_non_null(strstr(buf_text(&out), "\nx_total{host=\"n1\"} 3\n"));
    assert_non_null(strstr(buf_text(&out), "\ng{host=\"n1\"} 6\n"));
    assert_null(strstr(buf_text(&out), "4711"));
    assert_null(strstr(buf_text(&out), "user_x"));
    assert_null(strstr(buf_text(&out), "g_mean"));
    contribution_leave(&one, 6);
    contribution_leave(&two, 6);
}

static void a_family_stands_in_one_piece(void **state)
{
    (void)state;
    make("x_total{a=\"1\"}", PROGRAM_COUNTER);
    make("y_total", PROGRAM_COUNTER);
    cell_add(make("x_total{a=\"2\"}", PROGRAM_COUNTER)->values.node, 1.5, 1);
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL),
                           "# HELP x_total a \"doc\"\\n\n# TYPE x_total counter\n"
                           "x_total{a=\"1\",host=\"n1\"} 0\nx_total{a=\"2\",host=\"n1\"} 1.5\n# HELP"));
    assert_non_null(strstr(page(METRICS_OPEN, VIEW_ALL), "# HELP x a \\\"doc\\\"\\n\n# TYPE x counter\nx_total{a=\"1\""));
}

static void help_is_utf8_whatever_a_program_says(void **state)
{
    struct program_metric *metric;
    (void)state;
    struct metric_description description = { .name = bytes_of("x_total"), .unit = { "", 0 }, .kind = PROGRAM_COUNTER };
    description.doc = bytes_of("\xff of \xc3\xa9t\xc3\xa9\r\x80 cut \xe2\x82");
    assert_int_equal(registry_metric(registry, &description, &metric), OK);
    static const char line[] = "# HELP x_total \xef\xbf\xbd of \xc3\xa9t\xc3\xa9 \xef\xbf\xbd cut \xef\xbf\xbd\xef\xbf\xbd\n";
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), line));
    const char *open = page(METRICS_OPEN, VIEW_ALL);
    assert_null(strchr(open, '\xff'));
    assert_non_null(strstr(open, "# HELP x \xef\xbf\xbd of"));
}

static void open_metrics_has_no_counter_without_total(void **state)
{
    (void)state;
    make("odd", PROGRAM_COUNTER);
    make("z", PROGRAM_GAUGE);
    make("z_total", PROGRAM_COUNTER); /* its family would be that of the gauge */
    assert_non_null(strstr(page(METRICS_OPEN, VIEW_ALL), "# TYPE odd unknown\n"));
    assert_non_null(strstr(page(METRICS_OPEN, VIEW_ALL), "# TYPE z_total unknown\n"));
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "# TYPE odd counter\n"));
}

static void a_histogram_is_cumulative(void **state)
{
    (void)state;
    struct program_metric *metric = make("h", PROGRAM_HISTOGRAM);
    cell_observe(metric->values.node, (const double[]){ 1, 2, 3 }, 12.5, 1);
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "h_bucket{le=\"0.5\",host=\"n1\"} 1\nh_bucket{le=\"2\",host=\"n1\"} 3\n"
                                                         "h_bucket{le=\"+Inf\",host=\"n1\"} 6\nh_sum{host=\"n1\"} 12.5\n"
                                                         "h_count{host=\"n1\"} 6\n"));
}

/* How often a series, or the type of a family, stands on the page. */
static size_t times(const char *text, const char *line)
{
    size_t count = 0;
    for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
        count += at == text || at[-1] == '\n';
    return count;
}

static void no_series_is_there_twice(void **state)
{
    static const char *const parts[] = {
        "h_count{host=", "h_sum{host=", "h_bucket{le=\"0.5\",host=", "k_count{host=", "k_sum{host=",
    };
    (void)state;
    make("h", PROGRAM_HISTOGRAM);
    make("h_count", PROGRAM_COUNTER);
    make("h_sum", PROGRAM_COUNTER);
    make("h_bucket{le=\"0.5\"}", PROGRAM_COUNTER);
    make("k_count", PROGRAM_COUNTER);
    make("k_sum", PROGRAM_COUNTER);
    make("k", PROGRAM_HISTOGRAM); /* the other way round */
    make("h_count_total", PROGRAM_COUNTER); /* whose family in OpenMetrics would be h_count */
    for (enum metrics_format format = METRICS_TEXT; format <= METRICS_OPEN; format++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            assert_int_equal(times(page(format, VIEW_ALL), parts[i]), 1);
    assert_int_equal(times(page(METRICS_TEXT, VIEW_ALL), "h_count_counter{host="), 1);
    assert_int_equal(times(page(METRICS_TEXT, VIEW_ALL), "k_histogram_count{host="), 1);
    assert_int_equal(times(page(METRICS_OPEN, VIEW_ALL), "# TYPE h_count "), 0);
    assert_int_equal(times(page(METRICS_OPEN, VIEW_ALL), "# TYPE h_count_total unknown"), 1);
}

static void no_family_is_there_twice(void **state)
{
    struct contribution holds[2] = { 0 };
    (void)state;
    struct program_metric *gauge = make("queue", PROGRAM_GAUGE);
    make("queue_min_total", PROGRAM_COUNTER); /* whose families in OpenMetrics would be those of the gauge */
    make("queue_mean_total", PROGRAM_COUNTER);
    make("other_max_total", PROGRAM_COUNTER);
    for (size_t i = 0; i < 2; i++) {
        contribution_join(&holds[i], gauge->values.node);
        contribution_set(&holds[i], (double)i, 1);
    }
    assert_int_equal(times(page(METRICS_OPEN, VIEW_ALL), "# TYPE queue_min gauge\n"), 1);
    assert_int_equal(times(page(METRICS_OPEN, VIEW_ALL), "# TYPE queue_min "), 1);
    assert_int_equal(times(page(METRICS_OPEN, VIEW_ALL), "# TYPE queue_mean "), 1);
    assert_int_equal(times(page(METRICS_OPEN, VIEW_ALL), "# TYPE queue_min_total unknown\n"), 1);
    assert_int_equal(times(page(METRICS_OPEN, VIEW_ALL), "# TYPE other_max counter\n"), 1);
    assert_int_equal(times(page(METRICS_TEXT, VIEW_ALL), "# TYPE queue_min_total counter\n"), 1);
    for (size_t i = 0; i < 2; i++)
        contribution_leave(&holds[i], 2);
}

/* How many lines begin as another one: series that stand there twice. */
static size_t twice(const char *text)
{
    size_t count = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        size_t size = (size_t)(strchr(line, '\n') - line);
        while (size && line[size - 1] != ' ')
            size--;
        for (const char *other = text; *line != '#' && other < line; other = strchr(other, '\n') + 1)
            count += strncmp(line, other, size) == 0;
    }
    return count;
}

static void names_that_become_equal_stay_distinct(void **state)
{
    (void)state;
    make("w{job=\"5\"}", PROGRAM_COUNTER);
    make("w{program_job=\"5\"}", PROGRAM_COUNTER);
    make("program_sonde_agent_info", PROGRAM_COUNTER);
    make("sonde_agent_info", PROGRAM_COUNTER); /* the other way round */
    make("y{a=\"1\"}", PROGRAM_COUNTER);
    make("y{a=\"2\"}", PROGRAM_HISTOGRAM);
    make("y_histogram{a=\"2\"}", PROGRAM_HISTOGRAM);
    make("v{le=\"1\",program_name=\"x\"}", PROGRAM_COUNTER);
    make("v{program_le=\"1\",program_name=\"x\"}", PROGRAM_COUNTER);
    make("z{a=\"\"}", PROGRAM_COUNTER); /* the same to Prometheus */
    make("z", PROGRAM_COUNTER);
    for (enum metrics_format format = METRICS_TEXT; format <= METRICS_OPEN; format++)
        assert_int_equal(twice(page(format, VIEW_ALL)), 0);
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "w{program_job=\"5\",host="));
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL),
                           "w{program_job=\"5\",program_name=\"w{program_job=\\\"5\\\"}\",host="));
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "program_sonde_agent_info{program_name=\"sonde_agent_info\",host="));
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "program_name=\"x\",program_program_name=\"v{"));
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "\nz{host="));
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "\nz{program_name=\"z\",host="));
}

static void users_without_names_have_jobs_of_their_own(void **state)
{
    (void)state;
    registry->scopes.looks_up_users = true;
    struct program_metric *metric = make("x_total", PROGRAM_COUNTER);
    for (uint32_t uid = 1001; uid < 1004; uid++) {
        struct scope *job = scopes_job(&registry->scopes, "4242", uid);
        cell_add(registry_cell(registry, metric, job), uid, 1);
        job->user.is_pending = false; /* it was looked for, and nobody knows it */
    }
    assert_int_equal(twice(page(METRICS_TEXT, VIEW_ALL)), 0);
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "job=\"4242\",user=\"1002\"} 1002\n"));
    assert_non_null(strstr(ask("user=1002", VIEW_ALL), "x_total"));
    assert_null(strstr(ask("user=1004", VIEW_ALL), "x_total"));
    assert_non_null(strstr(ask("user=1002", VIEW_ALL), "\"job\": null, \"user\": \"1002\"")); /* not as the node's */
    assert_null(strstr(strstr(ask("all", VIEW_ALL), "\"user\": null") + 1, "\"user\": null"));
    assert_non_null(strstr(ask("job=4242&user=1002", VIEW_ALL), "\"job\": \"4242\", \"user\": \"1002\", \"value\": 1002"));
    assert_null(strstr(ask("job=4242&user=1002", VIEW_ALL), "1003"));
    assert_null(strstr(ask("job=4711&user=1002", VIEW_ALL), "x_total"));
}

static void users_see_their_own_jobs(void **state)
{
    (void)state;
    struct program_metric *metric = make("x_total", PROGRAM_COUNTER);
    cell_add(registry_cell(registry, metric, scopes_job(&registry->scopes, "1", 7)), 3, 1);
    cell_add(registry_cell(registry, metric, scopes_job(&registry->scopes, "2", 8)), 4, 1);
    assert_non_null(strstr(page(METRICS_TEXT, VIEW_ALL), "job=\"2\"} 4\n"));
    assert_non_null(strstr(page(METRICS_TEXT, 7), "job=\"1\"} 3\n"));
    assert_null(strstr(page(METRICS_TEXT, 7), "job=\"2\""));
    assert_non_null(strstr(page(METRICS_TEXT, 7), "x_total{host=\"n1\"} 7\n"));
    assert_null(strstr(page(METRICS_TEXT, VIEW_NODE), "job="));
    assert_null(strstr(ask("all", 7), "\"job\": \"2\""));
    assert_non_null(strstr(ask("job=1", 7), "\"value\": 3"));
    assert_null(strstr(ask("job=2", 7), "\"value\""));
}

static void questions_choose(void **state)
{
    (void)state;
    cell_add(make("x_total{a=\"b\"}", PROGRAM_COUNTER)->values.node, 3, 5000000000);
    cell_add(make("mpi_calls_total{function=\"MPI_Send\"}", PROGRAM_COUNTER)->values.node, 4, 9000000000);
    assert_non_null(strstr(ask("name=x_total%7Ba%3Db%7D", VIEW_ALL), "\"value\": 3, \"ts\": 5"));
    assert_null(strstr(ask("name=x_total%7Ba%3Db%7D", VIEW_ALL), "mpi"));
    assert_null(strstr(ask("since=5", VIEW_ALL), "x_total"));
    assert_non_null(strstr(ask("since=5", VIEW_ALL), "mpi_calls_total"));
    assert_null(strstr(ask("", VIEW_ALL), "tau_hits_total"));
    assert_non_null(strstr(ask("tau", VIEW_ALL), "tau_hits_total{function=\\\"mpi_send\\\"}"));
    assert_null(strstr(ask("list", VIEW_ALL), "\"value\""));
    buf_reset(&out);
    assert_int_equal(program_json_write(&out, registry, bytes_of("nonsense=1"), VIEW_ALL), USAGE);
}

static void an_infinite_gauge_is_a_text(void **state)
{
    struct program_metric *metric = make("g", PROGRAM_GAUGE);
    struct contribution holds[2] = { 0 };
    (void)state;
    for (size_t i = 0; i < 2; i++)
        contribution_join(&holds[i], metric->values.node);
    contribution_set(&holds[0], -INFINITY, 1);
    assert_non_null(strstr(ask("", VIEW_ALL), "\"value\": \"-inf\", \"sum\": \"-inf\", \"min\": \"-inf\""));
    contribution_set(&holds[1], INFINITY, 1);
    assert_non_null(strstr(ask("", VIEW_ALL),
                           "\"value\": null, \"sum\": null, \"min\": \"-inf\", \"max\": \"inf\", \"mean\": null"));
    for (size_t i = 0; i < 2; i++)
        contribution_leave(&holds[i], 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_table, close_table)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scopes_have_different_names), TEST(tau_has_one_series_per_metric),
        TEST(a_family_stands_in_one_piece), TEST(a_family_has_all_its_series),
        TEST(a_series_is_not_shown_before_its_user_is_known),
        TEST(help_is_utf8_whatever_a_program_says),
        TEST(open_metrics_has_no_counter_without_total), TEST(a_histogram_is_cumulative),
        TEST(no_series_is_there_twice), TEST(no_family_is_there_twice), TEST(names_that_become_equal_stay_distinct),
        TEST(users_without_names_have_jobs_of_their_own), TEST(users_see_their_own_jobs), TEST(questions_choose),
        TEST(an_infinite_gauge_is_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
