/* Addresses as users write them. */
#include "transport/address.h"

#include "tools/unit.h"

static void missing_parts_are_filled_in(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "login1", "tcp://login1:5555" },
        { "login1:77", "tcp://login1:77" },
        { "tcp://login1", "tcp://login1:5555" },
        { "tcp://*:5556", "tcp://*:5556" },
        { "127.0.0.1:*", "tcp://127.0.0.1:*" },
        { "[::1]", "tcp://[::1]:5555" },
        { "fe80::1", "tcp://[fe80::1]:5555" },
        { "tcp://[::1]:9", "tcp://[::1]:9" },
        { "ipc:///run/x", "ipc:///run/x" },
    };
    char address[ADDRESS_MAX];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(address_normalize(pairs[i][0], 5555, address), OK);
        assert_string_equal(address, pairs[i][1]);
    }
}

static void invalid_addresses_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", "tcp://", ":5555", "a b", "a:b", "a:0", "a:65536", "a:-1", "[::1", "[::1]x", "a/b",
                                         "tcp://a:5555/x", "a:5 ", "a,b" };
    char address[ADDRESS_MAX], many[400];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(address_normalize(wrong[i], 5555, address), USAGE);
    memset(many, 'a', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    assert_int_equal(address_normalize(many, 5555, address), USAGE);
}

static void only_loopback_is_local(void **state)
{
    (void)state;
    static const char *const local[] = { "tcp://127.0.0.1:5", "tcp://127.9.9.9:5", "tcp://localhost:5", "tcp://[::1]:5",
                                         "ipc:///x", "inproc://x" };
    static const char *const others[] = { "tcp://*:5", "tcp://0.0.0.0:5", "tcp://10.0.0.1:5", "tcp://127.example.org:5",
                                          "tcp://localhost.example.org:5", "tcp://[::]:5", "tcp://[::1", "tcp://eth0:5",
                                          "x", "" };
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        assert_true(address_is_local(local[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(address_is_local(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_parts_are_filled_in),
        cmocka_unit_test(invalid_addresses_are_refused),
        cmocka_unit_test(only_loopback_is_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
