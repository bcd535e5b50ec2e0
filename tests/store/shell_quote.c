/* Arguments of any bytes become a line that bash reads the same way, and round-trip. */
#include "store/shell_quote.h"

#include "base/utf8.h"
#include "tools/unit.h"

static void assert_line(const char *args, size_t size, const char *line)
{
    struct buf text, back;
    buf_init(&text, 1 << 20);
    buf_init(&back, 1 << 20);
    shell_quote_encode(&text, (struct bytes){ args, size });
    assert_string_equal(buf_text(&text), line);
    shell_quote_decode(&back, (struct bytes){ text.data, text.size });
    assert_int_equal(back.size, size);
    if (size)
        assert_memory_equal(back.data, args, size);
    buf_clear(&text);
    buf_clear(&back);
}

#define LINE(args, line) assert_line(args "", sizeof(args), line)

static void plain_words_are_not_quoted(void **state)
{
    (void)state;
    LINE("gcc\0-O2\0-DX=1\0a/b-c_d.c", "gcc -O2 -DX=1 a/b-c_d.c");
    LINE("caf\xc3\xa9", "caf\xc3\xa9");
    assert_line("", 0, "");
}

static void spaces_and_special_characters_are_quoted(void **state)
{
    (void)state;
    LINE("sh\0-c\0echo $HOME; ls *", "sh -c 'echo $HOME; ls *'");
    LINE("", "''");
    LINE("a\0\0b", "a '' b");
    LINE("~\0#\0\"", "'~' '#' '\"'");
}

static void control_and_bad_bytes_are_escaped(void **state)
{
    (void)state;
    LINE("it's", "$'it\\'s'");
    LINE("a\nb\tc\rd", "$'a\\nb\\tc\\rd'");
    LINE("back\\sl'ash", "$'back\\\\sl\\'ash'");
    LINE("back\\slash", "'back\\slash'");
    LINE("\xff\xc3\xa9\x01 n", "$'\\xff\xc3\xa9\\x01 n'");
    LINE("\x7f", "$'\\x7f'");
}

static void a_missing_final_nul_is_added(void **state)
{
    (void)state;
    struct buf text, back;
    buf_init(&text, 1000);
    buf_init(&back, 1000);
    shell_quote_encode(&text, (struct bytes){ "a\0b", 3 });
    shell_quote_decode(&back, (struct bytes){ text.data, text.size });
    assert_int_equal(back.size, 4);
    assert_memory_equal(back.data, "a\0b\0", 4);
    buf_clear(&text);
    buf_clear(&back);
}

static void unquoted_text_is_one_argument(void **state)
{
    (void)state;
    static const char *const foreign[] = { "'open", "$'open", "$'\\q'", "$'\\x1'", "'a'b", "$'\\", "a 'b", "$'\\xZZ'" };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        struct buf back;
        buf_init(&back, 1000);
        shell_quote_decode(&back, bytes_of(foreign[i]));
        assert_int_equal(back.size, strlen(foreign[i]) + 1);
        assert_string_equal(back.data, foreign[i]);
        buf_clear(&back);
    }
}

static void any_bytes_round_trip(void **state)
{
    (void)state;
    static const char some[] = "ab '\\\n\xff\xc3\xa9\x00$x\x80~";
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char args[24];
        size_t size = (size_t)round % 20;
        for (size_t i = 0; i < size; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            args[i] = some[(seed >> 33) % (sizeof some - 1)];
        }
        args[size++] = '\0';
        struct buf text, back;
        buf_init(&text, 1000);
        buf_init(&back, 1000);
        shell_quote_encode(&text, (struct bytes){ args, size });
        assert_true(utf8_valid((struct bytes){ text.data, text.size }));
        assert_null(memchr(text.data, 0, text.size));
        shell_quote_decode(&back, (struct bytes){ text.data, text.size });
        assert_int_equal(back.size, size);
        assert_memory_equal(back.data, args, size);
        buf_clear(&text);
        buf_clear(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_words_are_not_quoted),
        cmocka_unit_test(spaces_and_special_characters_are_quoted),
        cmocka_unit_test(control_and_bad_bytes_are_escaped),
        cmocka_unit_test(a_missing_final_nul_is_added),
        cmocka_unit_test(unquoted_text_is_one_argument),
        cmocka_unit_test(any_bytes_round_trip),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
