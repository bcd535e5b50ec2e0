/* The plan and its file: what is set, and what is refused with the line and the reason. */
#include "agent/config.h"

#include "agent/plan_write.h"
#include "base/clock.h"
#include "samplers/all.h"
#include "tools/temp.h"
#include "tools/unit.h"

static const struct sampler *const list[] = { &sampler_meminfo, &sampler_stat, &sampler_null, NULL };

struct fixture {
    struct plan plan;
    struct buf why;
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    buf_init(&f->why, 4096);
    *state = f;
    return plan_init(&f->plan, list);
}

static int end(void **state)
{
    struct fixture *f = *state;
    plan_clear(&f->plan);
    buf_clear(&f->why);
    free(f);
    return 0;
}

static enum err parse(struct fixture *f, const char *text)
{
    char *copy = strdup(text);
    buf_reset(&f->why);
    enum err err = config_parse(&f->plan, "agent.conf", copy, &f->why);
    free(copy); /* the plan has its own texts */
    return err;
}

static void refused(struct fixture *f, const char *text, const char *why)
{
    assert_int_equal(parse(f, text), USAGE);
    assert_string_equal(buf_text(&f->why), why);
}

static void without_a_word_everything_is_read_each_second(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(f->plan.sensor_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(f->plan.sensors[i].enabled);
        assert_int_equal(plan_period_ns(&f->plan, &f->plan.sensors[i]), NS_PER_S);
    }
    assert_string_equal(f->plan.listen, "127.0.0.1:1337");
    assert_null(f->plan.socket);
    assert_int_equal(f->plan.sink_count, 0);
}

static void a_file_sets_all_of_it(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse(f, "# a comment\n\n period = 5s   # behind a blank\r\nlisten = none\nsocket = \"/run/a # b\"\n"
                              "sink = csv:path=/tmp/a#b,set=stat\n[meminfo] ; memory\nperiod=250ms\n[stat]\nenabled = no\n"
                              "[null]\nstep = 7\nstep = 8\n[agent]\nsink = null"), OK);
    assert_int_equal(f->plan.period_ns, 5 * NS_PER_S);
    assert_string_equal(f->plan.listen, "none");
    assert_string_equal(f->plan.socket, "/run/a # b");
    assert_int_equal(plan_period_ns(&f->plan, &f->plan.sensors[0]), 250 * NS_PER_MS);
    assert_false(f->plan.sensors[1].enabled);
    assert_int_equal(f->plan.sensors[2].settings.count, 1);
    assert_string_equal(f->plan.sensors[2].settings.list[0].value, "8");
    assert_int_equal(f->plan.sink_count, 2);
    assert_string_equal(f->plan.sinks[0].settings.list[0].value, "/tmp/a#b");
    assert_string_equal(f->plan.sinks[0].settings.list[1].value, "stat");
    assert_string_equal(f->plan.sinks[1].sink->name, "null");
}

static void a_mistake_is_refused_with_line_and_reason(void **state)
{
    struct fixture *f = *state;
    refused(f, "period = 1s\nperiod = often\n",
            "agent.conf:2: 'often' is no duration: write 1s, 250ms or 5m");
    refused(f, "period = 1us", "agent.conf:1: a period is at least 1 ms and at most 7 days, not '1us'");
    refused(f, "\n\n[memifo]\n", "agent.conf:3: there is no sensor 'memifo'; did you mean 'meminfo'?");
    refused(f, "[meminfo\nperiod=1s", "agent.conf:1: '[meminfo' is no section: write [NAME]");
    refused(f, "[meminfo]\nfields = 2", "agent.conf:2: meminfo has no setting 'fields'");
    refused(f, "[null]\nsetp = 2", "agent.conf:2: null has no setting 'setp'; did you mean 'step'?");
    refused(f, "[stat]\nenabled = perhaps", "agent.conf:2: enabled is yes or no, not 'perhaps'");
    refused(f, "perod = 1s", "agent.conf:1: there is no 'perod'; did you mean 'period'?");
    refused(f, "hello", "agent.conf:1: 'hello' is neither [SECTION] nor KEY = VALUE");
    refused(f, "period =", "agent.conf:1: there is no value behind '='");
    refused(f, "= 1s", "agent.conf:1: there is no key before '='");
    refused(f, "socket = \"/run", "agent.conf:1: the quotes do not end");
    refused(f, "socket = \"/run\"\"", "agent.conf:1: the quotes do not end");
    refused(f, "socket = \"/run\" x", "agent.conf:1: the quotes do not end");
    refused(f, "listen = 1337", "agent.conf:1: '1337' is no address: write 127.0.0.1:1337, [::1]:1337 or none");
    refused(f, "listen = a:70000", "agent.conf:1: 'a:70000' is no address: write 127.0.0.1:1337, [::1]:1337 or none");
    assert_int_equal(parse(f, "sink = nowhere"), USAGE);
    assert_ptr_equal(strstr(buf_text(&f->why), "agent.conf:1: there is no sink 'nowhere'; there are "), buf_text(&f->why));
    refused(f, "sink = csv:pth=x", "agent.conf:1: csv has no setting 'pth'; did you mean 'path'?");
    refused(f, "sink = csv:x", "agent.conf:1: 'x' is no setting of a sink: write KEY=VALUE");
    refused(f, "sensors = ,", "agent.conf:1: name sensors, 'all' or 'none'");
    refused(f, "sensors = -stat,nul", "agent.conf:1: there is no sensor 'nul'; did you mean 'null'?");
    assert_true(f->plan.sensors[1].enabled); /* nothing of a line with a mistake is done */
}

static void check_sensors(struct fixture *f, const char *value, const char *enabled)
{
    assert_int_equal(plan_set(&f->plan, "", "sensors", value, &f->why), OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(f->plan.sensors[i].enabled, enabled[i] == 'y');
}

static void sensors_are_listed_added_and_taken_away(void **state)
{
    struct fixture *f = *state;
    check_sensors(f, "stat", "nyn");
    check_sensors(f, "+null, -stat", "nny");
    check_sensors(f, "all,-null", "yyn");
    check_sensors(f, "none", "nnn");
    check_sensors(f, "meminfo null", "yny");
    check_sensors(f, "-all,+stat", "nyn");
}

static void options_and_commands_write_the_same_names(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(plan_set_line(&f->plan, "meminfo.period=2m", &f->why), OK);
    assert_int_equal(f->plan.sensors[0].period_ns, 120 * NS_PER_S);
    assert_int_equal(plan_set_line(&f->plan, "agent.period=10ms", &f->why), OK);
    assert_int_equal(f->plan.period_ns, 10 * NS_PER_MS);
    assert_int_equal(plan_set_line(&f->plan, "null.step=1.5", &f->why), USAGE);
    assert_non_null(strstr(buf_text(&f->why), "null.step cannot be '1.5'"));
    assert_int_equal(plan_set_line(&f->plan, "period=1s", &f->why), USAGE);
    assert_int_equal(plan_set_line(&f->plan, "a=b.c", &f->why), USAGE);
}

static void a_copy_stands_alone(void **state)
{
    struct fixture *f = *state;
    struct plan copy;
    assert_int_equal(parse(f, "socket=/s\nsink=csv:path=/x\n[null]\nstep=3"), OK);
    assert_int_equal(plan_copy(&copy, &f->plan), OK);
    assert_true(setting_list_equal(&copy.sensors[2].settings, &f->plan.sensors[2].settings));
    assert_int_equal(plan_set_line(&copy, "null.step=4", &f->why), OK);
    assert_false(setting_list_equal(&copy.sensors[2].settings, &f->plan.sensors[2].settings));
    assert_string_equal(f->plan.sensors[2].settings.list[0].value, "3");
    assert_string_equal(copy.socket, "/s");
    assert_int_equal(copy.sink_count, 1);
    plan_clear(&copy);
    plan_clear(&copy);
}

static void what_is_written_reads_back_as_the_same(void **state)
{
    struct fixture *f = *state;
    struct fixture other = { 0 };
    struct buf first, second;
    buf_init(&first, 1 << 16);
    buf_init(&second, 1 << 16);
    buf_init(&other.why, 4096);
    assert_int_equal(plan_init(&other.plan, list), OK);
    assert_int_equal(parse(f, "period=1500us\nspool-age=1500ms\nseries=77\nsocket=\"/a # b\"\n"
                              "sink=csv:path=/x #y,set=stat\nsink=null\n"
                              "[stat]\nenabled=no\n[null]\nstep=4\nperiod=3ms\n[meminfo]\nperiod=2h"), OK);
    plan_write(&first, &f->plan);
    assert_int_equal(parse(&other, buf_text(&first)), OK);
    plan_write(&second, &other.plan);
    assert_string_equal(buf_text(&first), buf_text(&second));
    assert_non_null(strstr(buf_text(&first), "\nstep = 4\n"));
    assert_non_null(strstr(buf_text(&first), "\n#period = 1500000ns\n"));
    assert_int_equal(other.plan.sensors[0].period_ns, 7200 * NS_PER_S);
    assert_int_equal(other.plan.series, 77);
    assert_int_equal(other.plan.uplink.spool_age_ns, 1500 * NS_PER_MS);
    plan_clear(&other.plan);
    buf_clear(&first);
    buf_clear(&second);
    buf_clear(&other.why);
}

/* As sonde agent --check -v shows it. */
static void a_quote_in_a_value_survives(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1 << 16);
    assert_int_equal(parse(f, "socket=\"/\"\"a\"\" # b\"\"\" # c\nspool=/\"x\"\nkey=\"\"\"\"\n"
                              "sink=csv:path=/a\"b\n"
                              "[programs]\nboards=/d \"e\nprofiles=\"/ f\t\"\n"), OK);
    assert_string_equal(f->plan.socket, "/\"a\" # b\"");
    plan_write(&text, &f->plan);
    plan_clear(&f->plan);
    assert_int_equal(plan_init(&f->plan, list), OK);
    assert_int_equal(parse(f, buf_text(&text)), OK);
    assert_string_equal(f->plan.socket, "/\"a\" # b\"");
    assert_string_equal(f->plan.uplink.spool, "/\"x\"");
    assert_string_equal(f->plan.uplink.key, "\"");
    assert_string_equal(f->plan.sinks[0].settings.list[0].value, "/a\"b");
    assert_string_equal(f->plan.programs.boards, "/d \"e");
    assert_string_equal(f->plan.programs.profiles, "/ f\t");
    buf_clear(&text);
}

static void files_are_read_or_not(void **state)
{
    struct fixture *f = *state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX], expected[TEMP_PATH_MAX + 64];
    temp_dir(dir);
    temp_join(path, dir, "agent.conf");
    assert_int_equal(config_read(&f->plan, path, &f->why), ABSENT);
    temp_write(path, "period = 3s\n", 12);
    assert_int_equal(config_read(&f->plan, path, &f->why), OK);
    assert_int_equal(f->plan.period_ns, 3 * NS_PER_S);
    temp_write(path, "period = 3s\0\n", 13);
    buf_reset(&f->why);
    assert_int_equal(config_read(&f->plan, path, &f->why), USAGE);
    snprintf(expected, sizeof expected, "%s: this is no configuration", path);
    assert_non_null(strstr(buf_text(&f->why), expected));
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_word_everything_is_read_each_second, begin, end),
        cmocka_unit_test_setup_teardown(a_file_sets_all_of_it, begin, end),
        cmocka_unit_test_setup_teardown(a_mistake_is_refused_with_line_and_reason, begin, end),
        cmocka_unit_test_setup_teardown(sensors_are_listed_added_and_taken_away, begin, end),
        cmocka_unit_test_setup_teardown(options_and_commands_write_the_same_names, begin, end),
        cmocka_unit_test_setup_teardown(a_copy_stands_alone, begin, end),
        cmocka_unit_test_setup_teardown(what_is_written_reads_back_as_the_same, begin, end),
        cmocka_unit_test_setup_teardown(a_quote_in_a_value_survives, begin, end),
        cmocka_unit_test_setup_teardown(files_are_read_or_not, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
