/* Counters over a change of settings: those of the sampler's own go on, the kernel's are left alone, gauges too. */
#include "tools/unit.h"

#include "agent/counter_offset.h"

static const struct metric three[] = {
    { "level", "1", GAUGE, U64, "" }, { "a", "1", COUNTER, U64, "" }, { "b", "1", COUNTER, F64, "" },
};
static const struct metric other_three[] = { /* b is not there any more, a stands elsewhere */
    { "a", "1", COUNTER, U64, "" }, { "c", "1", COUNTER, U64, "" }, { "level", "1", GAUGE, U64, "" },
};
static const struct set old_set = { "s", three, 3 }, new_set = { "s", other_three, 3 };

struct fixture {
    struct counter_offsets offsets;
    struct live *live;
    struct batch batch;
};

static int begin(void **state)
{
    static struct fixture f;
    f = (struct fixture){ 0 };
    batch_init(&f.batch);
    *state = &f;
    return live_open(&f.live);
}

static int end(void **state)
{
    struct fixture *f = *state;
    counter_offsets_clear(&f->offsets);
    batch_clear(&f->batch);
    live_close(&f->live);
    return 0;
}

/* A sample of the old set as the sampler gives it; what is let out of it. */
static const union value *give(struct fixture *f, const char *instance, const char *job, uint64_t a, double b)
{
    batch_reset(&f->batch);
    struct sample *sample = batch_add(&f->batch, &old_set, 1, instance);
    sample->job = job;
    sample_set_u64(sample, 0, 1);
    sample_set_u64(sample, 1, a);
    sample_set_f64(sample, 2, b);
    counter_offsets_apply(&f->offsets, &f->batch, 0);
    live_take_from(f->live, &f->batch, 1, f);
    return f->batch.samples[0].values;
}

static void note(struct fixture *f)
{
    assert_int_equal(counter_offsets_save(&f->offsets, f->live, f), OK);
}

static void what_begins_at_0_goes_on(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 2.5);
    note(f);
    const union value *values = give(f, "", "7", 3, 0.5);
    assert_int_equal(values[0].u64, 1);
    assert_int_equal(values[1].u64, 500); /* as it was: what was counted of it meanwhile is not known */
    assert_true(values[2].f64 == 2.5);
    values = give(f, "", "7", 10, 1.5);
    assert_int_equal(values[1].u64, 507);
    assert_true(values[2].f64 == 3.5);
    note(f); /* and once more */
    assert_int_equal(give(f, "", "7", 0, 0)[1].u64, 507);
    assert_int_equal(give(f, "", "7", 1, 0)[1].u64, 508);
}

static void what_the_kernel_counts_is_left_alone(void **state)
{
    struct fixture *f = *state;
    give(f, "eth0", NULL, 500, 2.5);
    note(f);
    assert_int_equal(give(f, "eth0", NULL, 501, 2.5)[1].u64, 501);
    assert_int_equal(f->offsets.entries.count, 0); /* nor looked for any more */
    assert_int_equal(give(f, "eth0", NULL, 3, 0)[1].u64, 3); /* its device was made reopen */
}

/* A sum of processes that live and of those that ended, of which the new one does not know. */
static void what_was_forgotten_is_added(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 0);
    note(f);
    assert_int_equal(give(f, "", "7", 400, 0)[1].u64, 500);
    assert_int_equal(give(f, "", "7", 450, 0)[1].u64, 550);
}

static void names_count_not_places(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 2.5);
    note(f);
    batch_reset(&f->batch);
    for (uint64_t i = 0; i < 3; i++) {
        struct sample *sample = batch_add(&f->batch, &new_set, 1, "");
        sample->job = "7";
        if (i > 0) /* at first it is not known */
            sample_set_u64(sample, 0, i);
        sample_set_u64(sample, 1, 7);
        sample_set_u64(sample, 2, 0);
    }
    counter_offsets_apply(&f->offsets, &f->batch, 0);
    assert_int_equal(f->batch.samples[0].known[0], 0);
    assert_int_equal(f->batch.samples[1].values[0].u64, 500);
    assert_int_equal(f->batch.samples[2].values[0].u64, 501);
    assert_int_equal(f->batch.samples[2].values[1].u64, 7); /* a new one begins at its beginning */
    assert_int_equal(f->batch.samples[2].values[2].u64, 0);
}

static void others_are_others(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 0);
    give(f, "", "8", 900, 0);
    give(f, "1", "8", 90, 0);
    give(f, "", NULL, 40, 0);
    note(f);
    assert_int_equal(give(f, "", "9", 3, 0)[1].u64, 3);
    assert_int_equal(give(f, "2", "8", 3, 0)[1].u64, 3);
    counter_offsets_drop_unmatched(&f->offsets); /* the node, and what may have been a process of a job, is over; a job may still be found */
    assert_int_equal(give(f, "", NULL, 3, 0)[1].u64, 3);
    assert_int_equal(give(f, "1", "8", 3, 0)[1].u64, 3);
    assert_int_equal(give(f, "", "8", 3, 0)[1].u64, 900);
    counter_offsets_drop_job(&f->offsets, "7");
    assert_int_equal(give(f, "", "7", 3, 0)[1].u64, 3);
    assert_int_equal(give(f, "", "8", 4, 0)[1].u64, 901);
}

/* Its sampler was closed by a failure, say: what is 4 is a counter that began again, 504 would be a leap. */
static void what_begins_anew_later_does(void **state)
{
    struct fixture *f = *state;
    give(f, "", "7", 500, 0);
    note(f);
    give(f, "", "7", 0, 0);
    assert_int_equal(give(f, "", "7", 90, 0)[1].u64, 590);
    assert_int_equal(give(f, "", "7", 4, 0)[1].u64, 4);
    assert_int_equal(give(f, "", "7", 5, 0)[1].u64, 5);
}

static void thousands(void **state)
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
        cmocka_unit_test_setup_teardown(what_begins_at_0_goes_on, begin, end),
        cmocka_unit_test_setup_teardown(what_the_kernel_counts_is_left_alone, begin, end),
        cmocka_unit_test_setup_teardown(what_was_forgotten_is_added, begin, end),
        cmocka_unit_test_setup_teardown(names_count_not_places, begin, end),
        cmocka_unit_test_setup_teardown(others_are_others, begin, end),
        cmocka_unit_test_setup_teardown(what_begins_anew_later_does, begin, end),
        cmocka_unit_test_setup_teardown(thousands, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
