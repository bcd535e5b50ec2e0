/* Key files and the list of authorized keys: written, read, changed, and invalid. */
#include "transport/keys.h"

#include "tools/caught.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#define A "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7" /* from RFC 26 */
#define B "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"

static char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
static struct buf error;

static int set_up(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "sub/host.key");
    buf_init(&error, 8192);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_remove(dir);
    buf_clear(&error);
    return 0;
}

static void put(const char *text)
{
    temp_write(path, text, strlen(text));
    chmod(path, 0600);
}

static void a_pair_is_written_and_read(void **state)
{
    (void)state;
    struct keys_pair pair = { A, B }, got;
    struct stat status;
    char public_path[TEMP_PATH_MAX], key[ZMQ_KEY_MAX];
    temp_join(public_path, dir, "sub/host.key.pub");
    assert_int_equal(keys_write(path, &pair, false, &error), OK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(keys_read(path, &got, &error), OK);
    assert_string_equal(got.public_key, A);
    assert_string_equal(got.secret_key, B);
    assert_int_equal(keys_read(public_path, &got, &error), OK);
    assert_string_equal(got.secret_key, "");
    assert_int_equal(keys_read_public(public_path, key, &error), OK);
    assert_string_equal(key, A);
    assert_int_equal(keys_read_public(B, key, &error), OK);
    assert_string_equal(key, B);
    assert_int_equal(error.size, 0);
}

static void a_pair_is_replaced_only_on_request(void **state)
{
    (void)state;
    struct keys_pair pair = { A, B }, other = { B, A }, got;
    assert_int_equal(keys_write(path, &pair, false, &error), OK);
    assert_int_equal(keys_write(path, &other, false, &error), AGAIN);
    assert_non_null(strstr(buf_text(&error), "--force"));
    assert_int_equal(keys_read(path, &got, &error), OK);
    assert_string_equal(got.public_key, A);
    assert_int_equal(keys_write(path, &other, true, &error), OK);
    assert_int_equal(keys_read(path, &got, &error), OK);
    assert_string_equal(got.public_key, B);
}

static void a_secret_key_readable_by_others_is_refused(void **state)
{
    (void)state;
    struct keys_pair pair = { A, B }, got;
    assert_int_equal(keys_write(path, &pair, false, &error), OK);
    chmod(path, 0640);
    assert_int_equal(keys_read(path, &got, &error), DENIED);
    assert_non_null(strstr(buf_text(&error), "chmod 600"));
    assert_string_equal(got.secret_key, "");
}

static void an_invalid_key_file_is_refused(void **state)
{
    (void)state;
    struct keys_pair got;
    const char *const wrong[] = { "", "public-key\n", "public-key = \n", "public-key = short\n", "public-key = " A "x\n",
                                  "secret-key = " A "\n", "public-key = " A "\nsecret-key = x\n", "[\n" };
    assert_int_equal(keys_read(path, &got, &error), ABSENT);
    assert_non_null(strstr(buf_text(&error), "sonde keygen"));
    buf_reset(&error);
    assert_int_equal(keys_read_public(path, got.public_key, &error), ABSENT); /* not our own: cannot be created here */
    assert_non_null(strstr(buf_text(&error), "copy it from the collector"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put(wrong[i]);
        assert_int_equal(keys_read(path, &got, &error), CORRUPT);
    }
    put("# mine\n  public-key=" A "\r\n\n");
    assert_int_equal(keys_read(path, &got, &error), OK);
    assert_string_equal(got.public_key, A);
}

static void the_list_is_reloaded(void **state)
{
    (void)state;
    struct keys_list *list;
    char name[256];
    put("# of the rack\n" A "  node17 # by hand\n");
    assert_int_equal(keys_list_open(&list, path, &error), OK);
    assert_true(keys_list_authorizes(list, A, name));
    assert_string_equal(name, "node17");
    assert_false(keys_list_authorizes(list, B, name));
    assert_false(keys_list_authorizes(list, NULL, name));
    uint64_t version = keys_list_version(list);
    put(A "  node17\n\n" B "\t*\n");
    assert_true(keys_list_authorizes(list, B, name));
    assert_string_equal(name, "");
    assert_int_not_equal(keys_list_version(list), version);
    catch_stderr();
    put(B "\n");
    keys_list_refresh(list);
    assert_true(keys_list_authorizes(list, A, name)); /* after a mistake the old list stays in effect */
    unlink(path);
    keys_list_refresh(list);
    assert_true(keys_list_authorizes(list, A, name));
    assert_non_null(strstr(caught_text(), "host.key:1: missing host name"));
    put(B " other\n");
    assert_false(keys_list_authorizes(list, A, name));
    assert_true(keys_list_authorizes(list, B, name));
    assert_int_equal(keys_list_size(list), 1);
    keys_list_close(&list);
}

static void mistakes_in_a_list_are_logged(void **state)
{
    (void)state;
    struct keys_list *list;
    const char *const wrong[] = { "x\n", A "\n", A " # none\n", A "x node\n", A " node more\n", A " a\n" A " b\n" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put(wrong[i]);
        buf_reset(&error);
        assert_int_equal(keys_list_open(&list, path, &error), CORRUPT);
        assert_non_null(strstr(buf_text(&error), "host.key:"));
        assert_null(list);
    }
    put("");
    assert_int_equal(keys_list_open(&list, path, &error), OK);
    keys_list_close(&list);
}

/* Whoever can write it can speak for every host. */
static void a_list_that_others_can_change_is_refused(void **state)
{
    (void)state;
    struct keys_list *list;
    char name[256];
    put(A " node17\n");
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(keys_list_open(&list, path, &error), DENIED);
    assert_non_null(strstr(buf_text(&error), "chmod go-w"));
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(keys_list_open(&list, path, &error), OK);
    catch_stderr();
    put(A " node17\n" B " *\n");
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(keys_list_authorizes(list, B, name)); /* the previous list stays in effect */
    assert_true(keys_list_authorizes(list, A, name));
    assert_non_null(strstr(caught_text(), "can be changed by others"));
    keys_list_close(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pair_is_written_and_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pair_is_replaced_only_on_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_secret_key_readable_by_others_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_invalid_key_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_that_others_can_change_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_list_is_reloaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes_in_a_list_are_logged, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
