/* Start and end of jobs on Colmet nodes, which Colmet does not report. */
#include "compat/colmet/jobs.h"

#include "tools/unit.h"

static const struct job job42 = { .id = "42", .user = "" }, job43 = { .id = "43", .user = "" };
static struct colmet_jobs jobs;

/* The events after a message with these jobs: "+42-43 of 2". */
static const char *receive(size_t count, const struct job *first, const struct job *second)
{
    static char text[128];
    const struct job *list[] = { first, second };
    struct batch batch = { .jobs = list, .job_count = count };
    assert_int_equal(colmet_jobs_note(&jobs, &batch), OK);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < batch.event_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%c%s", batch.events[i].event == JOB_BEGIN ? '+' : '-',
                                 batch.events[i].job->id);
    snprintf(text + used, sizeof text - used, " of %zu", batch.job_count);
    return text;
}

static void a_job_ends_after_two_messages_without_it(void **state)
{
    (void)state;
    assert_string_equal(receive(0, NULL, NULL), " of 0");
    assert_string_equal(receive(1, &job42, NULL), "+42 of 1");
    assert_string_equal(receive(2, &job42, &job43), "+43 of 2");
    assert_string_equal(receive(1, &job43, NULL), " of 2"); /* missing once: it may return */
    assert_string_equal(receive(2, &job43, &job42), " of 2");
    assert_string_equal(receive(1, &job43, NULL), " of 2");
    assert_string_equal(receive(1, &job43, NULL), "-42 of 2"); /* still listed in the batch with its end */
    assert_string_equal(receive(1, &job43, NULL), " of 1");
    assert_string_equal(receive(1, &job42, NULL), "+42 of 2");
    colmet_jobs_clear(&jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_job_ends_after_two_messages_without_it) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
