/* Each different string gets one number. */
#include "model/dictionary.h"

#include "tools/unit.h"

static void equal_strings_have_one_number(void **state)
{
    (void)state;
    struct dictionary dictionary;
    dictionary_init(&dictionary);
    char copy[] = "/bin/sh";
    assert_int_equal(dictionary_add(&dictionary, bytes_of("/bin/sh")), 0);
    assert_int_equal(dictionary_add(&dictionary, bytes_of("/bin/shh")), 1);
    assert_int_equal(dictionary_add(&dictionary, bytes_of("")), 2);
    assert_int_equal(dictionary_add(&dictionary, (struct bytes){ "/bin/sh\0x", 9 }), 3);
    assert_int_equal(dictionary_add(&dictionary, bytes_of(copy)), 0);
    assert_int_equal(dictionary_add(&dictionary, (struct bytes){ 0 }), 2);
    assert_int_equal(dictionary.count, 4);
    assert_bytes(dictionary.strings[1], "/bin/shh");
    dictionary_clear(&dictionary);
}

static void many_strings_are_found_again(void **state)
{
    (void)state;
    enum { MANY = 20000, SIZE = 16 };
    struct dictionary dictionary;
    char *strings = malloc(MANY * SIZE);
    assert_non_null(strings);
    dictionary_init(&dictionary);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(strings + i * SIZE, SIZE, "/tmp/cc%u", i);
            assert_int_equal(dictionary_add(&dictionary, bytes_of(strings + i * SIZE)), i);
        }
    assert_int_equal(dictionary.count, MANY);
    dictionary_clear(&dictionary);
    free(strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_strings_have_one_number),
        cmocka_unit_test(many_strings_are_found_again),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
