/* Events of PMUs described in sysfs. */
#include "proc/perf_sysfs.h"

#include "tools/node.h"
#include "tools/unit.h"

static enum err encode(const char *name, struct perf_event_spec *spec)
{
    *spec = (struct perf_event_spec){ 0 };
    return perf_sysfs_encode(node_root("big"), name, spec);
}

static void terms_are_stored_in_the_bits_of_their_format(void **state)
{
    (void)state;
    struct perf_event_spec spec;
    assert_int_equal(encode("cpu/event=0x1c2,umask=3,inv,offcore_rsp=0xffffffffffffffff/", &spec), OK);
    assert_int_equal(spec.type, 4);
    assert_true(spec.config == (0xc2 | 3 << 8 | 1 << 23 | 1ull << 32));
    assert_true(spec.config1 == UINT64_MAX);
    assert_int_equal(encode("uncore_imc_0/deep/", &spec), OK);
    assert_int_equal(spec.type, 17);
    assert_int_equal(spec.config2, 16);
}

static void a_named_event_expands_to_its_terms(void **state)
{
    (void)state;
    struct perf_event_spec spec;
    assert_int_equal(encode("cpu/l2-misses/", &spec), OK);
    assert_int_equal(spec.config, 0xc624);
    assert_int_equal(encode("cpu/l2-misses,inv=1/", &spec), OK);
    assert_int_equal(spec.config, 0x80c624);
    assert_int_equal(encode("cpu/config=0x77/", &spec), OK);
    assert_int_equal(spec.config, 0x77);
}

static void missing_units_and_terms_are_rejected(void **state)
{
    (void)state;
    struct perf_event_spec spec;
    assert_int_equal(encode("gpu/busy/", &spec), ABSENT);
    static const char *const names[] = { "cpu/nosuch/", "cpu/umask=x/", "cpu/umask=/", "cpu/", "cpu//", "/x/",
                                         "cpu/inv",
                                         "cpu/umask=256/", "../cpu/inv/", "cpu/../type/", "cpu/inv/x" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(encode(names[i], &spec), USAGE);
}

static void malformed_formats_are_corrupt(void **state)
{
    (void)state;
    struct perf_event_spec spec = { 0 };
    static const char *const formats[] = { "", "config", "config:", "config3:0", "config:7-0", "config:0-64",
                                           "config:0-",
                                           "config:0,", "config:a", "configx:1" };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        assert_int_equal(perf_sysfs_apply(formats[i], 0, &spec), CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_are_stored_in_the_bits_of_their_format),
        cmocka_unit_test(a_named_event_expands_to_its_terms),
        cmocka_unit_test(missing_units_and_terms_are_rejected),
        cmocka_unit_test(malformed_formats_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
