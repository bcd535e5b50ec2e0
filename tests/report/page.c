/* Lines never exceed the width, whatever they contain. */
#include "report/page.h"

#include "base/utf8.h"
#include "tools/unit.h"

static const struct terminal narrow = { .utf8 = true, .width = 40 }, ascii = { .width = 40 };
static struct buf out;
static struct page page;

static const char *wrapped(const struct terminal *terminal, const char *text, size_t at, size_t indent, size_t lines)
{
    buf_reset(&out);
    page_init(&page, &out, terminal);
    page_wrap(&page, PLAIN, bytes_of(text), at, indent, lines);
    return buf_text(&out);
}

static void breaks_at_spaces(void **state)
{
    (void)state;
    assert_string_equal(wrapped(&narrow, "one two three", 0, 0, 0), "one two three\n");
    assert_string_equal(wrapped(&narrow, "the quick brown fox jumps over the lazy dog", 0, 4, 0),
                        "the quick brown fox jumps over the lazy\n    dog\n");
    assert_string_equal(wrapped(&narrow, "the quick brown fox", 30, 4, 0), "the quick\n    brown fox\n");
    assert_string_equal(wrapped(&narrow, "the quick brown fox", 39, 4, 0), "\n    the quick brown fox\n");
    assert_string_equal(wrapped(&narrow, "", 0, 0, 0), "\n");
}

static void long_words_are_split(void **state)
{
    (void)state;
    assert_string_equal(wrapped(&narrow, "/a/path/that/is/much/longer/than/a/line/of/this/page", 0, 2, 0),
                        "/a/path/that/is/much/longer/than/a/line/\n  of/this/page\n");
}

static void lines_are_limited(void **state)
{
    (void)state;
    const char *text = "the quick brown fox jumps over the lazy dog and the quick brown fox jumps over the lazy dog";
    assert_string_equal(wrapped(&narrow, text, 0, 0, 2),
                        "the quick brown fox jumps over the lazy\ndog and the quick brown fox jumps over …\n");
    assert_string_equal(wrapped(&ascii, text, 0, 0, 1), "the quick brown fox jumps over the laz..\n");
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    assert_string_equal(wrapped(&narrow, "a\033[2Jb\nc\xff", 0, 0, 0), "a\\x1b[2Jb\\nc\\xff\n");
    assert_string_equal(wrapped(&ascii, "größe", 0, 0, 0), "gr\\u{00f6}\\u{00df}e\n");
}

static void wide_characters_take_two_columns(void **state)
{
    (void)state;
    assert_string_equal(wrapped(&narrow, "名名名名名名名名名名名名名名名名名名名名名", 0, 0, 0),
                        "名名名名名名名名名名名名名名名名名名名名\n名\n");
    assert_string_equal(wrapped(&narrow, "名名名名名名名名名名名名名名名名名名名名名", 1, 0, 0),
                        "名名名名名名名名名名名名名名名名名名名\n名名\n");
}

static void empty_sections_have_no_heading(void **state)
{
    (void)state;
    buf_reset(&out);
    page_init(&page, &out, &narrow);
    page_printf(&page, "first", "line");
    page_end_section(&page, page_heading(&page, "Empty"));
    size_t section = page_heading(&page, "Full");
    page_printf(&page, "second", "line");
    page_end_section(&page, section);
    assert_string_equal(buf_text(&out), "  first      line\n\nFull\n  second     line\n");
}

static int begin(void **state)
{
    (void)state;
    buf_init(&out, 65536);
    return 0;
}

static int end(void **state)
{
    (void)state;
    buf_clear(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaks_at_spaces),
        cmocka_unit_test(long_words_are_split),
        cmocka_unit_test(lines_are_limited),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(wide_characters_take_two_columns),
        cmocka_unit_test(empty_sections_have_no_heading),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
