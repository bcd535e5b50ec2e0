/* Quoting for a shell. */
#include "base/shell.h"

#include "tools/unit.h"

#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

static void check(struct bytes words, const char *expected)
{
    struct buf out;
    buf_init(&out, 1000);
    shell_add_args(&out, words);
    assert_string_equal(buf_text(&out), expected);
    buf_clear(&out);
}

static void special_characters_are_quoted(void **state)
{
    (void)state;
    check(BYTES("make\0-j4\0"), "make -j4");
    check(BYTES("echo\0a b\0$HOME\0"), "echo 'a b' '$HOME'");
    check(BYTES("echo\0it's\0"), "echo 'it'\\''s'");
    check(BYTES("echo\0\0x\0"), "echo '' x");
    check(BYTES("two\nlines\0"), "'two\nlines'");
    check(BYTES("caf\xc3\xa9\0\xff\0"), "caf\xc3\xa9 '\xff'");
    check(BYTES("no end"), "'no end'");
    check(BYTES(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(special_characters_are_quoted) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
