/* The contract of sinks/sink.h, for every built-in sink. */
#include "sinks/sink.h"

#include "tools/unit.h"

static const struct metric metrics[] = { { "n", "1", GAUGE, U64, "" }, { "m", "1", GAUGE, U64, "" } };
static const struct set set = { "set", metrics, 2 };

static void every_sink_implements_the_contract(void **state)
{
    (void)state;
    size_t count = 0;
    for (const struct sink *const *sink = sink_all; *sink; sink++, count++) {
        assert_non_null((*sink)->about);
        assert_true((*sink)->open && (*sink)->write && (*sink)->flush && (*sink)->close);
        assert_ptr_equal(sink_find((*sink)->name), *sink);
        for (const struct setting *s = (*sink)->settings; s && s->key; s++)
            assert_true(s->help && s->offset < (*sink)->state_size);
    }
    assert_true(count >= 3);
    assert_null(sink_find("no such"));
}

static void null_sink_counts_and_stops_at_its_limit(void **state)
{
    (void)state;
    const struct sink *sink = sink_find("null");
    void *s = calloc(1, sink->state_size);
    struct batch batch;
    batch_init(&batch);
    for (int i = 0; i < 3; i++)
        sample_set_u64(batch_add(&batch, &set, 1, ""), 1, 5);
    assert_int_equal(setting_defaults(sink->settings, s), OK);
    assert_int_equal(sink->open(s), OK);
    assert_int_equal(sink->write(s, &batch), OK);
    assert_int_equal(sink->flush(s, 0), OK);
    sink->close(s);
    assert_int_equal(setting_apply(sink->settings, s, "limit", "2"), OK);
    assert_int_equal(sink->open(s), OK);
    assert_int_equal(sink->write(s, &batch), FULL);
    sink->close(s);
    batch_clear(&batch);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sink_implements_the_contract),
        cmocka_unit_test(null_sink_counts_and_stops_at_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
