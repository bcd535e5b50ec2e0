/* Which jobs a client may see. */
#include "tools/unit.h"

#include "api/viewer.h"

#include <unistd.h>

#define SOMEBODY 65533

static void local_users_see_their_own_jobs(void **state)
{
    (void)state;
    for (int is_local = 0; is_local < 2; is_local++) {
        struct http_peer peer = { .is_local = is_local, .is_same_node = true, .uid = SOMEBODY };
        assert_int_equal(viewer_of(&peer), SOMEBODY);
        peer.uid = UINT32_MAX;
        assert_int_equal(viewer_of(&peer), VIEW_NODE);
        peer.uid = 0;
        assert_int_equal(viewer_of(&peer), VIEW_ALL);
        peer.uid = geteuid();
        assert_int_equal(viewer_of(&peer), VIEW_ALL);
    }
}

static void remote_clients_see_all_jobs(void **state)
{
    (void)state;
    assert_int_equal(viewer_of(&(struct http_peer){ .uid = UINT32_MAX }), VIEW_ALL);
}

static void metrics_are_complete_except_on_the_socket(void **state)
{
    (void)state;
    assert_int_equal(viewer_of_metrics(&(struct http_peer){ .is_same_node = true, .uid = SOMEBODY }), VIEW_ALL);
    assert_int_equal(viewer_of_metrics(&(struct http_peer){ .is_same_node = true, .is_local = true, .uid = SOMEBODY }), SOMEBODY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_users_see_their_own_jobs),
        cmocka_unit_test(remote_clients_see_all_jobs),
        cmocka_unit_test(metrics_are_complete_except_on_the_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
