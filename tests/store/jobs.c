/* Finding and sorting jobs. */
#include "store/store.h"

#include "base/clock.h"
#include "tools/store_fixture.h"

#include <unistd.h>

#define DAY_NS (86400 * NS_PER_S)
#define DAY(n) (1700000000 * NS_PER_S + (n) * DAY_NS)

/* Four jobs whose names, sizes and times sort differently. */
static void fill(struct store *store)
{
    fixture_save_run(store, (struct fake_shape){ .run_id = "1", .job_id = "100", .name = "ocean-b", .user = "ann",
                                                   .host = "n1", .tags = "exp:a;member:1", .processes = 40, .start_ns = DAY(3) });
    fixture_save_run(store, (struct fake_shape){ .run_id = "2", .job_id = "101", .name = "ocean-a", .user = "bob",
                                                   .host = "n2", .tags = "exp:a;member:2", .processes = 10, .start_ns = DAY(1) });
    fixture_save_run(store, (struct fake_shape){ .run_id = "3", .job_id = "20", .name = "Atmos*", .user = "ann",
                                                   .host = "n1", .tags = "exp:b:c;odd", .processes = 400, .start_ns = DAY(2) });
    fixture_save_run(store, (struct fake_shape){ .run_id = "4", .job_id = "1005", .name = "zonal", .user = "carol",
                                                   .host = "n3", .tags = "", .processes = 4, .start_ns = DAY(4) });
}

static enum err add_id(void *context, const struct store_job *job)
{
    struct buf *ids = context;
    buf_printf(ids, "%s%s", ids->size ? " " : "", job->job_id);
    return OK;
}

static void assert_found(struct store *store, const struct store_filter *filter, const char *want)
{
    struct buf ids;
    buf_init(&ids, 1000);
    assert_int_equal(store_jobs(store, filter, add_id, &ids), OK);
    assert_string_equal(buf_text(&ids), want);
    buf_clear(&ids);
}

#define FOUND(want, ...) assert_found(store, &(struct store_filter){ __VA_ARGS__ }, want)

static void filters_select_matching_jobs(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    const char *exp[] = { "exp", NULL }, *exp_a[] = { "exp:a", NULL }, *both[] = { "exp:a", "member:2", NULL };
    const char *colon[] = { "exp:b:c", NULL }, *odd[] = { "odd", NULL }, *none[] = { "exp:A", NULL }, *empty[] = { NULL };
    fill(store);
    FOUND("1005 100 20 101", .limit = 0);
    FOUND("100 20", .user = "ann");
    FOUND("", .user = "an");
    FOUND("100 101", .name = "ocean*");
    FOUND("101", .name = "*-a");
    FOUND("20", .name = "Atmos[*]");
    FOUND("1005", .name = "zonal");
    FOUND("", .name = "zona");
    FOUND("101", .host = "n2");
    FOUND("100 20 101", .tags = exp);
    FOUND("100 101", .tags = exp_a);
    FOUND("101", .tags = both);
    FOUND("20", .tags = colon);
    FOUND("20", .tags = odd);
    FOUND("", .tags = none);
    FOUND("1005 100 20 101", .tags = empty);
    FOUND("100", .user = "ann", .host = "n1", .name = "ocean*", .tags = exp_a, .since_ns = DAY(1), .until_ns = DAY(9));
}

static void time_filters_select_overlapping_jobs(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    fill(store);
    FOUND("1005 100", .since_ns = DAY(2) + DAY_NS / 2);
    FOUND("20 101", .until_ns = DAY(2) + DAY_NS / 2);
    FOUND("20", .since_ns = DAY(2) - 1, .until_ns = DAY(2) + 1);
    FOUND("20", .since_ns = DAY(2) + 1000, .until_ns = DAY(2) + 1001); /* within it */
    FOUND("", .since_ns = DAY(5));
    FOUND("", .until_ns = DAY(1) - 1);
}

static void sorting_is_largest_first(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    fill(store);
    FOUND("101 20 100 1005", .order = BY_START, .reverse = true);
    FOUND("20 100 101 1005", .order = BY_DURATION);
    FOUND("20 100 101 1005", .order = BY_CPU);
    FOUND("20 100 101 1005", .order = BY_PROCESSES);
    FOUND("1005 101 100 20", .order = BY_PROCESSES, .reverse = true);
    FOUND("20 101 100 1005", .order = BY_NAME);
    FOUND("1005 100 101 20", .order = BY_NAME, .reverse = true);
    FOUND("100 20 101 1005", .order = BY_USER);
    FOUND("1005 100", .limit = 2);
    FOUND("20", .order = BY_CPU, .limit = 1);
}

static enum err compare_brief(void *context, const struct store_job *job)
{
    struct store_job whole = fixture_job(context, job->job_id);
    assert_int_equal(job->summary.processes, whole.summary.processes);
    assert_int_equal(job->summary.failed, whole.summary.failed);
    assert_int_equal(counters_cpu_us(&job->summary.sum), counters_cpu_us(&whole.summary.sum));
    assert_int_equal(job->summary.total.value[COUNTER_rssmax], whole.summary.total.value[COUNTER_rssmax]);
    assert_int_equal(job->end_ns, whole.end_ns);
    assert_int_equal(job->row, whole.row);
    assert_true(job->summary.processes && counters_has(&job->summary.total, COUNTER_rssmax));
    store_job_clear(&whole);
    return OK;
}

static enum err compare_whole(void *context, const struct store_job *job)
{
    struct store_job whole = fixture_job(context, job->job_id);
    assert_memory_equal(&job->summary, &whole.summary, sizeof whole.summary);
    assert_true(counters_has(&job->summary.sum, COUNTER_timeslices) && job->summary.images);
    store_job_clear(&whole);
    return OK;
}

static void brief_rows_equal_full_rows(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    fill(store);
    assert_int_equal(store_jobs(store, &(struct store_filter){ .brief = true }, compare_brief, store), OK);
    assert_int_equal(store_jobs(store, &(struct store_filter){ 0 }, compare_whole, store), OK);
}

static enum err stop_at_second(void *context, const struct store_job *job)
{
    (void)job;
    return ++*(int *)context == 2 ? GONE : OK;
}

static void a_callback_can_stop(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    int count = 0;
    fill(store);
    assert_int_equal(store_jobs(store, &(struct store_filter){ 0 }, stop_at_second, &count), GONE);
    assert_int_equal(count, 2);
}

static void assert_job(struct store *store, const char *asked, enum err want_err, const char *want)
{
    struct store_job job;
    assert_int_equal(store_job(store, asked, &job), want_err);
    if (want)
        assert_string_equal(job.job_id, want);
    else
        assert_true(strlen(store_message(store)) > 10);
    store_job_clear(&job);
}

static void a_job_is_found_by_a_prefix_of_its_id(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    assert_job(store, NULL, ABSENT, NULL);
    fill(store);
    assert_job(store, "100", OK, "100"); /* an exact match wins over the prefix of 1005 */
    assert_job(store, "1005", OK, "1005");
    assert_job(store, "2", OK, "20");
    assert_job(store, "10", USAGE, NULL);
    assert_job(store, "3", ABSENT, NULL);
    assert_job(store, "1006", ABSENT, NULL);
    assert_job(store, "%", ABSENT, NULL);
    assert_job(store, "", USAGE, NULL);
    assert_job(store, NULL, OK, "1005");
}

static void save_for(struct store *store, const char *run_id, uint32_t uid, const char *user)
{
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .run_id = run_id, .job_id = "77", .user = user, .processes = 1 });
    fake.run.uid = uid;
    fixture_file(store, &fake.run);
    fake_run_clear(&fake);
}

static void assert_user(struct store *store, const char *asked, const char *user)
{
    struct store_job job = fixture_job(store, asked);
    assert_string_equal(job.user, user);
    store_job_clear(&job);
}

static void jobs_of_one_id_and_several_users(void **state)
{
    struct store_fixture *fixture = *state;
    save_for(fixture->store, "a", geteuid() + 1, "ada");
    save_for(fixture->store, "b", geteuid() + 2, "bob");
    assert_job(fixture->store, "77", USAGE, NULL);
    assert_non_null(strstr(store_message(fixture->store), "77@USER"));
    assert_user(fixture->store, "77@ada", "ada");
    assert_user(fixture->store, "77@bob", "bob");
    char by_uid[32];
    snprintf(by_uid, sizeof by_uid, "77@%u", geteuid() + 2);
    assert_user(fixture->store, by_uid, "bob");
    assert_job(fixture->store, "77@eve", ABSENT, NULL);
    save_for(fixture->store, "c", geteuid(), "me");
    fixture_exec(fixture->path, "UPDATE runs SET run_id = 'agent/n/77' WHERE run_id = 'b'");
    assert_user(fixture->store, "77", "me");
    fixture_exec(fixture->path, "UPDATE jobs SET uid = 4000000000 WHERE user = 'me'");
    assert_user(fixture->store, "77", "bob"); /* a node has seen it */
}

static void run_of_another_user_is_not_replaced(void **state)
{
    struct store_fixture *fixture = *state;
    struct fake_run fake;
    save_for(fixture->store, "a", 1000, "ada");
    fake_run_make(&fake, &(struct fake_shape){ .run_id = "a", .job_id = "77", .user = "eve", .processes = 5 });
    fake.run.uid = 1001;
    assert_int_equal(store_save_run(fixture->store, &fake.run), USAGE);
    fake_run_clear(&fake);
    assert_sql(fixture->path, "SELECT user || processes FROM jobs", "ada1");
}

static void the_last_job_is_the_one_saved_last(void **state)
{
    struct store *store = ((struct store_fixture *)*state)->store;
    fill(store);
    fixture_save_run(store, (struct fake_shape){ .run_id = "2", .job_id = "101", .processes = 3, .start_ns = DAY(1) });
    assert_job(store, NULL, OK, "101");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(filters_select_matching_jobs),
        STORE_TEST(time_filters_select_overlapping_jobs),
        STORE_TEST(sorting_is_largest_first),
        STORE_TEST(brief_rows_equal_full_rows),
        STORE_TEST(a_callback_can_stop),
        STORE_TEST(a_job_is_found_by_a_prefix_of_its_id),
        STORE_TEST(jobs_of_one_id_and_several_users),
        STORE_TEST(run_of_another_user_is_not_replaced),
        STORE_TEST(the_last_job_is_the_one_saved_last),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
