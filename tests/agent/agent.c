/* A whole agent in the test's own process: what it is told, and what it answers. */
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
    const char *lines[8]; /* of its configuration */
};

static enum err make_plan(void *context, struct plan *plan, struct buf *why)
{
    const struct fixture *f = context;
    enum err err = plan_init(plan, NULL);
    for (const char *const *line = f->lines; *line && !err; line++)
        err = plan_set_line(plan, *line, why);
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
    return agent_open(&f->agent, &(struct agent_settings){ .root = root, .make_plan = make_plan, .context = f });
}

static int end(void **state)
{
    struct fixture *f = *state;
    agent_close(&f->agent);
    assert_true(outlets_close(&f->agent.outlets));
    buf_clear(&f->answer);
    free(f);
    return 0;
}

static const char *tell(struct fixture *f, const char *json, enum err expected)
{
    buf_reset(&f->answer);
    assert_int_equal(control_answer(&f->agent, json, strlen(json), &f->answer), expected);
    return buf_text(&f->answer);
}

static void it_ticks_in_its_loop(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 1000 && f->agent.schedule.counts.ticks < 5; i++)
        assert_int_equal(agent_turn(&f->agent, 100), OK);
    assert_true(f->agent.schedule.counts.ticks >= 5);
    assert_int_equal(live_count(f->agent.live), 2);
}

/* Pages of files in memory: the third number of "size resident shared …". */
static unsigned long file_pages(void)
{
    char text[256], *at = text;
    assert_int_equal(file_read_line("", "/proc/self/statm", text, sizeof text), OK);
    strtoul(at, &at, 10);
    strtoul(at, &at, 10);
    return strtoul(at, &at, 10);
}

static void once_warm_it_gives_back_what_it_began_with(void **state)
{
    struct fixture *f = *state;
    unsigned long before = 0, after = 0;
    for (int i = 0; i < 10000 && !after; i++) {
        before = file_pages();
        unsigned looks = f->agent.looks;
        assert_int_equal(agent_turn(&f->agent, 100), OK);
        after = looks == 1 && f->agent.looks == 2 ? file_pages() : 0;
    }
    assert_int_not_equal(after, 0);
    assert_true(after < before);
    it_ticks_in_its_loop(state);
}

/* As on a kernel that cannot sleep to the nanosecond in epoll_wait. */
static void it_ticks_by_a_timer_too(void **state)
{
    struct fixture *f = *state;
    f->agent.ticks_by_sleep = false;
    for (int i = 0; i < 1000 && f->agent.schedule.counts.ticks < 5; i++)
        assert_int_equal(agent_turn(&f->agent, 1000), OK);
    assert_true(f->agent.schedule.counts.ticks >= 5);
    assert_int_equal(f->agent.schedule.armed_every_ns, 5 * NS_PER_MS);
}

/* As if somebody had set the clock back by an hour, and the kernel had not told. */
static void a_clock_set_back_stops_it_for_no_more_than_a_second(void **state)
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
    assert_true(clock_monotonic_ns() - begin_ns < 60 * NS_PER_S); /* this machine may be busy */
}

static void it_answers_what_it_does(void **state)
{
    struct fixture *f = *state;
    const char *answer = tell(f, " {} ", OK);
    assert_non_null(strstr(answer, "\"ok\": true"));
    assert_non_null(strstr(answer, "\"period_ns\": 5000000"));
    assert_non_null(strstr(answer, "{\"name\": \"meminfo\", \"about\": \"memory of the node\", \"enabled\": true"));
    assert_non_null(strstr(answer, "\"sinks\": []"));
}

static void it_does_all_that_it_is_told_or_nothing(void **state)
{
    struct fixture *f = *state;
    const char *answer = tell(f, "{\"set\": {\"period\": \"1s\", \"meminfo.period\": \"20ms\"}}", OK);
    assert_non_null(strstr(answer, "\"period_ns\": 1000000000"));
    assert_non_null(strstr(answer, "\"period_ns\": 20000000"));
    static const char *const wrong[] = {
        "", "[]", "{", "{\"set\": 1}", "{\"set\": {\"period\": 5}}", "{\"set\": {}} x", "{\"get\": {}}",
        "{\"set\": {\"period\": \"9s\", \"meminfo.x\": \"1\"}}", "{\"set\": {\"period\": \"9s\", \"no.period\": \"1s\"}}",
        "{\"set\": {\"period\": \"9s\"}, \"sets\": {}}", "{\"set\": {\"socket\": \"/x\"}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(strstr(tell(f, wrong[i], USAGE), "\"ok\": false"));
    assert_int_equal(f->agent.plan.period_ns, NS_PER_S);
    assert_int_equal(f->agent.plan.sink_count, 0);
}

/* What was told over the socket lasts until the configuration is read anew. */
static void a_reload_that_fails_leaves_everything(void **state)
{
    struct fixture *f = *state;
    struct plan next;
    struct buf why;
    buf_init(&why, 4096);
    f->lines[4] = "agent.sink=csv:path=/nonexistent/x";
    f->lines[3] = "agent.period=7s";
    assert_int_equal(make_plan(f, &next, &why), OK);
    assert_int_not_equal(agent_apply_take(&f->agent, &next, true, &why), OK);
    assert_non_null(strstr(buf_text(&why), "/nonexistent/x"));
    assert_int_equal(f->agent.plan.period_ns, 5 * NS_PER_MS);
    struct sensor_facts facts;
    for (size_t at = 0; sensors_next(f->agent.sensors, &at, &facts);)
        assert_true(facts.state == SENSOR_OFF || facts.period_ns == 5 * NS_PER_MS);
    buf_clear(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_ticks_in_its_loop, begin, end),
        cmocka_unit_test_setup_teardown(once_warm_it_gives_back_what_it_began_with, begin, end),
        cmocka_unit_test_setup_teardown(it_ticks_by_a_timer_too, begin, end),
        cmocka_unit_test_setup_teardown(a_clock_set_back_stops_it_for_no_more_than_a_second, begin, end),
        cmocka_unit_test_setup_teardown(it_answers_what_it_does, begin, end),
        cmocka_unit_test_setup_teardown(it_does_all_that_it_is_told_or_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_reload_that_fails_leaves_everything, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
