/* The settings of the way to a collector: what is refused, so that nothing goes unencrypted over a network by mistake. */
#include "agent/uplink_plan.h"

#include "base/clock.h"
#include "tools/unit.h"

#define KEY "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

static struct uplink_plan plan;
static struct buf why;

static int begin(void **state)
{
    (void)state;
    plan = (struct uplink_plan){ 0 };
    buf_init(&why, 4096);
    return 0;
}

static int end(void **state)
{
    (void)state;
    uplink_plan_clear(&plan);
    buf_clear(&why);
    return 0;
}

static void set(const char *key, const char *value)
{
    assert_true(uplink_plan_has(key));
    assert_int_equal(uplink_plan_set(&plan, key, value, &why), OK);
}

static void collectors_and_keys(void **state)
{
    (void)state;
    assert_int_equal(uplink_plan_check(&plan, &why), OK);
    set("collector", "login1");
    assert_string_equal(plan.collectors[0], "tcp://login1:5555");
    assert_int_equal(uplink_plan_check(&plan, &why), USAGE);
    assert_non_null(strstr(buf_text(&why), "--collector-key"));
    set("collector-key", KEY);
    assert_int_equal(uplink_plan_check(&plan, &why), OK);
    set("collector", "tcp://login2:7");
    assert_int_equal(uplink_plan_check(&plan, &why), OK);
    set("collector", "login3");
    set("collector-key", "/etc/sonde/two.pub");
    assert_int_equal(uplink_plan_check(&plan, &why), USAGE);
    set("collector", "none");
    set("collector-key", "none");
    assert_int_equal(uplink_plan_check(&plan, &why), OK);
    assert_int_equal(plan.collector_count + plan.key_count, 0);
}

static void plain_is_for_this_machine(void **state)
{
    (void)state;
    set("collector", "tcp://127.0.0.1:5555");
    set("plain", "yes");
    assert_int_equal(uplink_plan_check(&plan, &why), OK);
    set("collector", "login1");
    assert_int_equal(uplink_plan_check(&plan, &why), USAGE);
    assert_non_null(strstr(buf_text(&why), "tcp://login1:5555"));
    set("plain-network", "yes");
    assert_int_equal(uplink_plan_check(&plan, &why), OK);
    set("collector-key", KEY);
    assert_int_equal(uplink_plan_check(&plan, &why), USAGE);
}

static void what_makes_no_sense_changes_nothing(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        { "collector", "a b" },       { "plain", "perhaps" },     { "munge", "" },           { "spool-size", "much" },
        { "spool-size", "1000" },     { "spool-age", "0" },       { "spool-age", "forever" }, { "collector", "tcp://:1" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(uplink_plan_set(&plan, wrong[i][0], wrong[i][1], &why), USAGE);
    assert_true(uplink_plan_equal(&plan, &(struct uplink_plan){ 0 }));
    assert_false(uplink_plan_has("collectors"));
}

static void a_copy_is_the_same_until_it_is_changed(void **state)
{
    (void)state;
    struct uplink_plan copy;
    set("collector", "login1");
    set("collector-key", KEY);
    set("key", "/etc/my.key");
    set("spool", "/var/spool/x");
    set("spool-size", "64MiB");
    set("spool-age", "2h");
    assert_int_equal(plan.spool_bytes, 64 << 20);
    assert_int_equal(plan.spool_age_ns, 7200 * NS_PER_S);
    assert_int_equal(uplink_plan_copy(&copy, &plan), OK);
    assert_true(uplink_plan_equal(&copy, &plan));
    assert_int_equal(uplink_plan_set(&copy, "collector", "login2", &why), OK);
    assert_false(uplink_plan_equal(&copy, &plan));
    uplink_plan_clear(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(collectors_and_keys, begin, end),
        cmocka_unit_test_setup_teardown(plain_is_for_this_machine, begin, end),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_copy_is_the_same_until_it_is_changed, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
