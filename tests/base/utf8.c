/* Untrusted strings on a terminal. */
#include "base/utf8.h"

#include "tools/unit.h"

#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

static void valid_and_invalid_sequences(void **state)
{
    (void)state;
    assert_true(utf8_valid(BYTES("")));
    assert_true(utf8_valid(BYTES("plain\n\0more")));
    assert_true(utf8_valid(BYTES("é€😀")));
    assert_false(utf8_valid(BYTES("\xff")));
    assert_false(utf8_valid(BYTES("a\xc3")));             /* cut off */
    assert_false(utf8_valid(BYTES("\xc0\xaf")));          /* overlong '/' */
    assert_false(utf8_valid(BYTES("\xe0\x80\xaf")));
    assert_false(utf8_valid(BYTES("\xed\xa0\x80")));      /* a surrogate */
    assert_false(utf8_valid(BYTES("\xf4\x90\x80\x80"))); /* over U+10FFFF */
    assert_false(utf8_valid(BYTES("\x80")));
}

static const char *safe(struct buf *out, struct bytes text, bool utf8)
{
    buf_reset(out);
    utf8_add_safe(out, text, utf8);
    return buf_text(out);
}

static void harmful_characters_are_escaped(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    assert_string_equal(safe(&out, BYTES("plain text"), true), "plain text");
    assert_string_equal(safe(&out, BYTES("a\nb\tc\rd"), true), "a\\nb\\tc\\rd");
    assert_string_equal(safe(&out, BYTES("\033[31mred\x7f"), true), "\\x1b[31mred\\x7f");
    assert_string_equal(safe(&out, BYTES("nul\0!"), true), "nul\\x00!");
    assert_string_equal(safe(&out, BYTES("caf\xe9"), true), "caf\\xe9");
    assert_string_equal(safe(&out, BYTES("café"), true), "café");
    assert_string_equal(safe(&out, BYTES("café"), false), "caf\\u{00e9}");
    assert_string_equal(safe(&out, BYTES("\u202egpj.exe"), true), "\\u{202e}gpj.exe");
    assert_string_equal(safe(&out, BYTES("\xc2\x9b" "1m"), true), "\\u{009b}1m"); /* C1: CSI in one character */
    assert_string_equal(safe(&out, BYTES("a\\b"), true), "a\\b");
    buf_clear(&out);
}

static void columns_are_counted_as_printed(void **state)
{
    (void)state;
    assert_int_equal(utf8_columns(BYTES("abc"), true), 3);
    assert_int_equal(utf8_columns(BYTES("é"), true), 1);
    assert_int_equal(utf8_columns(BYTES("e\u0301"), true), 1); /* a combining accent */
    assert_int_equal(utf8_columns(BYTES("日本"), true), 4);
    assert_int_equal(utf8_columns(BYTES("\n"), true), 2);
    assert_int_equal(utf8_columns(BYTES("é"), false), 8);
}

static const char *fit(struct buf *out, const char *text, size_t columns, bool utf8)
{
    buf_reset(out);
    size_t taken = utf8_add_fit(out, bytes_of(text), columns, utf8);
    assert_true(taken <= columns);
    assert_int_equal(taken, utf8_columns(bytes_of(buf_text(out)), true));
    return buf_text(out);
}

static void strings_are_truncated_to_columns(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    assert_string_equal(fit(&out, "abcdef", 6, true), "abcdef");
    assert_string_equal(fit(&out, "abcdef", 5, true), "abcd…");
    assert_string_equal(fit(&out, "abcdef", 5, false), "abc..");
    assert_string_equal(fit(&out, "日本語", 5, true), "日本…");
    assert_string_equal(fit(&out, "日本語", 4, true), "日…");
    assert_string_equal(fit(&out, "a\nbcd", 3, true), "a…"); /* an escape is never cut in two */
    assert_string_equal(fit(&out, "abc", 0, true), "");
    assert_string_equal(fit(&out, "abc", 1, false), "");
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_and_invalid_sequences),
        cmocka_unit_test(harmful_characters_are_escaped),
        cmocka_unit_test(columns_are_counted_as_printed),
        cmocka_unit_test(strings_are_truncated_to_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
