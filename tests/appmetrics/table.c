/* The table of what programs tell: sums per node, user and job, gauges over live programs, names of tau. */
#include "model/program_sets.h"
#include "appmetrics/cells.h"
#include "appmetrics/quota.h"
#include "appmetrics/samples.h"

#include "tools/unit.h"

#include <math.h>

static struct program_table *table;

static int open_table(void **state)
{
    (void)state;
    return program_table_open(&table, &(struct program_table_settings){ .host = "n1", .metrics_max = 10, .by_user = true });
}

static int close_table(void **state)
{
    (void)state;
    program_table_close(&table);
    return 0;
}

static enum err make_of(struct program_scope *scope, const char *name, enum program_kind kind, struct program_metric **metric)
{
    struct program_description description = {
        .name = bytes_of(name), .doc = { "", 0 }, .unit = { "", 0 }, .kind = kind, .scope = scope,
    };
    return program_table_metric(table, &description, metric);
}

static enum err make(const char *name, enum program_kind kind, struct program_metric **metric)
{
    return make_of(NULL, name, kind, metric);
}

static void a_counter_is_summed_over_job_user_and_node(void **state)
{
    struct program_metric *metric;
    (void)state;
    assert_int_equal(make("x_total", PROGRAM_COUNTER, &metric), OK);
    struct program_scope *one = program_scope_job(table, "1", 7), *two = program_scope_job(table, "2", 7);
    struct program_scope *other = program_scope_job(table, "1", 8); /* the same id of another user is another job */
    program_cell_add(table, program_cell_of(table, metric, one), 3, 1);
    program_cell_add(table, program_cell_of(table, metric, two), 4, 1);
    program_cell_add(table, program_cell_of(table, metric, other), 5, 1);
    assert_true(program_cell_of(table, metric, one)->total == 3);
    assert_true(program_cell_of(table, metric, program_scope_user(table, 7))->total == 7);
    assert_true(metric->node.total == 12);
    program_scope_drop(table, one); /* what it counted stays */
    assert_true(program_cell_of(table, metric, program_scope_user(table, 7))->total == 7);
    assert_true(metric->node.total == 12);
}

static void what_is_no_number_does_not_spoil_a_counter(void **state)
{
    struct program_metric *metric;
    (void)state;
    assert_int_equal(make("x_total", PROGRAM_COUNTER, &metric), OK);
    assert_true(program_cell_add(table, &metric->node, 2, 1));
    assert_false(program_cell_add(table, &metric->node, NAN, 1));
    assert_false(program_cell_add(table, &metric->node, INFINITY, 1));
    assert_false(program_cell_add(table, &metric->node, -INFINITY, 1));
    assert_false(program_cell_add(table, &metric->node, -1, 1)); /* a counter does not fall */
    assert_true(metric->node.total == 2);
}

static void a_counter_beyond_all_numbers_is_infinite_where_it_is_that(void **state)
{
    struct program_metric *metric;
    (void)state;
    assert_int_equal(make("x_total", PROGRAM_COUNTER, &metric), OK);
    struct program_cell *one = program_cell_of(table, metric, program_scope_job(table, "1", 7));
    struct program_cell *two = program_cell_of(table, metric, program_scope_job(table, "2", 8));
    assert_true(program_cell_add(table, one, 1.7e308, 1));
    assert_true(program_cell_add(table, two, 1.7e308, 1)); /* too much for the node alone */
    assert_true(metric->node.total == INFINITY && one->total == 1.7e308 && two->total == 1.7e308);
    assert_true(program_cell_add(table, one, 1.7e308, 1));
    assert_true(program_cell_add(table, one, 4, 1));
    assert_true(metric->node.total == INFINITY && one->total == INFINITY && two->total == 1.7e308);
    program_cell_overflow(table, two, 1);
    assert_true(two->total == INFINITY);
}

static void a_histogram_whose_sum_is_beyond_all_numbers_keeps_its_buckets(void **state)
{
    struct program_metric *metric;
    static const double bounds[] = { 1 }, seen[] = { 1, 2 };
    (void)state;
    struct program_description description = {
        .name = bytes_of("h"), .doc = { "", 0 }, .unit = { "", 0 }, .kind = PROGRAM_HISTOGRAM, .bounds = bounds, .bound_count = 1,
    };
    assert_int_equal(program_table_metric(table, &description, &metric), OK);
    assert_true(program_cell_observe(table, &metric->node, seen, 1.7e308, 1));
    assert_false(program_cell_observe(table, &metric->node, seen, NAN, 1));
    assert_true(metric->node.total == 1.7e308);
    assert_true(program_cell_observe(table, &metric->node, seen, 1.7e308, 1));
    assert_true(program_cell_observe(table, &metric->node, seen, -1.7e308, 1));
    assert_true(program_cell_observe(table, &metric->node, seen, -INFINITY, 1)); /* that of another program: it is not known */
    assert_true(metric->node.total == INFINITY && metric->node.buckets[0] == 5 && metric->node.buckets[1] == 10);
}

static void a_gauge_is_of_the_programs_that_are_alive(void **state)
{
    struct program_metric *metric;
    struct program_hold holds[3] = { 0 };
    (void)state;
    assert_int_equal(make("g", PROGRAM_GAUGE, &metric), OK);
    for (size_t i = 0; i < 3; i++)
        program_hold_join(&holds[i], program_cell_of(table, metric, program_scope_job(table, i ? "1" : "2", 7)));
    program_hold_set(table, &holds[0], 10, 1);
    program_hold_set(table, &holds[1], 2, 1); /* the third has said nothing */
    program_table_settle(metric);
    assert_int_equal(metric->node.gauge.programs, 2);
    assert_true(metric->node.gauge.sum == 12 && metric->node.gauge.min == 2 && metric->node.gauge.max == 10);
    program_hold_leave(table, &holds[0], 2);
    program_table_settle(metric);
    assert_true(metric->node.gauge.sum == 2 && metric->node.gauge.programs == 1);
    assert_int_equal(program_cell_of(table, metric, program_scope_job(table, "2", 7))->gauge.programs, 0);
    program_hold_leave(table, &holds[1], 3);
    program_hold_leave(table, &holds[2], 3);
    program_table_settle(metric);
    assert_int_equal(metric->node.gauge.programs, 0);
}

static enum err make_with_bounds(const char *name, const double *bounds, size_t count, struct program_metric **metric)
{
    struct program_description description = {
        .name = bytes_of(name), .kind = PROGRAM_HISTOGRAM, .bounds = bounds, .bound_count = count,
    };
    return program_table_metric(table, &description, metric);
}

static void a_name_that_nobody_has_any_more_may_have_another_type(void **state)
{
    static const double bounds[] = { 1, 10, 100 };
    struct program_metric *metric;
    (void)state;
    assert_int_equal(make_of(program_scope_user(table, 7), "level", PROGRAM_COUNTER, &metric), OK);
    program_cell_add(table, program_cell_of(table, metric, program_scope_user(table, 7)), 3, 1);
    assert_int_equal(make_of(program_scope_user(table, 8), "level", PROGRAM_GAUGE, &metric), OK);
    assert_int_equal(metric->kind, PROGRAM_GAUGE);
    assert_string_equal(metric->page, "level{"); /* the family of the counter has gone with it */
    assert_null(metric->cells);
    assert_int_equal(make_with_bounds("h", bounds, 2, &metric), OK);
    assert_int_equal(make_with_bounds("h", bounds, 3, &metric), OK);
    assert_int_equal(metric->bound_count, 3);
    assert_int_equal(table->figures.metrics, 2);
    assert_int_equal(table->figures.refused, 0);
}

static void a_name_of_a_job_that_is_there_has_one_type(void **state)
{
    struct program_metric *metric;
    struct buf why;
    (void)state;
    struct program_scope *job = program_scope_job(table, "1", 7);
    assert_int_equal(make("level", PROGRAM_COUNTER, &metric), OK);
    assert_non_null(program_cell_of(table, metric, job)); /* its sum is not lost */
    assert_int_equal(make_of(program_scope_user(table, 8), "level", PROGRAM_GAUGE, &metric), USAGE);
    assert_int_equal(table->figures.refused, 1);
    assert_int_equal(table->refusal.uid, 8);
    buf_init(&why, 256);
    program_refusal_write(&why, &table->refusal);
    assert_string_equal(buf_text(&why), "level is a gauge of one program and a counter of another");
    buf_clear(&why);
    program_scope_drop(table, job);
    assert_int_equal(make_of(program_scope_user(table, 8), "level", PROGRAM_GAUGE, &metric), OK);
    table->is_job = true; /* as that of a run: all of it is one job */
    assert_int_equal(make("level", PROGRAM_COUNTER, &metric), USAGE);
}

static void one_name_has_one_type(void **state)
{
    struct program_metric *metric, *same;
    (void)state;
    assert_int_equal(make("x{a=\"1\",b=\"2\"}", PROGRAM_COUNTER, &metric), OK);
    assert_int_equal(make("x{b=2,a=1}", PROGRAM_COUNTER, &same), OK);
    assert_ptr_equal(metric, same);
    program_room_use(table, metric);
    assert_int_equal(make("x{a=\"1\",b=\"2\"}", PROGRAM_GAUGE, &same), USAGE);
    assert_null(same);
    assert_int_equal(table->figures.refused, 1);
    assert_int_equal(make("x{a=\"other\"}", PROGRAM_GAUGE, &same), OK); /* of the same family on the page it cannot be */
    assert_ptr_not_equal(metric->family, same->family);
    assert_string_equal(same->family->name, "x_gauge");
    assert_string_equal(same->page, "x_gauge{a=\"other\",");
}

static void more_than_the_maximum_is_counted(void **state)
{
    struct program_metric *metric;
    char name[32];
    (void)state;
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "x%d", i);
        assert_int_equal(make(name, PROGRAM_COUNTER, &metric), i < 10 ? OK : FULL);
        if (metric)
            program_room_use(table, metric);
    }
    assert_int_equal(table->figures.left_out, 2);
    assert_int_equal(make("x3", PROGRAM_COUNTER, &metric), OK);
}

/* How many of these names a program of the scope gets, which it goes on using. */
static size_t take(struct program_scope *scope, const char *prefix, int count)
{
    size_t taken = 0;
    for (int i = 0; i < count; i++) {
        struct program_metric *metric;
        char name[32];
        snprintf(name, sizeof name, "%s%d_total", prefix, i);
        if (make_of(scope, name, PROGRAM_COUNTER, &metric) == OK && program_cell_of(table, metric, scope))
            taken++;
    }
    return taken;
}

static void nobody_takes_the_room_of_all(void **state)
{
    (void)state;
    struct program_scope *greedy = program_scope_job(table, "1", 7), *other = program_scope_job(table, "2", 8);
    struct program_scope *third = program_scope_job(table, "3", 9);
    assert_int_equal(take(greedy, "a", 100), 5); /* of 10 */
    assert_int_equal(take(other, "b", 3), 3);
    assert_int_equal(take(greedy, "a", 5), 5); /* those that it has */
    assert_int_equal(take(third, "a", 5), 5);  /* and everybody may use too */
    assert_int_equal(take(third, "c", 9), 1);
    assert_int_equal(table->figures.metrics, 9);
}

static void names_of_those_who_have_gone_make_room(void **state)
{
    (void)state;
    struct program_scope *other = program_scope_job(table, "other", 8);
    assert_int_equal(take(other, "b", 2), 2);
    for (int round = 0; round < 100; round++) { /* 400 names one after another */
        char prefix[16];
        snprintf(prefix, sizeof prefix, "a%d_", round);
        struct program_scope *job = program_scope_job(table, "1", 7);
        assert_int_equal(take(job, prefix, 5), 4); /* 10 less the 2 of the other, and as many are left */
        program_scope_drop(table, job);
        assert_true(table->figures.metrics <= 10);
    }
    struct program_metric *metric = program_table_find(table, bytes_of("b0_total"));
    assert_non_null(metric);
    program_cell_add(table, program_cell_of(table, metric, other), 5, 1);
    assert_true(metric->node.total == 5);
    assert_null(program_table_find(table, bytes_of("a0_0_total")));
    assert_non_null(program_table_find(table, bytes_of("a99_3_total"))); /* what it counted is shown while there is room */
    assert_int_equal(take(other, "b", 5), 5);
    assert_int_equal(table->figures.families, table->figures.metrics);
}

static void idle_names_are_no_way_around_the_share(void **state)
{
    (void)state;
    struct program_scope *first = program_scope_job(table, "1", 7);
    assert_int_equal(take(first, "a", 5), 5);
    program_scope_drop(table, first);
    struct program_scope *second = program_scope_job(table, "2", 7);
    assert_int_equal(take(second, "b", 5), 5);
    assert_int_equal(take(second, "a", 5), 0); /* they are there, and another's to have */
    assert_int_equal(take(program_scope_job(table, "3", 8), "a", 5), 3);
}

static void long_texts_and_many_buckets_take_the_room_of_several(void **state)
{
    static char doc[3 * PROGRAM_PLACE_BYTES];
    static double bounds[200];
    struct program_metric *metric;
    (void)state;
    struct program_scope *user = program_scope_job(table, "1", 7);
    struct program_description wordy = {
        .name = bytes_of("a"), .doc = { doc, sizeof doc }, .unit = { "", 0 }, .kind = PROGRAM_COUNTER, .scope = user,
    };
    memset(doc, 'd', sizeof doc);
    assert_int_equal(program_table_metric(table, &wordy, &metric), OK);
    assert_int_equal(metric->places, 4);
    assert_non_null(program_cell_of(table, metric, user));
    assert_int_equal(take(user, "b", 9), 1); /* of the 5 that one user may have */
    wordy.name = bytes_of("c");
    wordy.scope = NULL;
    assert_int_equal(program_table_metric(table, &wordy, &metric), OK);
    assert_int_equal(table->place_count, 9);
    program_scope_drop(table, user);
    for (size_t i = 0; i < 200; i++)
        bounds[i] = (double)i;
    struct program_description wide = {
        .name = bytes_of("h"), .doc = { "", 0 }, .unit = { "", 0 }, .kind = PROGRAM_HISTOGRAM,
        .bounds = bounds, .bound_count = 200,
    };
    assert_int_equal(program_table_metric(table, &wide, &metric), OK); /* for which those that are idle go */
    assert_int_equal(metric->places, 7);
    assert_true(table->place_count <= 10);
    assert_null(program_table_find(table, bytes_of("a")));
}

static void a_name_with_others_for_it_makes_room_too(void **state)
{
    struct program_metric *metric;
    (void)state;
    for (int i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof name, "mpi_calls_total{function=\"MPI_%d\"}", i);
        struct program_scope *job = program_scope_job(table, "1", 7);
        assert_int_equal(make_of(job, name, PROGRAM_COUNTER, &metric), OK);
        program_cell_add(table, program_cell_of(table, metric, job), 1, 1);
        program_scope_drop(table, job);
    }
    assert_true(table->figures.metrics <= 10);
    assert_true(program_table_find(table, bytes_of("tau_hits_total{function=\"mpi_99\"}"))->node.total == 1);
}

static void samples_keep_the_name_of_what_had_to_go(void **state)
{
    struct batch batch;
    (void)state;
    batch_init(&batch);
    struct program_scope *job = program_scope_job(table, "1", 7);
    job->is_known = true;
    assert_int_equal(take(job, "a", 1), 1);
    program_cell_add(table, &program_table_find(table, bytes_of("a0_total"))->node, 1, 1);
    program_samples_add(table, &batch, 100);
    assert_int_equal(batch.count, 1);
    program_scope_drop(table, job);
    for (int i = 0; i < 4; i++) {
        struct program_scope *next = program_scope_job(table, "2", 7);
        char prefix[2] = { (char)('b' + i), '\0' };
        take(next, prefix, 5);
        program_scope_drop(table, next);
    }
    assert_null(program_table_find(table, bytes_of("a0_total")));
    assert_string_equal(batch.samples[0].instance, "a0_total");
    batch_reset(&batch);
    program_samples_add(table, &batch, 200);
    assert_null(table->buried);
    batch_clear(&batch);
}

static void names_of_tau_count_once_with_ours(void **state)
{
    struct program_metric *metric, *sent;
    (void)state;
    assert_int_equal(make("mpi_calls_total{function=\"MPI_Send\"}", PROGRAM_COUNTER, &metric), OK);
    struct program_cell *cell = program_cell_of(table, metric, program_scope_job(table, "1", 7));
    program_cell_add(table, cell, 5, 1);
    struct program_metric *alias = program_table_find(table, bytes_of("tau_hits_total{function=mpi_send}"));
    assert_non_null(alias);
    assert_true(alias->is_alias && alias->node.total == 5);
    assert_true(program_cell_of(table, alias, cell->scope)->total == 5);
    assert_true(program_table_find(table, bytes_of("tau_mpi_total{metric=\"hits\"}"))->node.total == 5);
    assert_int_equal(make("tau_hits_total{function=\"mpi_send\"}", PROGRAM_COUNTER, &alias), OK); /* a program of tau's too */
    program_cell_add(table, &alias->node, 2, 1);
    assert_false(alias->is_alias);
    assert_true(alias->node.total == 7 && metric->node.total == 5);
    assert_int_equal(make("syscall_bytes_total{call=\"read\"}", PROGRAM_COUNTER, &sent), OK);
    program_cell_add(table, &sent->node, 100, 1);
    assert_true(program_table_find(table, bytes_of("strace_read_size_total"))->node.total == 100);
}

static void what_ranks_have_samples_of_is_no_counter_once_more(void **state)
{
    struct program_metric *metric;
    struct batch batch;
    (void)state;
    batch_init(&batch);
    assert_int_equal(make("mpi_calls_total{function=\"MPI_Send\"}", PROGRAM_COUNTER, &metric), OK);
    program_cell_add(table, &metric->node, 1, 1);
    assert_int_equal(make("mpi_calls_total{function=\"MPIX_Bcast_init\"}", PROGRAM_COUNTER, &metric), OK);
    program_cell_add(table, &metric->node, 1, 1);
    program_samples_add(table, &batch, 100);
    assert_int_equal(batch.count, 0);
    batch_clear(&batch);
}

static void families_say_what_all_their_metrics_say(void **state)
{
    struct program_metric *metric;
    (void)state;
    struct program_description description = { .name = bytes_of("t_total{f=\"a\"}"), .unit = { "", 0 } };
    description.doc = bytes_of("Total seconds spent for MPI_Send");
    assert_int_equal(program_table_metric(table, &description, &metric), OK);
    description.name = bytes_of("t_total{f=\"b\"}");
    description.doc = bytes_of("Total seconds spent for MPI_Recv");
    assert_int_equal(program_table_metric(table, &description, &metric), OK);
    assert_int_equal(metric->family->doc_size, strlen("Total seconds spent for"));
}

static const struct sample *sample_of(const struct batch *batch, const char *instance, const char *job)
{
    for (size_t i = 0; i < batch->count; i++)
        if (!strcmp(batch->samples[i].instance, instance)
            && (job ? batch->samples[i].job && !strcmp(batch->samples[i].job, job) : !batch->samples[i].job))
            return &batch->samples[i];
    return NULL;
}

static void samples_tell_what_has_changed(void **state)
{
    struct program_metric *metric, *call;
    struct batch batch;
    (void)state;
    batch_init(&batch);
    struct program_scope *job = program_scope_job(table, "1", 7), *unknown = program_scope_job(table, "2", 7);
    job->is_known = true;
    assert_int_equal(make("x_total", PROGRAM_COUNTER, &metric), OK);
    assert_int_equal(make("syscall_calls_total{call=\"read\"}", PROGRAM_COUNTER, &call), OK);
    program_cell_add(table, program_cell_of(table, metric, job), 3, 1);
    program_cell_add(table, program_cell_of(table, metric, unknown), 4, 1);
    program_cell_add(table, program_cell_of(table, call, job), 9, 1);
    program_samples_add(table, &batch, 100);
    assert_true(sample_of(&batch, "x_total", "1")->values[PROGRAM_COUNTER_TOTAL].f64 == 3);
    assert_true(sample_of(&batch, "x_total", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 7);
    assert_null(sample_of(&batch, "x_total", "2"));
    assert_ptr_equal(sample_of(&batch, "read", "1")->set, &syscall_set);
    assert_int_equal(sample_of(&batch, "read", "1")->values[SYSCALL_CALLS].u64, 9);
    assert_false(sample_of(&batch, "read", "1")->known[SYSCALL_BYTES]);
    batch_reset(&batch);
    program_samples_add(table, &batch, 200);
    assert_int_equal(batch.count, 0);
    batch_clear(&batch);
}

static void make_histogram(const char *name, double sum)
{
    static const double bounds[] = { 1 }, seen[] = { 1, 2 };
    struct program_metric *metric;
    struct program_description description = {
        .name = bytes_of(name), .doc = { "", 0 }, .unit = { "", 0 }, .kind = PROGRAM_HISTOGRAM,
        .bounds = bounds, .bound_count = 1,
    };
    assert_int_equal(program_table_metric(table, &description, &metric), OK);
    program_cell_observe(table, &metric->node, seen, sum, 1);
}

static void a_histogram_and_a_counter_are_two_series(void **state)
{
    struct program_metric *metric;
    struct batch batch;
    (void)state;
    batch_init(&batch);
    make_histogram("h{a=\"b\"}", 7);
    assert_int_equal(make("h_sum{a=\"b\"}", PROGRAM_COUNTER, &metric), OK);
    program_cell_add(table, &metric->node, 5, 1);
    assert_int_equal(make("k_count", PROGRAM_COUNTER, &metric), OK);
    program_cell_add(table, &metric->node, 9, 1);
    make_histogram("k", 8);
    program_samples_add(table, &batch, 100);
    for (size_t i = 0; i < batch.count; i++)
        assert_ptr_equal(sample_of(&batch, batch.samples[i].instance, NULL), &batch.samples[i]);
    assert_true(sample_of(&batch, "h_sum{a=\"b\"}", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 7);
    assert_true(sample_of(&batch, "h_sum_counter{a=\"b\"}", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 5);
    assert_true(sample_of(&batch, "k_count", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 9);
    assert_true(sample_of(&batch, "k_histogram_count", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 3);
    assert_true(sample_of(&batch, "k_histogram_bucket{le=\"1\"}", NULL)->values[PROGRAM_COUNTER_TOTAL].f64 == 1);
    batch_clear(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_counter_is_summed_over_job_user_and_node, open_table, close_table),
        cmocka_unit_test_setup_teardown(what_is_no_number_does_not_spoil_a_counter, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_counter_beyond_all_numbers_is_infinite_where_it_is_that, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_histogram_whose_sum_is_beyond_all_numbers_keeps_its_buckets, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_gauge_is_of_the_programs_that_are_alive, open_table, close_table),
        cmocka_unit_test_setup_teardown(one_name_has_one_type, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_name_that_nobody_has_any_more_may_have_another_type, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_name_of_a_job_that_is_there_has_one_type, open_table, close_table),
        cmocka_unit_test_setup_teardown(more_than_the_maximum_is_counted, open_table, close_table),
        cmocka_unit_test_setup_teardown(nobody_takes_the_room_of_all, open_table, close_table),
        cmocka_unit_test_setup_teardown(names_of_those_who_have_gone_make_room, open_table, close_table),
        cmocka_unit_test_setup_teardown(idle_names_are_no_way_around_the_share, open_table, close_table),
        cmocka_unit_test_setup_teardown(long_texts_and_many_buckets_take_the_room_of_several, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_name_with_others_for_it_makes_room_too, open_table, close_table),
        cmocka_unit_test_setup_teardown(samples_keep_the_name_of_what_had_to_go, open_table, close_table),
        cmocka_unit_test_setup_teardown(what_ranks_have_samples_of_is_no_counter_once_more, open_table, close_table),
        cmocka_unit_test_setup_teardown(names_of_tau_count_once_with_ours, open_table, close_table),
        cmocka_unit_test_setup_teardown(families_say_what_all_their_metrics_say, open_table, close_table),
        cmocka_unit_test_setup_teardown(samples_tell_what_has_changed, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_histogram_and_a_counter_are_two_series, open_table, close_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
