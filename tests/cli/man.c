/* Man pages: strings of a command are printed, never interpreted as roff requests. */
#include "cli/man.h"

#include "tools/unit.h"

static const struct option options[] = {
    { .letter = 'p', .name = "per-iod", .argument = "PERIOD", .type = OPTION_DURATION, .initial = "1s", .help = "How often" },
    { .name = "secret", .type = OPTION_FLAG, .hidden = true, .help = "Not for the page" },
    { .letter = 'q', .type = OPTION_FLAG, .help = ".quiet" },
    OPTION_END,
};
static const struct command_fact examples[] = { { "sonde try -- 'x\\n'", ".what it does" }, { 0 } };
static const struct command_fact exits[] = { { "126", "'it' may not run" }, { 0 } };
static const struct command command = {
    .name = "try", .about = "try it", .usage = "[-p PERIOD]", .description = "'First.\n.Second\n\n  verbatim \\fB\n\nLast.",
    .options = options, .examples = examples, .exits = exits, .replaces_exits = true, .see_also = "run list",
};

static void strings_are_never_requests(void **state)
{
    (void)state;
    struct buf page;
    buf_init(&page, 100000);
    man_of(&page, &command);
    const char *text = buf_text(&page);
    assert_non_null(strstr(text, "\n\\&'First.\n\\&.Second\n"));
    assert_non_null(strstr(text, "\n.nf\n  verbatim \\efB\n.fi\n"));
    assert_non_null(strstr(text, "\n\\&.what it does\n"));
    assert_non_null(strstr(text, "\n\\&'it' may not run\n"));
    assert_non_null(strstr(text, "\\fBsonde try \\-\\- 'x\\en'\\fR\n"));
    assert_non_null(strstr(text, "\n\\&.quiet.\n"));
    buf_clear(&page);
}

static void options_and_sections(void **state)
{
    (void)state;
    struct buf page;
    buf_init(&page, 100000);
    man_of(&page, &command);
    const char *text = buf_text(&page);
    assert_non_null(strstr(text, "\n\\fB\\-p\\fR, \\fB\\-\\-per\\-iod\\fR=\\fIPERIOD\\fR\nHow often (default: 1s).\n"));
    assert_null(strstr(text, "secret"));
    assert_non_null(strstr(text, "\\fB126\\fR"));
    assert_null(strstr(text, "\\fB0\\fR"));
    assert_non_null(strstr(text, ".BR sonde (1),\n.BR sonde\\-run (1),\n.BR sonde\\-list (1)\n"));
    assert_null(strstr(text, "ENVIRONMENT"));
    buf_clear(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_never_requests),
        cmocka_unit_test(options_and_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
