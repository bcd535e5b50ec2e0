/* What ended programs counted in jobs goes through a file into another registry. */
#include "appmetrics/saved_state.h"

#include "appmetrics/registry.h"
#include "tools/unit.h"

#include <math.h>

static struct registry *before, *after;
static struct baselines baselines;
static struct buf file;
static char heard[256];
static const double bounds[] = { 1, 10 };

/* As compat/tau/alias.c has it. */
static size_t alias_of(const struct program_metric *metric, struct metric_alias list[REGISTRY_ALIASES_MAX])
{
    snprintf(list[0].name, sizeof list[0].name, "tau_hits_total{function=\"mpi_send\"}");
    list[0].doc[0] = '\0';
    return strcmp(metric->name.text, "mpi_calls_total{function=\"MPI_Send\"}") == 0;
}

static int open_all(void **state)
{
    (void)state;
    struct registry_settings settings = { .host = "n1", .is_by_user = true, .aliases = alias_of };
    buf_init(&file, 1u << 20);
    heard[0] = '\0';
    return registry_open(&before, &settings) || registry_open(&after, &settings);
}

static int close_all(void **state)
{
    (void)state;
    baselines_clear(&baselines);
    registry_close(&before);
    registry_close(&after);
    buf_clear(&file);
    return 0;
}

static struct cell *cell_in(struct registry *registry, struct scope *scope, const char *name,
                                    enum program_kind kind)
{
    struct program_metric *metric;
    struct metric_description description = {
        .name = bytes_of(name), .doc = bytes_of("helps"), .unit = bytes_of("cells"), .kind = kind, .scope = scope,
        .bounds = bounds, .bound_count = kind == PROGRAM_HISTOGRAM ? 2 : 0,
    };
    assert_int_equal(registry_metric(registry, &description, &metric), OK);
    return registry_cell(registry, metric, scope);
}

/* One program has counted 3 and runs; one has counted 4 and ends. */
static void count(const char *job)
{
    struct scope *scope = scopes_job(&before->scopes, job, 7);
    struct cell *cell = cell_in(before, scope, "x_total{a=\"b\"}", PROGRAM_COUNTER);
    cell_add(cell, 3, 1);
    cell_add(cell, 4, 1);
    saved_state_add_contribution(before, &(struct contribution){ .cell = cell, .value.total = 4 });
}

static void on_segment(void *context, const char *name, uint64_t inode)
{
    (void)context;
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s:%d ", name, (int)inode);
}

static enum err pass_on(void)
{
    return saved_state_read(after, (struct bytes){ file.data, file.size }, &baselines, on_segment, NULL);
}

/* There are no ranks. */
static void end_with_ranks(const struct registry *registry)
{
    baselines_write_end(&file);
    assert_false(saved_state_write_ranks(registry, &file));
}

/* True: something of jobs is saved. */
static bool end_file(struct registry *registry)
{
    bool has_any = saved_state_write_jobs(registry, &file);
    baselines_write_end(&file);
    end_with_ranks(registry);
    return has_any;
}

static void sums_of_ended_programs_survive(void **state)
{
    (void)state;
    count("1");
    count("2");
    struct scope *one = scopes_job(&before->scopes, "1", 7);
    saved_state_add(before, cell_in(before, one, "tau_total", PROGRAM_COUNTER), 0.5);
    cell_in(before, one, "level", PROGRAM_GAUGE);
    double buckets[] = { 1, 2, 3 };
    struct cell *sizes = cell_in(before, one, "sizes", PROGRAM_HISTOGRAM);
    saved_state_add_contribution(before, &(struct contribution){ .cell = sizes, .value = { 60, buckets } });
    saved_state_add_contribution(before, &(struct contribution){ .cell = sizes, .value = { -20, buckets } });
    assert_true(before->has_unsaved);
    saved_state_begin(&file);
    saved_state_write_segment(&file, "sonde.1.sonde.ab", 77);
    saved_state_write_segment(&file, "sonde.2.mpi.cd", 5);
    assert_true(end_file(before));
    assert_false(before->has_unsaved);

    assert_int_equal(pass_on(), OK);
    assert_string_equal(heard, "sonde.1.sonde.ab:77 sonde.2.mpi.cd:5 ");
    struct scope *again = scopes_find_job(&after->scopes, "1", 7);
    assert_non_null(again);
    const struct cell *x = cell_in(after, again, "x_total{a=\"b\"}", PROGRAM_COUNTER);
    assert_true(x->total == 4 && x->saved.total == 4 && x->metric->values.node->total == 8);
    assert_string_equal(x->metric->doc, "helps");
    assert_true(cell_in(after, again, "tau_total", PROGRAM_COUNTER)->total == 0.5);
    const struct cell *h = cell_in(after, again, "sizes", PROGRAM_HISTOGRAM);
    assert_true(h->total == 40 && h->buckets[0] == 2 && h->buckets[1] == 4 && h->buckets[2] == 6);
    assert_null(metric_table_find_exact(&after->metrics, bytes_of("level")));

    /* And again: it stays saved until the job is dropped. */
    buf_reset(&file);
    saved_state_begin(&file);
    assert_true(end_file(after));
    registry_drop_scope(after, again);
    assert_true(after->has_unsaved);
    registry_drop_scope(after, scopes_find_job(&after->scopes, "2", 7));
    assert_int_equal(pass_on(), OK);
    assert_true(cell_in(after, scopes_find_job(&after->scopes, "1", 7), "x_total{a=\"b\"}", PROGRAM_COUNTER)->total == 4);
}

/* Of 7 that are in a profile 4 are saved: the others are of a running program, whose segment is read again. */
static void profiled_part_survives(void **state)
{
    (void)state;
    count("1");
    struct scope *one = scopes_job(&before->scopes, "1", 7);
    struct cell *calls = cell_in(before, one, "mpi_calls_total{function=\"MPI_Send\"}", PROGRAM_COUNTER);
    cell_add(calls, 9, 1);
    saved_state_add(before, calls, 9);
    calls->profiled = 6;
    cell_in(before, one, "x_total{a=\"b\"}", PROGRAM_COUNTER)->profiled = 7;
    saved_state_begin(&file);
    assert_true(end_file(before));
    assert_int_equal(pass_on(), OK);
    struct scope *again = scopes_find_job(&after->scopes, "1", 7);
    assert_true(again->job.is_profiled);
    assert_true(cell_in(after, again, "x_total{a=\"b\"}", PROGRAM_COUNTER)->profiled == 4);
    const struct cell *alias = cell_in(after, again, "tau_hits_total{function=\"mpi_send\"}", PROGRAM_COUNTER);
    assert_true(alias->total == 9 && alias->profiled == 6);
}

static void programs_in_no_job_are_not_saved(void **state)
{
    (void)state;
    struct cell *cell = cell_in(before, scopes_user(&before->scopes, 7), "x_total", PROGRAM_COUNTER);
    saved_state_add(before, cell, 5);
    assert_false(before->has_unsaved);
    saved_state_begin(&file);
    assert_false(end_file(before));
    assert_int_equal(pass_on(), OK);
}

static void infinite_sum_survives(void **state)
{
    (void)state;
    saved_state_add(before, cell_in(before, scopes_job(&before->scopes, "1", 7), "x_total", PROGRAM_COUNTER), INFINITY);
    saved_state_begin(&file);
    end_file(before);
    assert_int_equal(pass_on(), OK);
    assert_true(isinf(cell_in(after, scopes_find_job(&after->scopes, "1", 7), "x_total", PROGRAM_COUNTER)->total));
}

/* A contribution of a metric in a scope, as of a segment that was just opened. */
struct test_contribution {
    struct contribution contribution;
    double buckets[9];
};

static struct contribution *make_hold(struct test_contribution *test, struct registry *registry, struct scope *scope,
                                      enum program_kind kind)
{
    *test = (struct test_contribution){ 0 };
    test->contribution.cell = cell_in(registry, scope, kind == PROGRAM_COUNTER ? "x_total" : "sizes", kind);
    test->contribution.value.buckets = test->buckets;
    test->contribution.base.buckets = test->buckets + 3;
    test->contribution.outside.buckets = test->buckets + 6;
    return &test->contribution;
}

/* Has counted 100 in no job, then 20 in job "1", and is in "2" now. */
static void move_counter(struct contribution *contribution)
{
    contribution->value.total = 100;
    baseline_move(before, contribution);
    contribution->cell = cell_in(before, scopes_job(&before->scopes, "1", 7), "x_total", PROGRAM_COUNTER);
    contribution->value.total = 120;
    baseline_move(before, contribution);
    contribution->cell = cell_in(before, scopes_job(&before->scopes, "2", 7), "x_total", PROGRAM_COUNTER);
}

/* Two observations in no job, the sum of which is 5. */
static void move_histogram(struct contribution *contribution)
{
    contribution->value.total = 5;
    contribution->value.buckets[0] = contribution->value.buckets[2] = 1;
    baseline_move(before, contribution);
    contribution->cell = cell_in(before, scopes_job(&before->scopes, "2", 7), "sizes", PROGRAM_HISTOGRAM);
}

static void write_bases(void)
{
    struct test_contribution counter, histogram, untouched;
    struct contribution *contributions[] = {
        make_hold(&counter, before, scopes_user(&before->scopes, 7), PROGRAM_COUNTER),
        make_hold(&untouched, before, scopes_user(&before->scopes, 7), PROGRAM_COUNTER), NULL,
        make_hold(&histogram, before, scopes_user(&before->scopes, 7), PROGRAM_HISTOGRAM),
    };
    saved_state_begin(&file);
    saved_state_write_jobs(before, &file);
    assert_false(baselines_write(&file, "sonde.9.sonde.ef", 8, contributions, 4));
    move_counter(contributions[0]);
    move_histogram(contributions[3]);
    assert_true(before->has_unsaved);
    assert_true(baselines_write(&file, "sonde.1.sonde.ab", 77, contributions, 4));
    baselines_write_end(&file);
    end_with_ranks(before);
}

static void baselines_survive(void **state)
{
    struct test_contribution counter, histogram;
    (void)state;
    write_bases();
    assert_int_equal(pass_on(), OK);
    buf_reset(&file); /* of what was not opened yet another file is written */
    saved_state_begin(&file);
    saved_state_write_jobs(after, &file);
    assert_true(baselines_write_all(&file, &baselines));
    baselines_write_end(&file);
    end_with_ranks(after);
    baselines_clear(&baselines);
    assert_int_equal(pass_on(), OK);
    assert_null(baselines_take(&baselines, "sonde.1.sonde.ab", 78)); /* another file of that name */
    assert_null(baselines_take(&baselines, "sonde.1.sonde.a", 77));
    struct baseline *base = baselines_take(&baselines, "sonde.1.sonde.ab", 77);
    assert_non_null(base);
    assert_null(baselines_take(&baselines, "sonde.1.sonde.ab", 77)); /* once */
    struct scope *user = scopes_user(&after->scopes, 7), *job = scopes_job(&after->scopes, "2", 7);
    baseline_apply(base, after, make_hold(&counter, after, job, PROGRAM_COUNTER), user);
    assert_true(counter.contribution.value.total == 120 && counter.contribution.base.total == 120
                && counter.contribution.outside.total == 100);
    assert_true(cell_in(after, user, "x_total", PROGRAM_COUNTER)->total == 100 && counter.contribution.cell->total == 0);
    baseline_apply(base, after, make_hold(&histogram, after, job, PROGRAM_HISTOGRAM), user);
    assert_true(histogram.contribution.value.total == 5 && histogram.contribution.base.total == 5);
    assert_true(histogram.buckets[0] == 1 && histogram.buckets[3] == 1 && histogram.buckets[5] == 1 && histogram.buckets[8] == 1);
    const struct cell *sizes = cell_in(after, user, "sizes", PROGRAM_HISTOGRAM);
    assert_true(sizes->total == 5 && sizes->buckets[0] == 1 && sizes->buckets[1] == 0 && sizes->buckets[2] == 1);
    baseline_free(&base);
}

/* A file that is truncated anywhere, or has any byte changed, is read as far as possible. */
static void damaged_baselines(void **state)
{
    (void)state;
    write_bases();
    struct buf head;
    buf_init(&head, 1024);
    saved_state_begin(&head);
    for (size_t size = head.size; size < file.size; size++)
        assert_int_equal(saved_state_read(after, (struct bytes){ file.data, size }, &baselines, on_segment, NULL), CORRUPT);
    for (size_t i = head.size; i < file.size; i++) {
        file.data[i] ^= 0x55;
        pass_on();
        file.data[i] ^= 0x55;
        baselines_clear(&baselines);
    }
    buf_clear(&head);
}

/* It ends after the jobs, or after the baselines. */
static void older_formats_are_read(void **state)
{
    (void)state;
    count("1");
    saved_state_begin(&file);
    saved_state_write_jobs(before, &file);
    assert_memory_equal(file.data + 1, "sonde kept 4", 12);
    for (file.data[12] = '2'; file.data[12] < '4'; file.data[12]++) {
        assert_int_equal(pass_on(), OK);
        struct scope *scope = scopes_find_job(&after->scopes, "1", 7);
        assert_true(cell_in(after, scope, "x_total{a=\"b\"}", PROGRAM_COUNTER)->total == 4);
        registry_drop_scope(after, scope);
        baselines_write_end(&file);
    }
}

/* A file that ends anywhere, or is of another kind. */
static void damaged_files(void **state)
{
    (void)state;
    count("1");
    saved_state_begin(&file);
    size_t head = file.size;
    saved_state_write_segment(&file, "sonde.1.sonde.ab", 77);
    end_file(before);
    for (size_t size = 0; size < file.size; size++)
        assert_int_equal(saved_state_read(after, (struct bytes){ file.data, size }, &baselines, on_segment, NULL),
                         size < head ? ABSENT : CORRUPT);
    file.data[2] ^= 1;
    assert_int_equal(pass_on(), ABSENT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(sums_of_ended_programs_survive), T(profiled_part_survives),
        T(programs_in_no_job_are_not_saved), T(infinite_sum_survives),
        T(damaged_files), T(baselines_survive), T(damaged_baselines),
        T(older_formats_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
