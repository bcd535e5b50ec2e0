/* Names and units of LDMS. */
#include "compat/ldms/names.h"

#include "tools/unit.h"

static void units_are_those_of_the_kernel(void **state)
{
    (void)state;
    static const struct metric metrics[] = {
        { "pgpgin", "B", COUNTER, U64 }, { "nr_kernel_stack", "B", GAUGE, U64 }, { "nr_free_pages", "1", GAUGE, U64 },
    };
    const struct set vmstat = { "vmstat", metrics, 3, NULL };
    assert_int_equal(ldms_unit_of(&vmstat, &metrics[0]).divisor, 1024);
    assert_string_equal(ldms_unit_of(&vmstat, &metrics[0]).name, ""); /* LDMS has units for meminfo only */
    assert_int_equal(ldms_unit_of(&vmstat, &metrics[1]).divisor, 1024);
    assert_int_equal(ldms_unit_of(&vmstat, &metrics[2]).divisor, 1);
}

static void sets_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(ldms_set_name("self"), "dstat");
    assert_string_equal(ldms_set_name("meminfo"), "meminfo");
}

static void component_ids_come_from_host_names(void **state)
{
    (void)state;
    assert_int_equal(ldms_component("n017.cluster1"), 17);
    assert_int_equal(ldms_component("login"), 0);
    assert_int_equal(ldms_component("r2c31"), 31);
    assert_int_equal(ldms_component("42"), 42);
    assert_int_equal(ldms_component(""), 0);
    assert_int_equal(ldms_component("n99999999999999999999999"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_those_of_the_kernel),
        cmocka_unit_test(sets_have_their_names),
        cmocka_unit_test(component_ids_come_from_host_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
