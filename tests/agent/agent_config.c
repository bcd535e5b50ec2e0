/* The agent's configuration and its file: what is set, and what is rejected with line and reason. */
#include "agent/agent_config.h"

#include "base/clock.h"
#include "samplers/all.h"
#include "tools/temp.h"
#include "tools/unit.h"

static const struct sampler *const list[] = { &sampler_meminfo, &sampler_stat, &sampler_null, NULL };

struct fixture {
    struct agent_config config;
    struct buf error;
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    buf_init(&f->error, 4096);
    *state = f;
    return agent_config_init(&f->config, list);
}

static int end(void **state)
{
    struct fixture *f = *state;
    agent_config_clear(&f->config);
    buf_clear(&f->error);
    free(f);
    return 0;
}

static enum err parse(struct fixture *f, const char *text)
{
    char *copy = strdup(text);
    buf_reset(&f->error);
    enum err err = agent_config_parse(&f->config, "agent.conf", copy, &f->error);
    free(copy); /* the configuration has its own strings */
    return err;
}

static void refused(struct fixture *f, const char *text, const char *error)
{
    assert_int_equal(parse(f, text), USAGE);
    assert_string_equal(buf_text(&f->error), error);
}

static void default_reads_all_every_second(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(f->config.sensor_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(f->config.sensors[i].enabled);
        assert_int_equal(agent_config_period_ns(&f->config, &f->config.sensors[i]), NS_PER_S);
    }
    assert_string_equal(f->config.listen, "127.0.0.1:1337");
    assert_null(f->config.socket);
    assert_int_equal(f->config.sink_count, 0);
}

static void file_sets_everything(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse(f, "# a comment\n\n period = 5s   # behind a blank\r\nlisten = none\nsocket = \"/run/a # b\"\n"
                              "sink = csv:path=/tmp/a#b,set=stat\n[meminfo] ; memory\nperiod=250ms\n[stat]\nenabled = no\n"
                              "[null]\nstep = 7\nstep = 8\n[agent]\nsink = null"), OK);
    assert_int_equal(f->config.period_ns, 5 * NS_PER_S);
    assert_string_equal(f->config.listen, "none");
    assert_string_equal(f->config.socket, "/run/a # b");
    assert_int_equal(agent_config_period_ns(&f->config, &f->config.sensors[0]), 250 * NS_PER_MS);
    assert_false(f->config.sensors[1].enabled);
    assert_int_equal(f->config.sensors[2].settings.count, 1);
    assert_string_equal(f->config.sensors[2].settings.list[0].value, "8");
    assert_int_equal(f->config.sink_count, 2);
    assert_string_equal(f->config.sinks[0].settings.list[0].value, "/tmp/a#b");
    assert_string_equal(f->config.sinks[0].settings.list[1].value, "stat");
    assert_string_equal(f->config.sinks[1].sink->name, "null");
}

static void error_has_line_and_reason(void **state)
{
    struct fixture *f = *state;
    refused(f, "period = 1s\nperiod = often\n",
            "agent.conf:2: invalid period 'often' (expected a duration such as 1s, 250ms or 5m)");
    refused(f, "period = 1us", "agent.conf:1: invalid period '1us' (expected 1ms to 7d)");
    refused(f, "\n\n[memifo]\n", "agent.conf:3: unknown sensor 'memifo'; did you mean 'meminfo'?");
    refused(f, "[meminfo\nperiod=1s", "agent.conf:1: invalid section '[meminfo' (expected [NAME])");
    refused(f, "[meminfo]\nfields = 2", "agent.conf:2: unknown setting 'fields' of meminfo (available: enabled, period)");
    refused(f, "[null]\nsetp = 2", "agent.conf:2: unknown setting 'setp' of null; did you mean 'step'?");
    refused(f, "[stat]\nenabled = perhaps", "agent.conf:2: invalid enabled 'perhaps' (expected yes or no)");
    refused(f, "perod = 1s", "agent.conf:1: unknown key 'perod'; did you mean 'period'?");
    refused(f, "hello", "agent.conf:1: 'hello' is neither [SECTION] nor KEY = VALUE");
    refused(f, "period =", "agent.conf:1: missing value after '='");
    refused(f, "= 1s", "agent.conf:1: missing key before '='");
    refused(f, "socket = \"/run", "agent.conf:1: missing closing quote");
    refused(f, "socket = \"/run\"\"", "agent.conf:1: missing closing quote");
    refused(f, "socket = \"/run\" x", "agent.conf:1: missing closing quote");
    refused(f, "listen = 1337", "agent.conf:1: invalid address '1337' (expected 127.0.0.1:1337, [::1]:1337 or none)");
    refused(f, "listen = a:70000", "agent.conf:1: invalid address 'a:70000' (expected 127.0.0.1:1337, [::1]:1337 or none)");
    assert_int_equal(parse(f, "sink = nowhere"), USAGE);
    assert_ptr_equal(strstr(buf_text(&f->error), "agent.conf:1: unknown sink 'nowhere' (available: "), buf_text(&f->error));
    refused(f, "sink = csv:pth=x", "agent.conf:1: unknown setting 'pth' of csv; did you mean 'path'?");
    refused(f, "sink = csv:x", "agent.conf:1: invalid sink setting 'x' (expected KEY=VALUE)");
    refused(f, "sensors = ,", "agent.conf:1: missing sensors (expected names, 'all' or 'none')");
    refused(f, "sensors = -stat,nul", "agent.conf:1: unknown sensor 'nul'; did you mean 'null'?");
    assert_true(f->config.sensors[1].enabled); /* nothing of a line with an error is applied */
}

static void check_sensors(struct fixture *f, const char *value, const char *enabled)
{
    assert_int_equal(agent_config_set(&f->config, "", "sensors", value, &f->error), OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(f->config.sensors[i].enabled, enabled[i] == 'y');
}

static void sensors_are_listed_added_removed(void **state)
{
    struct fixture *f = *state;
    check_sensors(f, "stat", "nyn");
    check_sensors(f, "+null, -stat", "nny");
    check_sensors(f, "all,-null", "yyn");
    check_sensors(f, "none", "nnn");
    check_sensors(f, "meminfo null", "yny");
    check_sensors(f, "-all,+stat", "nyn");
}

static void options_have_the_same_keys(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(agent_config_set_line(&f->config, "meminfo.period=2m", &f->error), OK);
    assert_int_equal(f->config.sensors[0].period_ns, 120 * NS_PER_S);
    assert_int_equal(agent_config_set_line(&f->config, "agent.period=10ms", &f->error), OK);
    assert_int_equal(f->config.period_ns, 10 * NS_PER_MS);
    assert_int_equal(agent_config_set_line(&f->config, "null.step=1.5", &f->error), USAGE);
    assert_non_null(strstr(buf_text(&f->error), "invalid null.step '1.5'"));
    assert_int_equal(agent_config_set_line(&f->config, "period=1s", &f->error), USAGE);
    assert_int_equal(agent_config_set_line(&f->config, "a=b.c", &f->error), USAGE);
}

static void copy_is_independent(void **state)
{
    struct fixture *f = *state;
    struct agent_config copy;
    assert_int_equal(parse(f, "socket=/s\nsink=csv:path=/x\n[null]\nstep=3"), OK);
    assert_int_equal(agent_config_copy(&copy, &f->config), OK);
    assert_true(setting_list_equal(&copy.sensors[2].settings, &f->config.sensors[2].settings));
    assert_int_equal(agent_config_set_line(&copy, "null.step=4", &f->error), OK);
    assert_false(setting_list_equal(&copy.sensors[2].settings, &f->config.sensors[2].settings));
    assert_string_equal(f->config.sensors[2].settings.list[0].value, "3");
    assert_string_equal(copy.socket, "/s");
    assert_int_equal(copy.sink_count, 1);
    agent_config_clear(&copy);
    agent_config_clear(&copy);
}

static void written_config_reads_back(void **state)
{
    struct fixture *f = *state;
    struct fixture other = { 0 };
    struct buf first, second;
    buf_init(&first, 1 << 16);
    buf_init(&second, 1 << 16);
    buf_init(&other.error, 4096);
    assert_int_equal(agent_config_init(&other.config, list), OK);
    assert_int_equal(parse(f, "period=1500us\nspool-age=1500ms\nseries=77\nsocket=\"/a # b\"\n"
                              "sink=csv:path=/x #y,set=stat\nsink=null\n"
                              "[stat]\nenabled=no\n[null]\nstep=4\nperiod=3ms\n[meminfo]\nperiod=2h"), OK);
    agent_config_write(&first, &f->config);
    assert_int_equal(parse(&other, buf_text(&first)), OK);
    agent_config_write(&second, &other.config);
    assert_string_equal(buf_text(&first), buf_text(&second));
    assert_non_null(strstr(buf_text(&first), "\nstep = 4\n"));
    assert_non_null(strstr(buf_text(&first), "\n#period = 1500000ns\n"));
    assert_int_equal(other.config.sensors[0].period_ns, 7200 * NS_PER_S);
    assert_int_equal(other.config.series, 77);
    assert_int_equal(other.config.uplink.journal_age_ns, 1500 * NS_PER_MS);
    agent_config_clear(&other.config);
    buf_clear(&first);
    buf_clear(&second);
    buf_clear(&other.error);
}

/* As printed by sonde agent --check -v. */
static void quotes_in_values(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1 << 16);
    assert_int_equal(parse(f, "socket=\"/\"\"a\"\" # b\"\"\" # c\nspool=/\"x\"\nkey=\"\"\"\"\n"
                              "sink=csv:path=/a\"b\n"
                              "[programs]\nboards=/d \"e\nprofiles=\"/ f\t\"\n"), OK);
    assert_string_equal(f->config.socket, "/\"a\" # b\"");
    agent_config_write(&text, &f->config);
    agent_config_clear(&f->config);
    assert_int_equal(agent_config_init(&f->config, list), OK);
    assert_int_equal(parse(f, buf_text(&text)), OK);
    assert_string_equal(f->config.socket, "/\"a\" # b\"");
    assert_string_equal(f->config.uplink.spool, "/\"x\"");
    assert_string_equal(f->config.uplink.key, "\"");
    assert_string_equal(f->config.sinks[0].settings.list[0].value, "/a\"b");
    assert_string_equal(f->config.programs.segment_dir, "/d \"e");
    assert_string_equal(f->config.programs.profiles, "/ f\t");
    buf_clear(&text);
}

static void readable_and_unreadable_files(void **state)
{
    struct fixture *f = *state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX], expected[TEMP_PATH_MAX + 64];
    temp_dir(dir);
    temp_join(path, dir, "agent.conf");
    assert_int_equal(agent_config_read(&f->config, path, &f->error), ABSENT);
    temp_write(path, "period = 3s\n", 12);
    assert_int_equal(agent_config_read(&f->config, path, &f->error), OK);
    assert_int_equal(f->config.period_ns, 3 * NS_PER_S);
    temp_write(path, "period = 3s\0\n", 13);
    buf_reset(&f->error);
    assert_int_equal(agent_config_read(&f->config, path, &f->error), USAGE);
    snprintf(expected, sizeof expected, "%s: not a configuration file", path);
    assert_non_null(strstr(buf_text(&f->error), expected));
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(default_reads_all_every_second, begin, end),
        cmocka_unit_test_setup_teardown(file_sets_everything, begin, end),
        cmocka_unit_test_setup_teardown(error_has_line_and_reason, begin, end),
        cmocka_unit_test_setup_teardown(sensors_are_listed_added_removed, begin, end),
        cmocka_unit_test_setup_teardown(options_have_the_same_keys, begin, end),
        cmocka_unit_test_setup_teardown(copy_is_independent, begin, end),
        cmocka_unit_test_setup_teardown(written_config_reads_back, begin, end),
        cmocka_unit_test_setup_teardown(quotes_in_values, begin, end),
        cmocka_unit_test_setup_teardown(readable_and_unreadable_files, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
