/* Configuration of the uplink: what is rejected, so that nothing is sent unencrypted over a network by mistake. */
#include "agent/uplink_config.h"

#include "base/clock.h"
#include "tools/unit.h"

#define KEY "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

static struct uplink_config config;
static struct buf error;

static int begin(void **state)
{
    (void)state;
    config = (struct uplink_config){ 0 };
    buf_init(&error, 4096);
    return 0;
}

static int end(void **state)
{
    (void)state;
    uplink_config_clear(&config);
    buf_clear(&error);
    return 0;
}

static void set(const char *key, const char *value)
{
    assert_true(uplink_config_has(key));
    assert_int_equal(uplink_config_set(&config, key, value, &error), OK);
}

static void collectors_and_keys(void **state)
{
    (void)state;
    assert_int_equal(uplink_config_check(&config, &error), OK);
    set("collector", "login1");
    assert_string_equal(config.collectors[0], "tcp://login1:5555");
    assert_int_equal(uplink_config_check(&config, &error), USAGE);
    assert_non_null(strstr(buf_text(&error), "--collector-key"));
    set("collector-key", KEY);
    assert_int_equal(uplink_config_check(&config, &error), OK);
    set("collector", "tcp://login2:7");
    assert_int_equal(uplink_config_check(&config, &error), OK);
    set("collector", "login3");
    set("collector-key", "/etc/sonde/two.pub");
    assert_int_equal(uplink_config_check(&config, &error), USAGE);
    set("collector", "none");
    set("collector-key", "none");
    assert_int_equal(uplink_config_check(&config, &error), OK);
    assert_int_equal(config.collector_count + config.key_count, 0);
}

static void plain_is_for_this_node(void **state)
{
    (void)state;
    set("collector", "tcp://127.0.0.1:5555");
    set("plain", "yes");
    assert_int_equal(uplink_config_check(&config, &error), OK);
    set("collector", "login1");
    assert_int_equal(uplink_config_check(&config, &error), USAGE);
    assert_non_null(strstr(buf_text(&error), "tcp://login1:5555"));
    set("plain-network", "yes");
    assert_int_equal(uplink_config_check(&config, &error), OK);
    set("collector-key", KEY);
    assert_int_equal(uplink_config_check(&config, &error), USAGE);
}

static void invalid_values_change_nothing(void **state)
{
    (void)state;
    static const char *const fail[][2] = {
        { "collector", "a b" },       { "plain", "perhaps" },     { "munge", "" },           { "spool-size", "much" },
        { "spool-size", "1000" },     { "spool-age", "0" },       { "spool-age", "forever" }, { "collector", "tcp://:1" },
    };
    for (size_t i = 0; i < sizeof fail / sizeof *fail; i++)
        assert_int_equal(uplink_config_set(&config, fail[i][0], fail[i][1], &error), USAGE);
    assert_true(uplink_config_equal(&config, &(struct uplink_config){ 0 }));
    assert_false(uplink_config_has("collectors"));
}

static void copy_is_equal_until_changed(void **state)
{
    (void)state;
    struct uplink_config copy;
    set("collector", "login1");
    set("collector-key", KEY);
    set("key", "/etc/my.key");
    set("spool", "/var/spool/x");
    set("spool-size", "64MiB");
    set("spool-age", "2h");
    assert_int_equal(config.journal_bytes, 64 << 20);
    assert_int_equal(config.journal_age_ns, 7200 * NS_PER_S);
    assert_int_equal(uplink_config_copy(&copy, &config), OK);
    assert_true(uplink_config_equal(&copy, &config));
    assert_int_equal(uplink_config_set(&copy, "collector", "login2", &error), OK);
    assert_false(uplink_config_equal(&copy, &config));
    uplink_config_clear(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(collectors_and_keys, begin, end),
        cmocka_unit_test_setup_teardown(plain_is_for_this_node, begin, end),
        cmocka_unit_test_setup_teardown(invalid_values_change_nothing, begin, end),
        cmocka_unit_test_setup_teardown(copy_is_equal_until_changed, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
