/* A complete agent in the test's own process: ticks, control requests, reload. */
#include "agent/agent.h"

#include "agent/control.h"
#include "base/file.h"
#include "base/log.h"
#include "tools/node.h"
#include "tools/temp.h"
#include "tools/unit.h"

struct fixture {
    struct agent agent;
    struct buf answer;
    const char *lines[8]; /* lines of its configuration */
};

static enum err load_config(void *context, struct agent_config *config, struct buf *error)
{
    const struct fixture *f = context;
    enum err err = agent_config_init(config, NULL);
    for (const char *const *line = f->lines; *line && !err; line++)
        err = agent_config_set_line(config, *line, error);
    return err;
}

static int begin(void **state)
{
    static char root[4096];
    struct fixture *f = *state = calloc(1, sizeof *f);
    log_set_level(-1);
    snprintf(root, sizeof root, "%s", node_root("vm"));
    buf_init(&f->answer, 1 << 20);
    f->lines[0] = "agent.listen=none";
    f->lines[1] = "agent.socket=none";
    f->lines[2] = "agent.sensors=meminfo,loadavg";
    f->lines[3] = "agent.period=5ms";
    return agent_open(&f->agent, &(struct agent_settings){ .root = root, .load_config = load_config, .context = f });
}

static int end(void **state)
{
    struct fixture *f = *state;
    agent_close(&f->agent);
    assert_true(agent_sinks_close(&f->agent.sinks));
    buf_clear(&f->answer);
    free(f);
    return 0;
}

static const char *send_control(struct fixture *f, const char *json, enum err expected)
{
    buf_reset(&f->answer);
    assert_int_equal(control_answer(&f->agent, json, strlen(json), &f->answer), expected);
    return buf_text(&f->answer);
}

static void ticks_in_the_loop(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 1000 && f->agent.schedule.counts.ticks < 5; i++)
        assert_int_equal(agent_turn(&f->agent, 100), OK);
    assert_true(f->agent.schedule.counts.ticks >= 5);
    assert_int_equal(latest_count(f->agent.live), 2);
}

/* Shared pages: the third number of "size resident shared ...". */
static unsigned long file_pages(void)
{
    char text[256], *at = text;
    assert_int_equal(file_read_line("", "/proc/self/statm", text, sizeof text), OK);
    strtoul(at, &at, 10);
    strtoul(at, &at, 10);
    return strtoul(at, &at, 10);
}

static void releases_memory_once_warm(void **state)
{
    struct fixture *f = *state;
    unsigned long before = 0, after = 0;
    for (int i = 0; i < 10000 && !after; i++) {
        before = file_pages();
        unsigned warm_up_rounds = f->agent.warm_up_rounds;
        assert_int_equal(agent_turn(&f->agent, 100), OK);
        after = warm_up_rounds == 1 && f->agent.warm_up_rounds == 2 ? file_pages() : 0;
    }
    assert_int_not_equal(after, 0);
    assert_true(after < before);
    ticks_in_the_loop(state);
}

/* As on a kernel without epoll_pwait2. */
static void ticks_with_a_timer(void **state)
{
    struct fixture *f = *state;
    f->agent.can_sleep_to_tick = false;
    for (int i = 0; i < 1000 && f->agent.schedule.counts.ticks < 5; i++)
        assert_int_equal(agent_turn(&f->agent, 1000), OK);
    assert_true(f->agent.schedule.counts.ticks >= 5);
    assert_int_equal(f->agent.schedule.armed_every_ns, 5 * NS_PER_MS);
}

/* As if the clock had been set back by an hour without the kernel signalling it. */
static void clock_set_back_pauses_at_most_a_second(void **state)
{
    struct fixture *f = *state;
    struct schedule *schedule = &f->agent.schedule;
    assert_int_equal(agent_turn(&f->agent, 1000), OK);
    for (size_t i = 0; i < schedule->count; i++)
        schedule->slots[i].next_ns += 3600 * NS_PER_S;
    schedule->ahead_ns += 3600 * NS_PER_S;
    uint64_t ticks = schedule->counts.ticks, begin_ns = clock_monotonic_ns();
    for (int i = 0; i < 100 && schedule->counts.ticks < ticks + 3; i++)
        assert_int_equal(agent_turn(&f->agent, -1), OK);
    assert_int_equal(schedule->clock_sets, 1);
    assert_true(clock_monotonic_ns() - begin_ns < 60 * NS_PER_S); /* the node may be busy */
}

static void control_returns_the_state(void **state)
{
    struct fixture *f = *state;
    const char *answer = send_control(f, " {} ", OK);
    assert_non_null(strstr(answer, "\"ok\": true"));
    assert_non_null(strstr(answer, "\"period_ns\": 5000000"));
    assert_non_null(strstr(answer, "{\"name\": \"meminfo\", \"about\": \"memory of the node\", \"enabled\": true"));
    assert_non_null(strstr(answer, "\"sinks\": []"));
}

static void control_applies_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    const char *answer = send_control(f, "{\"set\": {\"period\": \"1s\", \"meminfo.period\": \"20ms\"}}", OK);
    assert_non_null(strstr(answer, "\"period_ns\": 1000000000"));
    assert_non_null(strstr(answer, "\"period_ns\": 20000000"));
    static const char *const wrong[] = {
        "", "[]", "{", "{\"set\": 1}", "{\"set\": {\"period\": 5}}", "{\"set\": {}} x", "{\"get\": {}}",
        "{\"set\": {\"period\": \"9s\", \"meminfo.x\": \"1\"}}", "{\"set\": {\"period\": \"9s\", \"no.period\": \"1s\"}}",
        "{\"set\": {\"period\": \"9s\"}, \"sets\": {}}", "{\"set\": {\"socket\": \"/x\"}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(strstr(send_control(f, wrong[i], USAGE), "\"ok\": false"));
    assert_int_equal(f->agent.config.period_ns, NS_PER_S);
    assert_int_equal(f->agent.config.sink_count, 0);
}

/* Settings made over the socket last until the configuration is reloaded. */
static void failed_reload_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct agent_config next;
    struct buf error;
    buf_init(&error, 4096);
    f->lines[4] = "agent.sink=csv:path=/nonexistent/x";
    f->lines[3] = "agent.period=7s";
    assert_int_equal(load_config(f, &next, &error), OK);
    assert_int_not_equal(agent_apply_take(&f->agent, &next, true, &error), OK);
    assert_non_null(strstr(buf_text(&error), "/nonexistent/x"));
    assert_int_equal(f->agent.config.period_ns, 5 * NS_PER_MS);
    struct sensor_facts facts;
    for (size_t at = 0; sensors_next(f->agent.sensors, &at, &facts);)
        assert_true(facts.state == SENSOR_OFF || facts.period_ns == 5 * NS_PER_MS);
    buf_clear(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ticks_in_the_loop, begin, end),
        cmocka_unit_test_setup_teardown(releases_memory_once_warm, begin, end),
        cmocka_unit_test_setup_teardown(ticks_with_a_timer, begin, end),
        cmocka_unit_test_setup_teardown(clock_set_back_pauses_at_most_a_second, begin, end),
        cmocka_unit_test_setup_teardown(control_returns_the_state, begin, end),
        cmocka_unit_test_setup_teardown(control_applies_all_or_nothing, begin, end),
        cmocka_unit_test_setup_teardown(failed_reload_changes_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
