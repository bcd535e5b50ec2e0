/* The --help page. */
#include "cli/usage.h"

#include "base/utf8.h"
#include "tools/unit.h"

#define LONG "a sentence that goes on and on until it has to be wrapped somewhere, because no line may be longer than 80"

static const struct option options[] = {
    { .letter = 'p', .name = "period", .argument = "PERIOD", .type = OPTION_DURATION, .initial = "1s", .help = LONG },
    { .name = "a-very-long-option-name", .argument = "VALUE", .type = OPTION_TEXT, .help = "Short" },
    { .name = "format", .argument = "F", .type = OPTION_CHOICE, .choices = "csv json", .help = "How" },
    { .name = "secret", .type = OPTION_FLAG, .hidden = true, .help = "Not for the page" },
    OPTION_END,
};
static const struct command_fact examples[] = { { "sonde try", LONG }, { 0 } };
static const struct command command = {
    .name = "try", .about = "try it", .usage = "[-p PERIOD]", .description = LONG ".\n\n  as it is\n  is it\n\nEnd.",
    .options = options, .examples = examples, .shares = COMMAND_DB, .see_also = "run",
};

static const char *page(void)
{
    static char text[10000];
    struct buf out;
    buf_init(&out, sizeof text - 1);
    usage_of(&out, &command);
    assert_int_equal(buf_err(&out), OK);
    snprintf(text, sizeof text, "%s", buf_text(&out));
    buf_clear(&out);
    return text;
}

static void no_line_is_longer_than_80(void **state)
{
    (void)state;
    char *text = strdup(page());
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(utf8_columns(bytes_of(line), true) <= 80);
    free(text);
}

static void terms_and_meanings_are_aligned(void **state)
{
    (void)state;
    const char *text = page();
    assert_non_null(strstr(text, "\n  -p, --period=PERIOD     a sentence that goes"));
    assert_non_null(strstr(text, "(default: 1s)\n"));
    assert_non_null(strstr(text, "\n      --a-very-long-option-name=VALUE\n                          Short\n"));
    assert_non_null(strstr(text, "\n      --format=F          How: csv, json\n"));
    assert_non_null(strstr(text, "\n\n  as it is\n  is it\n\nEnd.\n"));
    assert_null(strstr(text, "secret"));
}

static void shared_options_are_listed(void **state)
{
    (void)state;
    const char *text = page();
    assert_non_null(strstr(text, "--db=PATH"));
    assert_null(strstr(text, "--root"));
    assert_non_null(strstr(text, "\nEnvironment:\n  SONDE_DB"));
    assert_non_null(strstr(text, "\nSee also:\n  sonde-run(1)\n"));
    assert_memory_equal(text, "Usage: sonde try [-p PERIOD]\n\n", 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_longer_than_80),
        cmocka_unit_test(terms_and_meanings_are_aligned),
        cmocka_unit_test(shared_options_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
