/* Counters over a change of settings: the sampler's own continue; the kernel's, and gauges, are unchanged. */
#include "tools/unit.h"

#include "agent/counter_offset.h"

static const struct metric three[] = {
    { "level", "1", GAUGE, U64, "" }, { "a", "1", COUNTER, U64, "" }, { "b", "1", COUNTER, F64, "" },
};
static const struct metric other_three[] = { /* b is gone, a has another index */
    { "a", "1", COUNTER, U64, "" }, { "c", "1", COUNTER, U64, "" }, { "level", "1", GAUGE, U64, "" },
};
static const struct set old_set = { "s", three, 3 }, new_set = { "s", other_three, 3 };

struct fixture {
    struct counter_offsets offsets;
    struct latest *live;
    struct batch batch;
};

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ 0 };
    batch_init(&f.batch);
    *state = &f;
    return latest_open(&f.live);
}

static int end(void **state)
{
    struct fixture *f = *state;
    counter_offsets_clear(&f->offsets);
    batch_clear(&f->batch);
    latest_close(&f->live);
    return 0;
}

/* A sample of the old set as read; returns it as reported. */
static const union value *give(struct fixture *f, const char *instance, const char *job, uint64_t a, double b)
{
    batch_reset(&f->batch);
    struct sample *sample = batch_add(&f->batch, &old_set, 1, instance);
    sample->job = job;
    sample_set_u64(sample, 0, 1);
    sample_set_u64(sample, 1, a);
    sample_set_f64(sample, 2, b);
    counter_offsets_apply(&f->offsets, &f->batch, 0);
    latest_update_from(f->live, &f->batch, 1, f);
    return f->batch.samples[0].values;
}

static void note(struct fixture *f)
{
    assert_int_equal(counter_offsets_save(&f->offsets, f->live, f), OK);
}

static void counters_continue(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 2.5);
    note(f);
    const union value *values = give(f, "", "7", 3, 0.5);
    assert_int_equal(values[0].u64, 1);
    assert_int_equal(values[1].u64, 500); /* unchanged: what happened meanwhile is unknown */
    assert_true(values[2].f64 == 2.5);
    values = give(f, "", "7", 10, 1.5);
    assert_int_equal(values[1].u64, 507);
    assert_true(values[2].f64 == 3.5);
    note(f); /* and once more */
    assert_int_equal(give(f, "", "7", 0, 0)[1].u64, 507);
    assert_int_equal(give(f, "", "7", 1, 0)[1].u64, 508);
}

static void kernel_counters_are_unchanged(void **state)
{
    struct fixture *f = *state;
    give(f, "eth0", NULL, 500, 2.5);
    note(f);
    assert_int_equal(give(f, "eth0", NULL, 501, 2.5)[1].u64, 501);
    assert_int_equal(f->offsets.entries.count, 0); /* no longer tracked */
    assert_int_equal(give(f, "eth0", NULL, 3, 0)[1].u64, 3); /* its device was created again */
}

/* A sum over running and ended processes, of which the new sampler knows only the running ones. */
static void lost_counts_are_added(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 0);
    note(f);
    assert_int_equal(give(f, "", "7", 400, 0)[1].u64, 500);
    assert_int_equal(give(f, "", "7", 450, 0)[1].u64, 550);
}

static void metrics_are_matched_by_name(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 2.5);
    note(f);
    batch_reset(&f->batch);
    for (uint64_t i = 0; i < 3; i++) {
        struct sample *sample = batch_add(&f->batch, &new_set, 1, "");
        sample->job = "7";
        if (i > 0) /* unknown at first */
            sample_set_u64(sample, 0, i);
        sample_set_u64(sample, 1, 7);
        sample_set_u64(sample, 2, 0);
    }
    counter_offsets_apply(&f->offsets, &f->batch, 0);
    assert_int_equal(f->batch.samples[0].known[0], 0);
    assert_int_equal(f->batch.samples[1].values[0].u64, 500);
    assert_int_equal(f->batch.samples[2].values[0].u64, 501);
    assert_int_equal(f->batch.samples[2].values[1].u64, 7); /* a new counter starts at its own value */
    assert_int_equal(f->batch.samples[2].values[2].u64, 0);
}

static void entries_are_matched_by_set_instance_and_job(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 0);
    give(f, "", "8", 900, 0);
    give(f, "1", "8", 90, 0);
    give(f, "", NULL, 40, 0);
    note(f);
    assert_int_equal(give(f, "", "9", 3, 0)[1].u64, 3);
    assert_int_equal(give(f, "2", "8", 3, 0)[1].u64, 3);
    counter_offsets_drop_unmatched(&f->offsets); /* the node and possible processes of a job are dropped; a job may
                                                  * still be found */
    assert_int_equal(give(f, "", NULL, 3, 0)[1].u64, 3);
    assert_int_equal(give(f, "1", "8", 3, 0)[1].u64, 3);
    assert_int_equal(give(f, "", "8", 3, 0)[1].u64, 900);
    counter_offsets_drop_job(&f->offsets, "7");
    assert_int_equal(give(f, "", "7", 3, 0)[1].u64, 3);
    assert_int_equal(give(f, "", "8", 4, 0)[1].u64, 901);
}

/* For example, its sampler was closed after a failure: 4 is a restarted counter, 504 would be a jump. */
static void later_restarts_are_not_hidden(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 0);
    note(f);
    give(f, "", "7", 0, 0);
    assert_int_equal(give(f, "", "7", 90, 0)[1].u64, 590);
    assert_int_equal(give(f, "", "7", 4, 0)[1].u64, 4);
    assert_int_equal(give(f, "", "7", 5, 0)[1].u64, 5);
}

static void many_entries(void **state)
{
    struct fixture *f = *state;
    static char names[3000][8];
    for (size_t i = 0; i < 3000; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        give(f, "", names[i], 1000 + i, 0);
    }
    note(f);
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(give(f, "", names[i], 0, 0)[1].u64, 1000 + i);
    for (size_t i = 0; i < 3000; i++)
        counter_offsets_drop_job(&f->offsets, names[i]);
    assert_int_equal(f->offsets.entries.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counters_continue, begin, end),
        cmocka_unit_test_setup_teardown(kernel_counters_are_unchanged, begin, end),
        cmocka_unit_test_setup_teardown(lost_counts_are_added, begin, end),
        cmocka_unit_test_setup_teardown(metrics_are_matched_by_name, begin, end),
        cmocka_unit_test_setup_teardown(entries_are_matched_by_set_instance_and_job, begin, end),
        cmocka_unit_test_setup_teardown(later_restarts_are_not_hidden, begin, end),
        cmocka_unit_test_setup_teardown(many_entries, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
