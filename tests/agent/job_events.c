/* Job events in batches: once each, and no change that readers cannot see. */
#include "agent/job_events.h"

#include "tools/unit.h"

static struct job ada = { .id = "77", .user = "", .other_id = "", .source = "slurm", .uid = UINT32_MAX, .cgroup = "" };
static struct job bob = { .id = "78", .user = "bob", .other_id = "", .source = "slurm", .uid = 5, .cgroup = "" };

/* The number of events in the batch that is created for this event. */
static size_t events_of(struct job_events *events, const struct job *job, enum job_event event)
{
    struct batch batch = { 0 };
    assert_int_equal(job_events_begin(events, job, event), OK);
    job_events_fill(events, &batch);
    if (batch.event_count) {
        assert_int_equal(batch.events[0].event, event);
        assert_ptr_equal(batch.events[0].job, job);
    }
    size_t count = batch.event_count;
    job_events_end(events, job, event);
    return count;
}

static void a_change_is_sent_once(void **state)
{
    (void)state;
    struct job_events events = { 0 };
    assert_int_equal(events_of(&events, &ada, JOB_BEGIN), 1);
    assert_int_equal(events_of(&events, &bob, JOB_BEGIN), 1);
    ada.cgroup = "/slurm/job_77"; /* only samplers use it */
    assert_int_equal(events_of(&events, &ada, JOB_CHANGE), 0);
    ada.user = "ada";
    assert_int_equal(events_of(&events, &ada, JOB_CHANGE), 1);
    assert_int_equal(events_of(&events, &ada, JOB_CHANGE), 0);
    ada.memory_bytes = 1 << 30;
    assert_int_equal(events_of(&events, &ada, JOB_CHANGE), 1);
    assert_int_equal(events_of(&events, &ada, JOB_END), 1);
    assert_int_equal(events_of(&events, &bob, JOB_CHANGE), 0);
    assert_int_equal(events_of(&events, &bob, JOB_END), 1);
    assert_int_equal(events.count, 0);
    job_events_clear(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_change_is_sent_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
