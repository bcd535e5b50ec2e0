/* What ended programs counted in jobs goes through a file into another table. */
#include "appmetrics/saved_state.h"

#include "appmetrics/registry.h"
#include "tools/unit.h"

#include <math.h>

static struct registry *before, *after;
static struct baselines bases;
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
    baselines_clear(&bases);
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

/* One that has counted 3 and lives, one that has counted 4 and goes. */
static void count(const char *job)
{
    struct scope *scope = scopes_job(&before->scopes, job, 7);
    struct cell *cell = cell_in(before, scope, "x_total{a=\"b\"}", PROGRAM_COUNTER);
    cell_add(cell, 3, 1);
    cell_add(cell, 4, 1);
    saved_state_add_contribution(before, &(struct contribution){ .cell = cell, .value.total = 4 });
}

static void hear(void *context, const char *name, uint64_t inode)
{
    (void)context;
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s:%d ", name, (int)inode);
}

static enum err pass_on(void)
{
    return saved_state_read(after, (struct bytes){ file.data, file.size }, &bases, hear, NULL);
}

/* There are none. */
static void end_with_ranks(const struct registry *registry)
{
    baselines_write_end(&file);
    assert_false(saved_state_write_ranks(registry, &file));
}

/* True: anything of jobs is kept. */
static bool end_file(struct registry *registry)
{
    bool has_any = saved_state_write_jobs(registry, &file);
    baselines_write_end(&file);
    end_with_ranks(registry);
    return has_any;
}

static void what_has_gone_goes_on(void **state)
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

    /* And once more: what was kept is kept on, until the job has gone. */
    buf_reset(&file);
    saved_state_begin(&file);
    assert_true(end_file(after));
    registry_drop_scope(after, again);
    assert_true(after->has_unsaved);
    registry_drop_scope(after, scopes_find_job(&after->scopes, "2", 7));
    assert_int_equal(pass_on(), OK);
    assert_true(cell_in(after, scopes_find_job(&after->scopes, "1", 7), "x_total{a=\"b\"}", PROGRAM_COUNTER)->total == 4);
}

/* Of 7, which stand in a profile, 4 are kept: the others are of one that lives, and are read anew. */
static void what_is_in_a_profile_is_known_again(void **state)
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

static void nothing_is_kept_of_programs_in_no_job(void **state)
{
    (void)state;
    struct cell *cell = cell_in(before, scopes_user(&before->scopes, 7), "x_total", PROGRAM_COUNTER);
    saved_state_add(before, cell, 5);
    assert_false(before->has_unsaved);
    saved_state_begin(&file);
    assert_false(end_file(before));
    assert_int_equal(pass_on(), OK);
}

static void an_infinite_sum_stays_infinite(void **state)
{
    (void)state;
    saved_state_add(before, cell_in(before, scopes_job(&before->scopes, "1", 7), "x_total", PROGRAM_COUNTER), INFINITY);
    saved_state_begin(&file);
    end_file(before);
    assert_int_equal(pass_on(), OK);
    assert_true(isinf(cell_in(after, scopes_find_job(&after->scopes, "1", 7), "x_total", PROGRAM_COUNTER)->total));
}

/* A hold of a metric in a scope, as of a board that was just opened. */
struct test_hold {
    struct contribution hold;
    double buckets[9];
};

static struct contribution *make_hold(struct test_hold *test, struct registry *registry, struct scope *scope,
                                      enum program_kind kind)
{
    *test = (struct test_hold){ 0 };
    test->hold.cell = cell_in(registry, scope, kind == PROGRAM_COUNTER ? "x_total" : "sizes", kind);
    test->hold.value.buckets = test->buckets;
    test->hold.base.buckets = test->buckets + 3;
    test->hold.outside.buckets = test->buckets + 6;
    return &test->hold;
}

/* Has counted 100 in no job, then 20 in job "1", and is in "2" now. */
static void move_counter(struct contribution *hold)
{
    hold->value.total = 100;
    baseline_move(before, hold);
    hold->cell = cell_in(before, scopes_job(&before->scopes, "1", 7), "x_total", PROGRAM_COUNTER);
    hold->value.total = 120;
    baseline_move(before, hold);
    hold->cell = cell_in(before, scopes_job(&before->scopes, "2", 7), "x_total", PROGRAM_COUNTER);
}

/* Two observations in no job, the sum of which is 5. */
static void move_histogram(struct contribution *hold)
{
    hold->value.total = 5;
    hold->value.buckets[0] = hold->value.buckets[2] = 1;
    baseline_move(before, hold);
    hold->cell = cell_in(before, scopes_job(&before->scopes, "2", 7), "sizes", PROGRAM_HISTOGRAM);
}

static void write_bases(void)
{
    struct test_hold counter, histogram, untouched;
    struct contribution *holds[] = {
        make_hold(&counter, before, scopes_user(&before->scopes, 7), PROGRAM_COUNTER),
        make_hold(&untouched, before, scopes_user(&before->scopes, 7), PROGRAM_COUNTER), NULL,
        make_hold(&histogram, before, scopes_user(&before->scopes, 7), PROGRAM_HISTOGRAM),
    };
    saved_state_begin(&file);
    saved_state_write_jobs(before, &file);
    assert_false(baselines_write(&file, "sonde.9.sonde.ef", 8, holds, 4));
    move_counter(holds[0]);
    move_histogram(holds[3]);
    assert_true(before->has_unsaved);
    assert_true(baselines_write(&file, "sonde.1.sonde.ab", 77, holds, 4));
    baselines_write_end(&file);
    end_with_ranks(before);
}

static void what_was_counted_before_a_job_is_known_again_by_its_board(void **state)
{
    struct test_hold counter, histogram;
    (void)state;
    write_bases();
    assert_int_equal(pass_on(), OK);
    buf_reset(&file); /* of what was not opened yet another file is written */
    saved_state_begin(&file);
    saved_state_write_jobs(after, &file);
    assert_true(baselines_write_all(&file, &bases));
    baselines_write_end(&file);
    end_with_ranks(after);
    baselines_clear(&bases);
    assert_int_equal(pass_on(), OK);
    assert_null(baselines_take(&bases, "sonde.1.sonde.ab", 78)); /* another file of that name */
    assert_null(baselines_take(&bases, "sonde.1.sonde.a", 77));
    struct baseline *base = baselines_take(&bases, "sonde.1.sonde.ab", 77);
    assert_non_null(base);
    assert_null(baselines_take(&bases, "sonde.1.sonde.ab", 77)); /* once */
    struct scope *user = scopes_user(&after->scopes, 7), *job = scopes_job(&after->scopes, "2", 7);
    baseline_apply(base, after, make_hold(&counter, after, job, PROGRAM_COUNTER), user);
    assert_true(counter.hold.value.total == 120 && counter.hold.base.total == 120 && counter.hold.outside.total == 100);
    assert_true(cell_in(after, user, "x_total", PROGRAM_COUNTER)->total == 100 && counter.hold.cell->total == 0);
    baseline_apply(base, after, make_hold(&histogram, after, job, PROGRAM_HISTOGRAM), user);
    assert_true(histogram.hold.value.total == 5 && histogram.hold.base.total == 5);
    assert_true(histogram.buckets[0] == 1 && histogram.buckets[3] == 1 && histogram.buckets[5] == 1 && histogram.buckets[8] == 1);
    const struct cell *sizes = cell_in(after, user, "sizes", PROGRAM_HISTOGRAM);
    assert_true(sizes->total == 5 && sizes->buckets[0] == 1 && sizes->buckets[1] == 0 && sizes->buckets[2] == 1);
    baseline_free(&base);
}

/* One that ends anywhere, or has any byte changed, is taken as far as it goes. */
static void damaged_bases(void **state)
{
    (void)state;
    write_bases();
    struct buf head;
    buf_init(&head, 1024);
    saved_state_begin(&head);
    for (size_t size = head.size; size < file.size; size++)
        assert_int_equal(saved_state_read(after, (struct bytes){ file.data, size }, &bases, hear, NULL), CORRUPT);
    for (size_t i = head.size; i < file.size; i++) {
        file.data[i] ^= 0x55;
        pass_on();
        file.data[i] ^= 0x55;
        baselines_clear(&bases);
    }
    buf_clear(&head);
}

/* It ends behind the jobs, or behind the bases. */
static void the_file_of_an_older_agent_is_read(void **state)
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
        assert_int_equal(saved_state_read(after, (struct bytes){ file.data, size }, &bases, hear, NULL),
                         size < head ? ABSENT : CORRUPT);
    file.data[2] ^= 1;
    assert_int_equal(pass_on(), ABSENT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_has_gone_goes_on), T(what_is_in_a_profile_is_known_again),
        T(nothing_is_kept_of_programs_in_no_job), T(an_infinite_sum_stays_infinite),
        T(damaged_files), T(what_was_counted_before_a_job_is_known_again_by_its_board), T(damaged_bases),
        T(the_file_of_an_older_agent_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
