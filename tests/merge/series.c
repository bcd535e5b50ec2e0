/* Samples become time series, one table per set and instance. */
#include "merge/series.h"

#include "tools/merge_fixture.h"

/* A set with a counter "a" and a gauge "b". */
static void add_set(struct spool_maker *s, uint64_t number, struct bytes name)
{
    uint8_t text[256];
    struct packer p = { text, text + sizeof text, false };
    static const char *const names[] = { "a", "b" };
    for (int i = 0; i < 2; i++) {
        pack_text(&p, bytes_of(names[i]));
        pack_text(&p, bytes_of("B"));
        pack_text(&p, bytes_of("help"));
        pack_number(&p, i ? GAUGE : COUNTER);
        pack_number(&p, i ? F64 : U64);
    }
    spool_add(s, set, .set = number, .name = name, .size = 2, .metrics = { (char *)text, (size_t)(p.at - text) });
}

static void add_sample(struct spool_maker *s, uint64_t set, struct bytes instance, double ms, uint64_t a, bool b_known)
{
    uint8_t text[64];
    struct packer p = { text, text + sizeof text, false };
    union value b = { .f64 = 2.5 };
    pack_number(&p, 1);
    pack_number(&p, a);
    pack_number(&p, b_known);
    if (b_known)
        pack_number(&p, b.u64);
    spool_add(s, sample, .set = set, .instance = instance, .time_ns = AT(ms),
              .values = { (char *)text, (size_t)(p.at - text) });
}

/* No further records of its processes, but samples show that they continued. */
static void interrupted_run_ends_with_its_last_sample(void **state)
{
    struct fixture *f = *state;
    spool_image(&f->spool, 10, MAKER_RUN_PID, 1, "/bin/model");
    add_set(&f->spool, 3, PATH("tree"));
    add_sample(&f->spool, 3, PATH(""), 1000, 1, true);
    add_sample(&f->spool, 3, PATH(""), 2000, 2, true);
    assert_int_equal(merge(f)->end_ns, AT(2000));
}

static void sets_and_instances(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    add_set(s, 3, PATH("tree"));
    add_set(s, 4, PATH("net"));
    for (uint64_t i = 0; i < 10; i++) {
        add_sample(s, 3, PATH(""), (double)i, i, true);
        add_sample(s, 4, PATH("eth0"), (double)i, 10 * i, i % 2);
        add_sample(s, 4, PATH("eth1"), (double)i, 20 * i, false);
    }
    const struct run *run = merge(f);
    assert_int_equal(run->series_count, 3);
    static const char *const names[] = { "tree", "net", "net" }, *const instances[] = { "", "eth0", "eth1" };
    for (size_t n = 0; n < 3; n++) {
        const struct run_series *one = &run->series[n];
        assert_string_equal(one->set.name, names[n]);
        assert_string_equal(one->instance, instances[n]);
        assert_int_equal(one->count, 10);
        assert_int_equal(one->set.size, 2);
        assert_string_equal(one->set.metrics[1].name, "b");
        assert_int_equal(one->set.metrics[1].kind, GAUGE);
        assert_int_equal(one->set.metrics[1].type, F64);
        for (uint64_t i = 0; i < 10; i++) {
            assert_int_equal(one->times_ns[i], AT(i));
            assert_int_equal(one->values[2 * i].u64, n == 0 ? i : n == 1 ? 10 * i : 20 * i);
            assert_int_equal(one->known[2 * i + 1], n == 0 || (n == 1 && i % 2));
        }
    }
    assert_true(run->series[0].values[1].f64 == 2.5);
}

/* In any order. */
static void samples_are_sorted(void **state)
{
    struct fixture *f = *state;
    add_set(&f->spool, 3, PATH("tree"));
    for (int i = 50; i > 0; i--)
        add_sample(&f->spool, 3, PATH(""), i, (uint64_t)i, true);
    const struct run *run = merge(f);
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(run->series[0].values[2 * i].u64, i + 1);
}

/* After a run was killed, survivors sample what its programs left, and describe the sets again. */
static void set_described_twice_is_one(void **state)
{
    struct fixture *f = *state;
    struct spool_maker *s = &f->spool;
    add_set(s, 3, PATH("program"));
    add_sample(s, 3, PATH("x"), 1, 10, true);
    add_sample(s, 3, PATH("y"), 1, 50, true);
    add_set(s, 1000, PATH("program"));
    add_sample(s, 1000, PATH("x"), 2, 100, true);
    add_sample(s, 1000, PATH("y"), 2, 20, false); /* counts of exited programs are missing */
    add_sample(s, 1000, PATH("z"), 2, 5, true);
    const struct run *run = merge(f);
    assert_int_equal(run->series_count, 3);
    static const uint64_t last[] = { 100, 50, 5 };
    for (size_t n = 0; n < 3; n++) {
        const struct run_series *one = &run->series[n];
        assert_int_equal(one->count, n < 2 ? 2 : 1);
        assert_int_equal(one->values[2 * (one->count - 1)].u64, last[n]);
    }
    assert_int_equal(run->series[1].known[3], 0);
}

static void invalid_samples(void **state)
{
    struct fixture *f = *state;
    add_sample(&f->spool, 3, PATH(""), 1, 1, true); /* of an unknown set */
    add_set(&f->spool, 3, PATH("tree"));
    spool_add(&f->spool, sample, .set = 3, .time_ns = AT(2), .values = { "\1", 1 }); /* too short */
    spool_add(&f->spool, set, .set = 5, .name = PATH("huge"), .size = 1ull << 40, .metrics = PATH("x"));
    add_sample(&f->spool, 3, PATH(""), 3, 7, true);
    const struct run *run = merge(f);
    assert_int_equal(run->series_count, 1);
    assert_int_equal(run->series[0].count, 1);
    assert_int_equal(run->series[0].values[0].u64, 7);
    assert_true(run->gaps.bytes_damaged > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(sets_and_instances), T(samples_are_sorted), T(invalid_samples),
        T(set_described_twice_is_one),
        T(interrupted_run_ends_with_its_last_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
