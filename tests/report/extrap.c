/* Lines for Extra-P: both forms, zero padding, skipped jobs, from profiles and from a store. */
#include "report/extrap.h"

#include "analysis/metrics_fixture.h"
#include "report/extrap_store.h"
#include "tools/store_fixture.h"

#include <fcntl.h>
#include <unistd.h>

static char text[100000];

static void write_to_text(struct extrap *extrap, bool has_callpath)
{
    char folder[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct output stream;
    temp_dir(folder);
    temp_join(path, folder, "out");
    assert_int_equal(output_open(&stream, path), OK);
    assert_int_equal(extrap_write(extrap, &stream, has_callpath), OK);
    output_close(&stream);
    int fd = open(path, O_RDONLY);
    ssize_t size = read(fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    close(fd);
    temp_remove(folder);
}

static void add_profile(struct extrap *extrap, const char *id, int32_t size, const char *name, double value,
                        const char *reason)
{
    struct tau_job job = { .size = size };
    struct tau_profile profile;
    const char *metrics;
    snprintf(job.id, sizeof job.id, "%s", id);
    tau_profile_init(&profile, &job);
    assert_int_equal(tau_profile_add(&profile, TAU_COUNTER, name, "", value, 1), OK);
    assert_int_equal(extrap_add_profile(extrap, &profile, &metrics), OK);
    assert_int_equal(metrics != NULL, reason != NULL);
    if (reason)
        assert_string_equal(metrics, reason);
    tau_profile_clear(&profile);
}

static void profiles_become_lines_with_zeros(void **state)
{
    (void)state;
    struct extrap extrap;
    extrap_init(&extrap);
    add_profile(&extrap, "b", 288, "strace_hits_total{scall=\"access\"}", 2016, NULL);
    add_profile(&extrap, "a", 36, "tau_time_total{function=\"mpi_send\",x=\"=,\\\"\"}", 0.5, NULL);
    add_profile(&extrap, "c", -1, "x", 1, "unknown number of ranks");
    add_profile(&extrap, "d", 4, "tau_metric_proxy_run_total{operation=\"badreturn\"}", 1, "a command in it failed");
    write_to_text(&extrap, false);
    assert_string_equal(text,
        "{\"params\":{\"ranks\":36},\"metric\":\"strace_hits_total{scall=\\\"access\\\"}\",\"value\":0.0}\n"
        "{\"params\":{\"ranks\":36},\"metric\":"
        "\"tau_time_total{function=\\\"mpi_send\\\",x=\\\"=,\\\\\\\"\\\"}\",\"value\":0.5}\n"
        "{\"params\":{\"ranks\":288},\"metric\":\"strace_hits_total{scall=\\\"access\\\"}\",\"value\":2016.0}\n"
        "{\"params\":{\"ranks\":288},\"metric\":"
        "\"tau_time_total{function=\\\"mpi_send\\\",x=\\\"=,\\\\\\\"\\\"}\",\"value\":0.0}\n");
    write_to_text(&extrap, true);
    assert_non_null(strstr(text, "{\"params\":{\"Processes\":288},\"callpath\":\"strace_hits_total->scall->\\\"access\\\"\","
                                 "\"metric\":\"Hits\",\"value\":2016.0}\n"));
    assert_non_null(strstr(text, "\"callpath\":\"tau_time_total->function->\\\"mpi_send\\\"->x->\\\"=,\\\\\\\"\\\"\",\"metric\":"
                                 "\"Time (s)\",\"value\":0.5}\n"));
    extrap_clear(&extrap);
}

static void metric_kind_follows_its_name(void **state)
{
    static const struct { const char *name, *kind; } wanted[] = {
        { "timesteps_total", "other" },  { "resizes_total", "other" },      { "whitespace_total", "other" },
        { "recalls_total", "other" },    { "time", "Time (s)" },            { "wait_seconds_total", "Time (s)" },
        { "heap_bytes", "Size (B)" },    { "x_total{a=\"_time_\"}", "other" }, { "size_total{a=\"hits\"}", "Size (B)" },
        { "mpi_calls_total", "Hits" },   { "x__time", "Time (s)" },         { "_", "other" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct extrap extrap;
        char part[64];
        extrap_init(&extrap);
        add_profile(&extrap, "a", 2, wanted[i].name, 1, NULL);
        write_to_text(&extrap, true);
        snprintf(part, sizeof part, "\"metric\":\"%s\"", wanted[i].kind);
        assert_non_null(strstr(text, part));
        extrap_clear(&extrap);
    }
}

/* 0 would be a point of the model, and Extra-P needs a metric in all jobs or none. */
static void infinite_metrics_are_left_out(void **state)
{
    (void)state;
    struct extrap extrap;
    extrap_init(&extrap);
    add_profile(&extrap, "a", 2, "residual", INFINITY, NULL);
    add_profile(&extrap, "b", 4, "residual", 0.5, NULL);
    add_profile(&extrap, "c", 4, "least", -INFINITY, NULL);
    add_profile(&extrap, "d", 4, "steps", 7, NULL);
    write_to_text(&extrap, false);
    assert_null(strstr(text, "residual"));
    assert_null(strstr(text, "least"));
    assert_non_null(strstr(text, "{\"params\":{\"ranks\":2},\"metric\":\"steps\",\"value\":0.0}\n"));
    assert_non_null(strstr(text, "{\"params\":{\"ranks\":4},\"metric\":\"steps\",\"value\":7.0}\n"));
    extrap_clear(&extrap);
}

/* A run with one MPI series, with all ranks of the world or some of them. */
static void save_job(struct store *store, const char *id, const char *tags, unsigned ranks, unsigned world,
                     uint8_t exit_code)
{
    struct fake_run fake;
    struct run_series series[16];
    static uint64_t times_ns[] = { 1700000001000000000ull };
    union value values[MPI_SIZE] = { { .u64 = 7 }, { .u64 = 2000000000 }, { .u64 = 64 }, { .u64 = 0 }, { .u64 = 0 },
                             { .u64 = 0 }, { .u64 = 4000000000 }, { .u64 = world } };
    uint8_t known[MPI_SIZE] = { 1, 1, 1, 1, 1, 1, 1, world != 0 };
    static char names[16][32];
    fake_run_make(&fake, &(struct fake_shape){ .run_id = id, .job_id = id, .tags = tags, .processes = 1 });
    for (unsigned i = 0; i < 2 * ranks; i++) {
        snprintf(names[i], sizeof names[i], "%u/%s", i / 2, i % 2 ? "MPI_Send" : "");
        series[i] = (struct run_series){ .set = mpi_set, .instance = names[i], .count = 1, .times_ns = times_ns,
                                         .values = values, .known = known };
    }
    fake.run.series = series;
    fake.run.series_count = 2 * ranks;
    fake.run.exit_code = exit_code;
    fake.run.status_known = true;
    fixture_file(store, &fake.run);
    fake_run_clear(&fake);
}

static const char *add_job(struct extrap *extrap, struct store *store, const char *id)
{
    struct store_job job = fixture_job(store, id);
    const char *reason;
    assert_int_equal(extrap_add_job(extrap, store, &job, &reason), OK);
    store_job_clear(&job);
    return reason;
}

static void failed_jobs_are_left_out(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    struct extrap extrap;
    extrap_init(&extrap);
    save_job(store, "two", "", 2, 2, 0);
    save_job(store, "four", "", 4, 0, 0); /* from an old store without worlds */
    save_job(store, "eight", "", 2, 8, 0);
    save_job(store, "bad", "", 4, 4, 1);
    save_job(store, "tagged", "a:b;ranks:64", 0, 0, 0);
    assert_null(add_job(&extrap, store, "four"));
    assert_null(add_job(&extrap, store, "two"));
    assert_null(add_job(&extrap, store, "eight"));
    assert_null(add_job(&extrap, store, "tagged"));
    assert_string_equal(add_job(&extrap, store, "bad"), "failed");
    write_to_text(&extrap, false);
#define LINE(ranks, metric, value) \
    "{\"params\":{\"ranks\":" ranks "},\"metric\":\"" metric "{function=\\\"mpi_send\\\"}\",\"value\":" value "}\n"
    const char *two = strstr(text, LINE("2", "tau_hits_total", "14.0"));
    const char *four = strstr(text, LINE("4", "tau_time_total", "8.0"));
    assert_true(two && four && two < four);
    assert_non_null(strstr(text, LINE("8", "tau_hits_total", "14.0")));
    assert_non_null(strstr(text, LINE("64", "tau_hits_total", "0.0")));
#undef LINE
#define LINE(ranks, metric, value) "{\"params\":{\"ranks\":" ranks "},\"metric\":\"" metric "\",\"value\":" value "}\n"
    assert_non_null(strstr(text, LINE("4", "tau_mpi_total{metric=\\\"hits\\\"}", "28.0")));
    assert_non_null(strstr(text, LINE("4", "tau_mpi_total{metric=\\\"time\\\"}", "8.0")));
    assert_non_null(strstr(text, LINE("4", "tau_mpi_total{metric=\\\"size\\\"}", "256.0")));
    assert_non_null(strstr(text, LINE("4", "tau_mpi_total_size{metric=\\\"size_out\\\"}", "256.0")));
    extrap_clear(&extrap);
}

static double value_named(const struct metric_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return list->items[i].value;
    return NAN;
}

static void syscalls_have_tau_totals(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct mpi mpi;
    struct metric_list list;
    job_metrics_init(&metrics);
    metric_list_init(&list);
    metrics_fixture_call(&metrics, "read", 3, 0, 30, 1);
    metrics_fixture_call(&metrics, "read/file:ext4", 3, 0, 30, 1);
    metrics_fixture_call(&metrics, "recvmsg", 1, 0, 5, 2);
    metrics_fixture_call(&metrics, "writev", 2, 0, 7, NAN);
    metrics_fixture_call(&metrics, "futex", 4, 0, NAN, 8);
    assert_int_equal(mpi_read(&mpi, &metrics), OK);
    assert_int_equal(extrap_store_metrics(&list, &(struct store_job){ 0 }, &metrics, &mpi), OK);
    static const struct { const char *name; double value; } wanted[] = {
        { "strace_total{desc=\"hits\"}", 10 },      { "strace_total{desc=\"time\"}", 11 },
        { "strace_total{desc=\"read_time\"}", 3 },  { "strace_read_size_total", 35 },
        { "strace_total{desc=\"read_size\"}", 35 }, { "strace_write_size_total", 7 },
        { "strace_total{desc=\"write_size\"}", 7 },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_true(value_named(&list, wanted[i].name) == wanted[i].value);
    assert_true(isnan(value_named(&list, "strace_total{desc=\"write_time\"}")));
    assert_true(isnan(value_named(&list, "tau_mpi_total{metric=\"hits\"}")));
    metric_list_clear(&list);
    mpi_clear(&mpi);
    job_metrics_clear(&metrics);
}

static void one_way_functions_have_a_size(void **state)
{
    (void)state;
    struct job_metrics metrics;
    struct metric_list list;
    struct mpi_function functions[] = {
        { "MPI_Send", { .calls = 2, .time_s = 1, .out_bytes = 40, .in_bytes = NAN, .wait_s = NAN, .small = 2 } },
        { "MPI_Recv", { .calls = 2, .time_s = 1, .out_bytes = NAN, .in_bytes = 24, .wait_s = NAN, .small = NAN } },
        { "MPI_Comm_rank", { .calls = 1, .time_s = 1, .out_bytes = NAN, .in_bytes = NAN, .wait_s = NAN,
                            .small = NAN } },
    };
    struct mpi mpi = { .functions = functions, .function_count = 3 };
    job_metrics_init(&metrics);
    metric_list_init(&list);
    assert_int_equal(extrap_store_metrics(&list, &(struct store_job){ 0 }, &metrics, &mpi), OK);
    assert_true(value_named(&list, "tau_size_total{function=\"mpi_send\"}") == 40);
    assert_true(value_named(&list, "tau_size_total{function=\"mpi_recv\"}") == 24);
    assert_true(isnan(value_named(&list, "tau_size_total{function=\"mpi_comm_rank\"}")));
    metric_list_clear(&list);
    job_metrics_clear(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_become_lines_with_zeros),
        cmocka_unit_test(metric_kind_follows_its_name),
        cmocka_unit_test(infinite_metrics_are_left_out),
        cmocka_unit_test(syscalls_have_tau_totals),
        cmocka_unit_test(one_way_functions_have_a_size),
        STORE_TEST(failed_jobs_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
