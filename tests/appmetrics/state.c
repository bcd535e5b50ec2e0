/* What ended programs counted in jobs goes through a file into another table. */
#include "appmetrics/state.h"

#include "appmetrics/cells.h"
#include "tools/unit.h"

#include <math.h>

static struct program_table *before, *after;
static struct program_bases bases;
static struct buf file;
static char heard[256];
static const double bounds[] = { 1, 10 };

static int open_all(void **state)
{
    (void)state;
    struct program_table_settings settings = { .host = "n1", .by_user = true };
    buf_init(&file, 1u << 20);
    heard[0] = '\0';
    return program_table_open(&before, &settings) || program_table_open(&after, &settings);
}

static int close_all(void **state)
{
    (void)state;
    program_bases_clear(&bases);
    program_table_close(&before);
    program_table_close(&after);
    buf_clear(&file);
    return 0;
}

static struct program_cell *cell_in(struct program_table *table, struct program_scope *scope, const char *name,
                                    enum program_kind kind)
{
    struct program_metric *metric;
    struct program_description description = {
        .name = bytes_of(name), .doc = bytes_of("helps"), .unit = bytes_of("cells"), .kind = kind, .scope = scope,
        .bounds = bounds, .bound_count = kind == PROGRAM_HISTOGRAM ? 2 : 0,
    };
    assert_int_equal(program_table_metric(table, &description, &metric), OK);
    return program_cell_of(table, metric, scope);
}

/* One that has counted 3 and lives, one that has counted 4 and goes. */
static void count(const char *job)
{
    struct program_scope *scope = program_scope_job(before, job, 7);
    struct program_cell *cell = cell_in(before, scope, "x_total{a=\"b\"}", PROGRAM_COUNTER);
    program_cell_add(before, cell, 3, 1);
    program_cell_add(before, cell, 4, 1);
    program_kept_leave(before, &(struct program_hold){ .cell = cell, .value = 4 });
}

static void hear(void *context, const char *name, uint64_t inode)
{
    (void)context;
    snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s:%d ", name, (int)inode);
}

static enum err pass_on(void)
{
    return program_kept_take(after, (struct bytes){ file.data, file.size }, &bases, hear, NULL);
}

/* There are none. */
static void end_with_ranks(const struct program_table *table)
{
    program_bases_end(&file);
    assert_false(program_kept_ranks(table, &file));
}

/* True: anything of jobs is kept. */
static bool end_file(struct program_table *table)
{
    bool has_any = program_kept_end(table, &file);
    program_bases_end(&file);
    end_with_ranks(table);
    return has_any;
}

static void what_has_gone_goes_on(void **state)
{
    (void)state;
    count("1");
    count("2");
    struct program_scope *one = program_scope_job(before, "1", 7);
    program_kept_add(before, cell_in(before, one, "tau_total", PROGRAM_COUNTER), 0.5);
    cell_in(before, one, "level", PROGRAM_GAUGE);
    double buckets[] = { 1, 2, 3 };
    struct program_cell *sizes = cell_in(before, one, "sizes", PROGRAM_HISTOGRAM);
    program_kept_leave(before, &(struct program_hold){ .cell = sizes, .value = 60, .buckets = buckets });
    program_kept_leave(before, &(struct program_hold){ .cell = sizes, .value = -20, .buckets = buckets });
    assert_true(before->has_news_to_keep);
    program_kept_begin(&file);
    program_kept_board(&file, "sonde.1.sonde.ab", 77);
    program_kept_board(&file, "sonde.2.mpi.cd", 5);
    assert_true(end_file(before));
    assert_false(before->has_news_to_keep);

    assert_int_equal(pass_on(), OK);
    assert_string_equal(heard, "sonde.1.sonde.ab:77 sonde.2.mpi.cd:5 ");
    struct program_scope *again = program_scope_find(after, "1", 7);
    assert_non_null(again);
    const struct program_cell *x = cell_in(after, again, "x_total{a=\"b\"}", PROGRAM_COUNTER);
    assert_true(x->total == 4 && x->kept == 4 && x->metric->node.total == 8);
    assert_string_equal(x->metric->doc, "helps");
    assert_true(cell_in(after, again, "tau_total", PROGRAM_COUNTER)->total == 0.5);
    const struct program_cell *h = cell_in(after, again, "sizes", PROGRAM_HISTOGRAM);
    assert_true(h->total == 40 && h->buckets[0] == 2 && h->buckets[1] == 4 && h->buckets[2] == 6);
    assert_null(program_table_exact(after, bytes_of("level")));

    /* And once more: what was kept is kept on, until the job has gone. */
    buf_reset(&file);
    program_kept_begin(&file);
    assert_true(end_file(after));
    program_scope_drop(after, again);
    assert_true(after->has_news_to_keep);
    program_scope_drop(after, program_scope_find(after, "2", 7));
    assert_int_equal(pass_on(), OK);
    assert_true(cell_in(after, program_scope_find(after, "1", 7), "x_total{a=\"b\"}", PROGRAM_COUNTER)->total == 4);
}

/* Of 7, which stand in a profile, 4 are kept: the others are of one that lives, and are read anew. */
static void what_is_in_a_profile_is_known_again(void **state)
{
    (void)state;
    count("1");
    struct program_scope *one = program_scope_job(before, "1", 7);
    struct program_cell *calls = cell_in(before, one, "mpi_calls_total{function=\"MPI_Send\"}", PROGRAM_COUNTER);
    program_cell_add(before, calls, 9, 1);
    program_kept_add(before, calls, 9);
    calls->dumped = 6;
    cell_in(before, one, "x_total{a=\"b\"}", PROGRAM_COUNTER)->dumped = 7;
    program_kept_begin(&file);
    assert_true(end_file(before));
    assert_int_equal(pass_on(), OK);
    struct program_scope *again = program_scope_find(after, "1", 7);
    assert_true(again->is_dumped);
    assert_true(cell_in(after, again, "x_total{a=\"b\"}", PROGRAM_COUNTER)->dumped == 4);
    const struct program_cell *alias = cell_in(after, again, "tau_hits_total{function=\"mpi_send\"}", PROGRAM_COUNTER);
    assert_true(alias->total == 9 && alias->dumped == 6);
}

static void nothing_is_kept_of_programs_in_no_job(void **state)
{
    (void)state;
    struct program_cell *cell = cell_in(before, program_scope_user(before, 7), "x_total", PROGRAM_COUNTER);
    program_kept_add(before, cell, 5);
    assert_false(before->has_news_to_keep);
    program_kept_begin(&file);
    assert_false(end_file(before));
    assert_int_equal(pass_on(), OK);
}

static void an_infinite_sum_stays_infinite(void **state)
{
    (void)state;
    program_kept_add(before, cell_in(before, program_scope_job(before, "1", 7), "x_total", PROGRAM_COUNTER), INFINITY);
    program_kept_begin(&file);
    end_file(before);
    assert_int_equal(pass_on(), OK);
    assert_true(isinf(cell_in(after, program_scope_find(after, "1", 7), "x_total", PROGRAM_COUNTER)->total));
}

/* A hold of a metric in a scope, as of a board that was just opened. */
struct test_hold {
    struct program_hold hold;
    double buckets[9];
};

static struct program_hold *make_hold(struct test_hold *test, struct program_table *table, struct program_scope *scope,
                                      enum program_kind kind)
{
    *test = (struct test_hold){ 0 };
    test->hold.cell = cell_in(table, scope, kind == PROGRAM_COUNTER ? "x_total" : "sizes", kind);
    test->hold.buckets = test->buckets;
    test->hold.base_buckets = test->buckets + 3;
    test->hold.outside_buckets = test->buckets + 6;
    return &test->hold;
}

/* Has counted 100 in no job, then 20 in job "1", and is in "2" now. */
static void move_counter(struct program_hold *hold)
{
    hold->value = 100;
    program_bases_move(before, hold);
    hold->cell = cell_in(before, program_scope_job(before, "1", 7), "x_total", PROGRAM_COUNTER);
    hold->value = 120;
    program_bases_move(before, hold);
    hold->cell = cell_in(before, program_scope_job(before, "2", 7), "x_total", PROGRAM_COUNTER);
}

/* Two observations in no job, the sum of which is 5. */
static void move_histogram(struct program_hold *hold)
{
    hold->value = 5;
    hold->buckets[0] = hold->buckets[2] = 1;
    program_bases_move(before, hold);
    hold->cell = cell_in(before, program_scope_job(before, "2", 7), "sizes", PROGRAM_HISTOGRAM);
}

static void write_bases(void)
{
    struct test_hold counter, histogram, untouched;
    struct program_hold *holds[] = {
        make_hold(&counter, before, program_scope_user(before, 7), PROGRAM_COUNTER),
        make_hold(&untouched, before, program_scope_user(before, 7), PROGRAM_COUNTER), NULL,
        make_hold(&histogram, before, program_scope_user(before, 7), PROGRAM_HISTOGRAM),
    };
    program_kept_begin(&file);
    program_kept_end(before, &file);
    assert_false(program_bases_add(&file, "sonde.9.sonde.ef", 8, holds, 4));
    move_counter(holds[0]);
    move_histogram(holds[3]);
    assert_true(before->has_news_to_keep);
    assert_true(program_bases_add(&file, "sonde.1.sonde.ab", 77, holds, 4));
    program_bases_end(&file);
    end_with_ranks(before);
}

static void what_was_counted_before_a_job_is_known_again_by_its_board(void **state)
{
    struct test_hold counter, histogram;
    (void)state;
    write_bases();
    assert_int_equal(pass_on(), OK);
    buf_reset(&file); /* of what was not opened yet another file is written */
    program_kept_begin(&file);
    program_kept_end(after, &file);
    assert_true(program_bases_add_all(&file, &bases));
    program_bases_end(&file);
    end_with_ranks(after);
    program_bases_clear(&bases);
    assert_int_equal(pass_on(), OK);
    assert_null(program_bases_find(&bases, "sonde.1.sonde.ab", 78)); /* another file of that name */
    assert_null(program_bases_find(&bases, "sonde.1.sonde.a", 77));
    struct program_base *base = program_bases_find(&bases, "sonde.1.sonde.ab", 77);
    assert_non_null(base);
    assert_null(program_bases_find(&bases, "sonde.1.sonde.ab", 77)); /* once */
    struct program_scope *user = program_scope_user(after, 7), *job = program_scope_job(after, "2", 7);
    program_base_apply(base, after, make_hold(&counter, after, job, PROGRAM_COUNTER), user);
    assert_true(counter.hold.value == 120 && counter.hold.base == 120 && counter.hold.outside == 100);
    assert_true(cell_in(after, user, "x_total", PROGRAM_COUNTER)->total == 100 && counter.hold.cell->total == 0);
    program_base_apply(base, after, make_hold(&histogram, after, job, PROGRAM_HISTOGRAM), user);
    assert_true(histogram.hold.value == 5 && histogram.hold.base == 5);
    assert_true(histogram.buckets[0] == 1 && histogram.buckets[3] == 1 && histogram.buckets[5] == 1 && histogram.buckets[8] == 1);
    const struct program_cell *sizes = cell_in(after, user, "sizes", PROGRAM_HISTOGRAM);
    assert_true(sizes->total == 5 && sizes->buckets[0] == 1 && sizes->buckets[1] == 0 && sizes->buckets[2] == 1);
    program_base_free(&base);
}

/* One that ends anywhere, or has any byte changed, is taken as far as it goes. */
static void damaged_bases(void **state)
{
    (void)state;
    write_bases();
    struct buf head;
    buf_init(&head, 1024);
    program_kept_begin(&head);
    for (size_t size = head.size; size < file.size; size++)
        assert_int_equal(program_kept_take(after, (struct bytes){ file.data, size }, &bases, hear, NULL), CORRUPT);
    for (size_t i = head.size; i < file.size; i++) {
        file.data[i] ^= 0x55;
        pass_on();
        file.data[i] ^= 0x55;
        program_bases_clear(&bases);
    }
    buf_clear(&head);
}

/* It ends behind the jobs, or behind the bases. */
static void the_file_of_an_older_agent_is_read(void **state)
{
    (void)state;
    count("1");
    program_kept_begin(&file);
    program_kept_end(before, &file);
    assert_memory_equal(file.data + 1, "sonde kept 4", 12);
    for (file.data[12] = '2'; file.data[12] < '4'; file.data[12]++) {
        assert_int_equal(pass_on(), OK);
        struct program_scope *scope = program_scope_find(after, "1", 7);
        assert_true(cell_in(after, scope, "x_total{a=\"b\"}", PROGRAM_COUNTER)->total == 4);
        program_scope_drop(after, scope);
        program_bases_end(&file);
    }
}

/* A file that ends anywhere, or is of another kind. */
static void damaged_files(void **state)
{
    (void)state;
    count("1");
    program_kept_begin(&file);
    size_t head = file.size;
    program_kept_board(&file, "sonde.1.sonde.ab", 77);
    end_file(before);
    for (size_t size = 0; size < file.size; size++)
        assert_int_equal(program_kept_take(after, (struct bytes){ file.data, size }, &bases, hear, NULL),
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
