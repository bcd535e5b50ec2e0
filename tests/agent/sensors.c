/* The sensors of an agent: each at its own period, failing alone, changed alone, told of jobs. The test drives the clock. */
#include "agent/sensors.h"

#include "base/log.h"
#include "tools/unit.h"

#include <unistd.h>

#define START (1800000000 * NS_PER_S)

/* Three of a kind; what they do is steered from here. */
enum { QUICK, OTHER, SLOW, KINDS };

static struct {
    unsigned opens, closes, begins, ends, looks;
    uint64_t within_ns; /* it wants to look again */
    _Atomic unsigned reads;
    enum err open_result, read_result;
    bool gives_second, is_part; /* a second instance; it says that it has more than it gave */
} told[KINDS];

static uint64_t kernel; /* counts on whoever reads it */

struct play {
    uint64_t value, own; /* own: counted since it was opened */
    unsigned kind;
};

static const struct metric metrics[] = {
    { "value", "1", GAUGE, U64, "a value" },
    { "own", "1", COUNTER, U64, "what the sampler counts itself" },
    { "kernel", "1", COUNTER, U64, "what the kernel counts" },
};
static const struct set sets[] = { { "quick", metrics, 3 }, { "other", metrics, 3 }, { "slow", metrics, 3 } };
static const struct setting settings[] = {
    { "value", SETTING_U64, "1", offsetof(struct play, value), "a value" }, { 0 },
};

static enum err open_as(void *state, unsigned kind)
{
    ((struct play *)state)->kind = kind;
    told[kind].opens++;
    return told[kind].open_result;
}

static enum err open_quick(void *s, const struct sampler_context *c) { return (void)c, open_as(s, QUICK); }
static enum err open_other(void *s, const struct sampler_context *c) { return (void)c, open_as(s, OTHER); }
static enum err open_slow(void *s, const struct sampler_context *c) { return (void)c, open_as(s, SLOW); }

static enum err play_read(void *state, struct batch *out)
{
    struct play *play = state;
    told[play->kind].reads++;
    struct sample *sample = batch_add(out, &sets[play->kind], 1, "");
    sample_set_u64(sample, 0, play->value);
    sample_set_u64(sample, 1, ++play->own);
    sample_set_u64(sample, 2, ++kernel);
    if (told[play->kind].gives_second)
        batch_add(out, &sets[play->kind], 1, "second");
    out->is_part |= told[play->kind].is_part;
    return told[play->kind].read_result;
}

static enum err play_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct play *play = state;
    told[play->kind].begins += event == JOB_BEGIN;
    told[play->kind].ends += event == JOB_END;
    if (event == JOB_END)
        batch_add(out, &sets[play->kind], 2, "")->job = job->id;
    return OK;
}

static uint64_t play_look(void *state)
{
    struct play *play = state;
    told[play->kind].looks++;
    return told[play->kind].within_ns;
}

static void play_close(void *state)
{
    told[((struct play *)state)->kind].closes++;
}

#define PLAYER(n, is_it_slow) { .name = #n, .about = "plays", .settings = settings, .state_size = sizeof(struct play), \
    .is_slow = is_it_slow, .open = open_##n, .read = play_read, .look = play_look, .job = play_job, .close = play_close }
static const struct sampler quick = PLAYER(quick, false), other = PLAYER(other, false), slow = PLAYER(slow, true);
static const struct sampler *const list[] = { &quick, &other, &slow, NULL };

struct fixture {
    struct schedule schedule;
    struct live *live;
    struct sensors *sensors;
    struct plan plan;
    struct buf why;
    uint64_t now_ns;
    size_t batches, samples;
    uint64_t own[KINDS], kernel[KINDS]; /* of the last samples */
};

static void count_out(void *context, const struct batch *batch)
{
    struct fixture *f = context;
    assert_string_equal(batch->host, "node");
    f->batches++;
    f->samples += batch->count;
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        size_t kind = (size_t)(sample->set - sets);
        if (!sample->known[1])
            continue;
        assert_true(sample->values[1].u64 >= f->own[kind] && sample->values[2].u64 > f->kernel[kind]);
        f->own[kind] = sample->values[1].u64;
        f->kernel[kind] = sample->values[2].u64;
    }
}

static int begin(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    log_set_level(-1);
    memset(told, 0, sizeof told);
    buf_init(&f->why, 4096);
    schedule_open(&f->schedule);
    live_open(&f->live);
    plan_init(&f->plan, list);
    struct sensors_place place = { .root = "", .host = "node", .live = f->live, .schedule = &f->schedule,
                                   .out = count_out, .out_context = f };
    return sensors_open(&f->sensors, &place);
}

static int end(void **state)
{
    struct fixture *f = *state;
    sensors_close(&f->sensors);
    live_close(&f->live);
    schedule_close(&f->schedule);
    plan_clear(&f->plan);
    buf_clear(&f->why);
    free(f);
    return 0;
}

static enum err apply(struct fixture *f, const char *line)
{
    struct plan next;
    assert_int_equal(plan_copy(&next, &f->plan), OK);
    assert_int_equal(plan_set_line(&next, line, &f->why), OK);
    enum err err = sensors_apply(f->sensors, &next, &f->why);
    if (!err) {
        plan_clear(&f->plan);
        f->plan = next;
        return OK;
    }
    plan_clear(&next);
    assert_int_equal(sensors_apply(f->sensors, &f->plan, &f->why), OK);
    return err;
}

/* Slots are aimed by the real clock when they are made: the first turn goes there. */
static void pass(struct fixture *f, uint64_t ns)
{
    f->now_ns = (f->now_ns ? f->now_ns : clock_realtime_ns() / NS_PER_S * NS_PER_S + 60 * NS_PER_S) + ns;
    f->schedule.ahead_ns = f->now_ns - START;
    schedule_turn(&f->schedule, f->now_ns, START);
    sensors_tick(f->sensors);
}

static struct sensor_facts facts_of(struct fixture *f, size_t kind)
{
    struct sensor_facts facts;
    for (size_t at = 0; sensors_next(f->sensors, &at, &facts);)
        if (at == kind + 1)
            return facts;
    fail();
    return facts;
}

static uint64_t live_value(struct fixture *f, const char *set)
{
    const struct live_entry *entry;
    for (size_t at = 0; (entry = live_next(f->live, &at));)
        if (!strcmp(entry->set->name, set))
            return entry->values[0].u64;
    return UINT64_MAX;
}

static void each_has_its_own_period(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    assert_int_equal(apply(f, "other.period=10s"), OK);
    pass(f, 0);
    unsigned first = told[QUICK].reads, first_other = told[OTHER].reads;
    for (int i = 0; i < 20; i++)
        pass(f, NS_PER_S);
    assert_int_equal(told[QUICK].reads - first, 20);
    assert_int_equal(told[OTHER].reads - first_other, 2);
    assert_int_equal(facts_of(f, OTHER).period_ns, 10 * NS_PER_S);
    assert_int_equal(told[SLOW].opens, 0);
    assert_int_equal(facts_of(f, SLOW).state, SENSOR_OFF);
    assert_int_equal(f->samples, told[QUICK].reads + told[OTHER].reads);
}

static void one_that_fails_hurts_nobody(void **state)
{
    struct fixture *f = *state;
    told[QUICK].read_result = IO;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    for (int i = 0; i < 5; i++)
        pass(f, NS_PER_S);
    assert_int_equal(told[QUICK].reads, 1);
    assert_int_equal(told[QUICK].closes, 1);
    assert_int_equal(told[OTHER].reads, 5);
    assert_int_equal(f->samples, 5); /* nothing of what the failed one had begun */
    assert_int_equal(live_count(f->live), 1);
    assert_int_equal(facts_of(f, QUICK).state, SENSOR_FAILS);
    assert_int_equal(facts_of(f, QUICK).failures, 1);
    assert_int_equal(facts_of(f, OTHER).state, SENSOR_READS);
}

static void what_was_left_out_of_a_reading_in_part_is_shown(void **state)
{
    struct fixture *f = *state;
    told[QUICK].gives_second = told[OTHER].gives_second = true;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    assert_int_equal(live_count(f->live), 4);
    told[QUICK].gives_second = told[OTHER].gives_second = false;
    told[QUICK].is_part = true;
    pass(f, NS_PER_S);
    assert_int_equal(live_count(f->live), 3); /* the one beside it gave all it had */
    told[QUICK].is_part = false;
    pass(f, NS_PER_S);
    assert_int_equal(live_count(f->live), 2);
}

static void who_would_lose_count_looks_between_two_readings(void **state)
{
    struct fixture *f = *state;
    told[OTHER].within_ns = 3600 * NS_PER_S;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    size_t samples = f->samples;
    for (int i = 0; i < 3; i++)
        sensors_look(f->sensors);
    assert_int_equal(told[QUICK].looks, 3);
    assert_int_equal(told[OTHER].looks, 1);
    assert_int_equal(f->samples, samples);
    assert_int_equal(apply(f, "other.value=2"), OK); /* opened anew, it may count something else */
    sensors_look(f->sensors);
    assert_int_equal(told[OTHER].looks, 2);
    assert_int_equal(apply(f, "agent.sensors=quick"), OK);
    sensors_look(f->sensors);
    assert_int_equal(told[OTHER].looks, 2);
    assert_int_equal(told[QUICK].looks, 5);
}

static void what_is_not_there_is_told_as_such(void **state)
{
    struct fixture *f = *state;
    told[QUICK].open_result = ABSENT;
    told[OTHER].open_result = DENIED;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    assert_int_equal(facts_of(f, QUICK).state, SENSOR_ABSENT);
    assert_int_equal(facts_of(f, OTHER).state, SENSOR_DENIED);
    assert_string_equal(sensors_state_name(SENSOR_DENIED), "denied");
    assert_int_equal(f->batches, 0);
}

static void one_is_changed_and_the_others_go_on(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    assert_int_equal(apply(f, "quick.value=7"), OK);
    assert_int_equal(live_value(f, "quick"), 7); /* who looks before the next tick sees no hole */
    pass(f, NS_PER_S);
    assert_int_equal(live_value(f, "quick"), 7);
    assert_int_equal(told[QUICK].opens, 2);
    assert_int_equal(told[QUICK].closes, 1);
    assert_int_equal(told[OTHER].opens, 1);
    assert_int_equal(told[QUICK].reads, 4); /* at each tick: no hole; and the last of the old one, the first of the new */
    assert_int_equal(f->own[QUICK], 3); /* the first of the new one stands where the last of the old one stood */
    assert_int_equal(apply(f, "quick.period=2s"), OK);
    assert_int_equal(told[QUICK].opens, 2); /* for a period nothing is opened anew */
    assert_int_equal(apply(f, "agent.sensors=-quick"), OK);
    assert_int_equal(told[QUICK].closes, 2);
    assert_int_equal(live_value(f, "quick"), UINT64_MAX); /* nor shown any more */
    assert_int_equal(live_value(f, "other"), 1);
    assert_int_equal(apply(f, "agent.sensors=+quick"), OK);
    assert_int_equal(told[QUICK].opens, 3);
}

static void a_change_that_cannot_be_leaves_the_old_one(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=quick,other"), OK);
    pass(f, NS_PER_S);
    told[QUICK].open_result = USAGE;
    assert_int_equal(apply(f, "quick.value=7"), USAGE);
    assert_non_null(strstr(buf_text(&f->why), "quick cannot be read with these settings"));
    told[QUICK].open_result = OK;
    pass(f, NS_PER_S);
    assert_int_equal(told[QUICK].closes, 0);
    assert_int_equal(told[QUICK].reads, 2);
    assert_int_equal(live_value(f, "quick"), 1);
}

/* Settings change again and again: what the sampler counts itself goes on, what the kernel counts is left as it is. */
static void counters_go_on_over_changes(void **state)
{
    struct fixture *f = *state;
    char line[32];
    kernel = 1000;
    assert_int_equal(apply(f, "agent.sensors=quick"), OK);
    for (int i = 0; i < 10; i++) {
        pass(f, NS_PER_S);
        pass(f, NS_PER_S);
        snprintf(line, sizeof line, "quick.value=%d", i + 2);
        assert_int_equal(apply(f, line), OK); /* count_out sees to it that nothing falls */
    }
    pass(f, NS_PER_S);
    assert_int_equal(f->own[QUICK], 31); /* three readings before each change were let out */
    assert_int_equal(f->kernel[QUICK], kernel);
    assert_int_equal(f->samples, 31);
}

static void wait_for_samples(struct fixture *f, size_t count)
{
    for (int i = 0; i < 60000 && f->samples < count; i++) {
        usleep(1000);
        sensors_take(f->sensors);
    }
    assert_true(f->samples >= count);
}

static void a_slow_one_that_is_changed_goes_on_too(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=slow"), OK);
    for (size_t i = 1; i <= 5; i++) {
        pass(f, NS_PER_S);
        wait_for_samples(f, i);
    }
    pass(f, NS_PER_S);
    for (int i = 0; i < 60000 && told[SLOW].reads < 6; i++)
        usleep(1000);
    assert_int_equal(apply(f, "slow.value=7"), OK);
    assert_int_equal(f->samples, 6); /* what was read and not taken yet is not thrown away */
    pass(f, NS_PER_S);
    wait_for_samples(f, 7);
    assert_int_equal(live_value(f, "slow"), 7);
    assert_int_equal(f->own[SLOW], 6); /* it goes on from there */
    pass(f, NS_PER_S);
    wait_for_samples(f, 8);
    assert_int_equal(f->own[SLOW], 7);
}

static void a_slow_one_comes_when_it_comes(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(apply(f, "agent.sensors=slow"), OK);
    pass(f, NS_PER_S);
    for (int i = 0; i < 60000 && !f->samples; i++) {
        usleep(1000);
        sensors_take(f->sensors);
    }
    assert_int_equal(f->samples, 1);
    assert_int_equal(live_value(f, "slow"), 1);
    assert_int_equal(facts_of(f, SLOW).state, SENSOR_READS);
    assert_int_equal(sensors_read_all(f->sensors, clock_monotonic_ns() + 10 * NS_PER_S), 0); /* nothing came at once */
    assert_int_equal(f->samples, 2);
}

static void jobs_are_told_to_all_and_leave_a_last_sample(void **state)
{
    struct fixture *f = *state;
    struct job job = { .id = "7", .other_id = "", .source = "told", .user = "", .cgroup = "", .slot = 0 };
    assert_int_equal(apply(f, "agent.sensors=all"), OK);
    sensors_read_all(f->sensors, clock_monotonic_ns() + 10 * NS_PER_S);
    size_t before = f->samples;
    sensors_job(f->sensors, &job, JOB_BEGIN);
    sensors_job(f->sensors, &job, JOB_END);
    sensors_read_all(f->sensors, clock_monotonic_ns() + 10 * NS_PER_S);
    for (int i = 0; i < 3; i++)
        assert_true(told[i].begins == 1 && told[i].ends == 1);
    assert_true(f->samples >= before + 3 + 2); /* a tick may fall into the hearing of the slow one */
    const struct live_entry *entry;
    for (size_t at = 0; (entry = live_next(f->live, &at));)
        assert_null(entry->job); /* it has ended: what comes late is written, not shown */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_has_its_own_period, begin, end),
        cmocka_unit_test_setup_teardown(one_that_fails_hurts_nobody, begin, end),
        cmocka_unit_test_setup_teardown(what_was_left_out_of_a_reading_in_part_is_shown, begin, end),
        cmocka_unit_test_setup_teardown(who_would_lose_count_looks_between_two_readings, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_told_as_such, begin, end),
        cmocka_unit_test_setup_teardown(one_is_changed_and_the_others_go_on, begin, end),
        cmocka_unit_test_setup_teardown(a_change_that_cannot_be_leaves_the_old_one, begin, end),
        cmocka_unit_test_setup_teardown(counters_go_on_over_changes, begin, end),
        cmocka_unit_test_setup_teardown(a_slow_one_that_is_changed_goes_on_too, begin, end),
        cmocka_unit_test_setup_teardown(a_slow_one_comes_when_it_comes, begin, end),
        cmocka_unit_test_setup_teardown(jobs_are_told_to_all_and_leave_a_last_sample, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
