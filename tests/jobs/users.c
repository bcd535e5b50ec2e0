/* User names and uids, from a file and from the name service of this node. */
#include "jobs/users.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <poll.h>
#include <pwd.h>
#include <unistd.h>

static void etc_passwd_is_used(void **state)
{
    (void)state;
    static const char text[] = "root:x:0:0::/:\nbad line\nx:y\nann:x:7:7::/:\n"
                               "anna:x:1000:1000:A B:/home:/bin/sh\nhuge:x:99999999999:1::/:\n";
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct users users;
    bool is_pending = false;
    temp_dir(dir);
    temp_join(path, dir, "etc/passwd");
    temp_write(path, text, sizeof text - 1);
    users_init(&users, dir);
    for (int i = 0; i < 2; i++) { /* the second time from the cache */
        assert_string_equal(users_name(&users, 1000, &is_pending), "anna");
        assert_string_equal(users_name(&users, 0, &is_pending), "root");
        assert_string_equal(users_name(&users, 4242, &is_pending), "");
        assert_int_equal(users_uid(&users, "anna", &is_pending), 1000);
        assert_int_equal(users_uid(&users, "ann", &is_pending), 7);
        assert_int_equal(users_uid(&users, "an", &is_pending), UINT32_MAX);
        assert_int_equal(users_uid(&users, "huge", &is_pending), UINT32_MAX);
        assert_int_equal(users_uid(&users, "root:x", &is_pending), UINT32_MAX);
    }
    assert_false(is_pending); /* only the file is used for a captured node */
    users_clear(&users);
    temp_remove(dir);
}

/* A user who is not in the file is looked up in a thread, and then known to be unknown. */
static void other_users_are_looked_up_in_a_thread(void **state)
{
    (void)state;
    struct users users;
    bool is_pending = true;
    users_init(&users, "");
    users_name(&users, 3999999999u, &is_pending);
    for (int i = 0; i < 500 && is_pending; i++) {
        is_pending = false;
        assert_string_equal(users_name(&users, 3999999999u, &is_pending), "");
        poll(NULL, 0, 10);
    }
    assert_false(is_pending);
    const struct passwd *me = getpwuid(getuid());
    if (me)
        assert_string_equal(users_name(&users, getuid(), &is_pending), me->pw_name);
    users_uid(&users, "nobody-of-that-name", &is_pending);
    users_clear(&users); /* also while a thread waits for an answer */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(etc_passwd_is_used),
        cmocka_unit_test(other_users_are_looked_up_in_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
