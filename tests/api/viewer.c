/* Which jobs a client may see. */
#include "tools/unit.h"

#include "api/viewer.h"

#include <string.h>
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

static void other_nodes_need_a_credential(void **state)
{
    (void)state;
    struct http_request local = { .peer = { .is_same_node = true, .uid = SOMEBODY }, .connection_fd = -1 };
    struct http_request remote = { .peer = { .uid = UINT32_MAX }, .connection_fd = -1 };
    struct buf error;
    buf_init(&error, 512);
    assert_true(viewer_authenticate(&local, &error));
    assert_int_equal(local.peer.uid, SOMEBODY);
    assert_int_equal(error.size, 0);
    assert_false(viewer_authenticate(&remote, &error));
    assert_non_null(strstr(buf_text(&error), "munge authentication is required"));
    remote.authorization = bytes_of("Basic abc");
    assert_false(viewer_authenticate(&remote, &error));
    remote.authorization = bytes_of("Munge MUNGE:abc:");
    assert_false(viewer_authenticate(&remote, &error)); /* and no connection */
    assert_false(remote.peer.is_same_node);
    buf_clear(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_nodes_need_a_credential),
        cmocka_unit_test(local_users_see_their_own_jobs),
        cmocka_unit_test(remote_clients_see_all_jobs),
        cmocka_unit_test(metrics_are_complete_except_on_the_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
