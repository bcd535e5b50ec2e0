/* The tree of node, users and jobs, without values. */
#include "appmetrics/scopes.h"

#include "tools/unit.h"

static struct quota quota;
static struct scopes scopes;

static void open_scopes(bool is_by_user, bool looks_up_users)
{
    quota_init(&quota, 10);
    assert_int_equal(scopes_init(&scopes, "n1", &quota, is_by_user, looks_up_users), OK);
}

static void node_includes_users_and_users_jobs(void **state)
{
    (void)state;
    open_scopes(true, false);
    struct scope *job = scopes_job(&scopes, "1", 7), *user = scopes_user(&scopes, 7);
    assert_true(job->parent == user && user->parent == &scopes.node && !scopes.node.parent);
    assert_ptr_equal(scopes_job(&scopes, "1", 7), job);
    assert_ptr_not_equal(scopes_job(&scopes, "1", 8), job); /* the same id of another user is another job */
    assert_null(scopes_find_job(&scopes, "2", 7));
    assert_int_equal(user->job_count, 1);
    assert_ptr_equal(scope_owner(&scopes, job), &user->quota);
    assert_ptr_equal(scope_owner(&scopes, NULL), &quota.shared);
    scope_free(job);
    assert_int_equal(user->job_count, 0);
    assert_null(scopes_find_job(&scopes, "1", 7));
    scopes_clear(&scopes);
}

static void without_users_jobs_are_below_the_node(void **state)
{
    (void)state;
    open_scopes(false, false);
    struct scope *job = scopes_job(&scopes, "1", 7);
    assert_true(job->parent == &scopes.node && scopes_user(&scopes, 7) == &scopes.node);
    assert_ptr_equal(scope_owner(&scopes, job), &quota.shared);
    scopes_clear(&scopes);
}

static void labels_name_host_job_and_user(void **state)
{
    (void)state;
    open_scopes(true, true);
    struct scope *job = scopes_job(&scopes, "1", 7);
    assert_string_equal(buf_text(&scopes.node.labels), "host=\"n1\"} ");
    assert_string_equal(buf_text(&job->labels), "host=\"n1\",job=\"1\",user=\"7\"} ");
    assert_true(job->user.is_pending);
    scope_set_user(job, "");
    scope_set_user(job, "ada");
    assert_string_equal(buf_text(&job->labels), "host=\"n1\",job=\"1\",user=\"ada\"} ");
    scopes_clear(&scopes);
}

static void ranks_in_no_job_are_summed_for_the_node(void **state)
{
    (void)state;
    open_scopes(true, false);
    struct scope *job = scopes_job(&scopes, "1", 7);
    assert_ptr_equal(scope_mpi(job), &job->mpi);
    assert_ptr_equal(scope_mpi(job->parent), &scopes.node.mpi);
    scopes_clear(&scopes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_includes_users_and_users_jobs),
        cmocka_unit_test(without_users_jobs_are_below_the_node),
        cmocka_unit_test(labels_name_host_job_and_user),
        cmocka_unit_test(ranks_in_no_job_are_summed_for_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
