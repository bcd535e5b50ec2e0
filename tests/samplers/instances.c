/* Instances that come and go: found again, created, their places reused. */
#include "samplers/instances.h"

#include "tools/unit.h"

static struct instance *find(struct instances *instances, const char *name)
{
    return instances_find(instances, bytes_of(name));
}

static void instances_are_found_in_any_order(void **state)
{
    (void)state;
    struct instances instances;
    instances_init(&instances, 2, 10);
    instances_begin(&instances);
    struct instance *a = find(&instances, "a"), *ab = find(&instances, "ab");
    assert_true(a != ab && a->is_new && a->is_wanted);
    assert_int_equal(a->last[0] + a->last[1], 0);
    a->last[1] = 7;
    a->is_new = false;
    instances_begin(&instances);
    assert_ptr_equal(find(&instances, "ab"), ab);
    assert_ptr_equal(find(&instances, "a"), a);
    assert_int_equal(a->last[1], 7);
    assert_false(a->is_new);
    instances_clear(&instances);
}

static void places_are_limited_and_reused(void **state)
{
    (void)state;
    struct instances instances;
    instances_init(&instances, 1, 2);
    instances_begin(&instances);
    struct instance *a = find(&instances, "a");
    a->last[0] = 5;
    assert_non_null(find(&instances, "b"));
    assert_null(find(&instances, "c"));
    for (int i = 0; i < 2; i++) {
        instances_begin(&instances);
        assert_non_null(find(&instances, "b"));
        assert_null(find(&instances, "c")); /* a may come back: samples of it may still be in flight */
    }
    instances_begin(&instances);
    assert_non_null(find(&instances, "b"));
    struct instance *c = find(&instances, "c");
    assert_ptr_equal(c, a);
    assert_string_equal(c->name, "c");
    assert_true(c->is_new);
    assert_int_equal(c->last[0], 0);
    instances_clear(&instances);
}

static void invalid_names_are_rejected(void **state)
{
    (void)state;
    char name[INSTANCE_NAME_MAX + 1];
    struct instances instances;
    instances_init(&instances, 0, 10);
    memset(name, 'x', sizeof name);
    assert_null(find(&instances, ""));
    assert_null(instances_find(&instances, (struct bytes){ name, INSTANCE_NAME_MAX }));
    assert_non_null(instances_find(&instances, (struct bytes){ name, INSTANCE_NAME_MAX - 1 }));
    instances_clear(&instances);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_are_found_in_any_order),
        cmocka_unit_test(places_are_limited_and_reused),
        cmocka_unit_test(invalid_names_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
