/* Parsing argv with a table of options. */
#include "base/option.h"

#include "base/clock.h"
#include "tools/unit.h"

struct settings {
    bool json, quiet;
    int verbose;
    const char *name;
    const char **tags;
    uint64_t limit, period_ns, since_ns;
    int format;
};

#define AT(field) .offset = offsetof(struct settings, field)
enum { FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL };

static const struct option table[] = {
    { .letter = 'j', .name = "json", .type = OPTION_FLAG, AT(json) },
    { .letter = 'q', .type = OPTION_FLAG, AT(quiet) },
    { .letter = 'v', .name = "verbose", .type = OPTION_COUNT, AT(verbose) },
    { .letter = 'n', .name = "name", .argument = "NAME", .type = OPTION_TEXT, AT(name), .initial = "unnamed" },
    { .letter = 't', .name = "tag", .argument = "K=V", .type = OPTION_LIST, AT(tags) },
    { .name = "limit", .argument = "N", .type = OPTION_U64, AT(limit), .min = 1, .max = 1000, .initial = "20" },
    { .letter = 'p', .name = "period", .argument = "PERIOD", .type = OPTION_DURATION, AT(period_ns), .min = 10 * NS_PER_MS,
      .initial = "1s" },
    { .name = "since", .argument = "TIME", .type = OPTION_TIME, AT(since_ns) },
    { .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format),
      .choices = OPTION_CHOICES(FORMAT_JSONL, "csv", "json", "jsonl") },
    { .name = "secret", .type = OPTION_FLAG, AT(quiet), .hidden = true },
    OPTION_END,
};

static struct settings settings;
static char *words[16];
static int operands;
static char message[512];

/* Parses the words, NULL at the end; the result is in settings, words, operands, message. */
static enum err parse(bool first_ends, ...)
{
    struct option_set set = { table, &settings };
    struct buf buf;
    int argc = 0;
    va_list list;
    va_start(list, first_ends);
    while ((words[argc] = va_arg(list, char *)))
        argc++;
    va_end(list);
    memset(&settings, 0, sizeof settings);
    buf_init(&buf, sizeof message - 1);
    option_defaults(&set);
    enum err err = option_parse(&set, 1, argc, words, first_ends, &operands, &buf);
    strcpy(message, buf_text(&buf));
    buf_clear(&buf);
    return err;
}

static void clear(void)
{
    option_clear(&(struct option_set){ table, &settings });
}

static void defaults_apply_unless_overridden(void **state)
{
    (void)state;
    assert_int_equal(parse(false, NULL), OK);
    assert_string_equal(settings.name, "unnamed");
    assert_int_equal(settings.limit, 20);
    assert_int_equal(settings.period_ns, NS_PER_S);
    assert_false(settings.json);
    assert_null(settings.tags);
    assert_int_equal(operands, 0);
}

static void every_spelling_works(void **state)
{
    (void)state;
    assert_int_equal(parse(false, "-jvv", "-none", "-p", "250ms", "--limit=7", "--format", "json", "--name=", NULL), OK);
    assert_true(settings.json);
    assert_int_equal(settings.verbose, 2);
    assert_string_equal(settings.name, "");
    assert_int_equal(settings.period_ns, 250 * NS_PER_MS);
    assert_int_equal(settings.limit, 7);
    assert_int_equal(settings.format, 1);
    assert_int_equal(parse(false, "-vp1s", "-vn", "-x", NULL), OK); /* a value may look like an option */
    assert_string_equal(settings.name, "-x");
    assert_int_equal(settings.verbose, 2);
    assert_int_equal(parse(false, "--since=@5", NULL), OK);
    assert_int_equal(settings.since_ns, 5 * NS_PER_S);
}

static void lists_keep_the_given_order(void **state)
{
    (void)state;
    assert_int_equal(parse(false, "-t", "a=1", "--tag=b=2", "-tc", NULL), OK);
    assert_string_equal(settings.tags[0], "a=1");
    assert_string_equal(settings.tags[1], "b=2");
    assert_string_equal(settings.tags[2], "c");
    assert_null(settings.tags[3]);
    clear();
    assert_null(settings.tags);
}

static void operands_can_be_anywhere(void **state)
{
    (void)state;
    assert_int_equal(parse(false, "one", "-j", "two", "-", "--", "-v", "--name", NULL), OK);
    assert_int_equal(operands, 5);
    assert_string_equal(words[0], "one");
    assert_string_equal(words[1], "two");
    assert_string_equal(words[2], "-");
    assert_string_equal(words[3], "-v");
    assert_string_equal(words[4], "--name");
    assert_null(words[5]);
    assert_int_equal(settings.verbose, 0);
}

static void the_first_operand_can_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(parse(true, "-v", "make", "-j", "--", "-n", NULL), OK);
    assert_int_equal(operands, 4);
    assert_string_equal(words[0], "make");
    assert_string_equal(words[1], "-j");
    assert_string_equal(words[2], "--");
    assert_false(settings.json);
    assert_int_equal(parse(true, "--", "--", "x", NULL), OK);
    assert_int_equal(operands, 2);
    assert_string_equal(words[0], "--");
}

static void refused(const char *expected)
{
    assert_string_equal(message, expected);
}

static void invalid_values_are_reported(void **state)
{
    (void)state;
    assert_int_equal(parse(false, "--period", "abc", NULL), USAGE);
    refused("invalid value 'abc' for --period (expected at least 10ms)");
    assert_int_equal(parse(false, "-p1ms", NULL), USAGE);
    refused("invalid value '1ms' for --period (expected at least 10ms)");
    assert_int_equal(parse(false, "--limit", "0", NULL), USAGE);
    refused("invalid value '0' for --limit (expected 1 to 1,000)");
    assert_int_equal(parse(false, "--format=xml", NULL), USAGE);
    refused("invalid value 'xml' for --format (expected csv, json, jsonl)");
    assert_int_equal(parse(false, "--format=", NULL), USAGE);
    assert_int_equal(parse(false, "--format=cs", NULL), USAGE);
    assert_int_equal(parse(false, "--since", "whenever", NULL), USAGE);
    assert_non_null(strstr(message, "'2 hours ago'"));
    assert_int_equal(parse(false, "--name", NULL), USAGE);
    refused("missing NAME after --name");
    assert_int_equal(parse(false, "-vn", NULL), USAGE);
    refused("missing NAME after -n");
    assert_int_equal(parse(false, "--json=yes", NULL), USAGE);
    refused("--json takes no value");
}

static void unknown_options_get_a_suggestion(void **state)
{
    (void)state;
    assert_int_equal(parse(false, "--perod=1s", NULL), USAGE);
    refused("unknown option '--perod'; did you mean --period?");
    assert_int_equal(parse(false, "--secrt", NULL), USAGE); /* hidden options are not suggested */
    refused("unknown option '--secrt'");
    assert_int_equal(parse(false, "-vx", NULL), USAGE);
    refused("unknown option '-x'");
    assert_int_equal(parse(false, "-é", NULL), USAGE);
    refused("unknown option '-é'");
    assert_int_equal(parse(false, "--a\033[31mb", NULL), USAGE);
    refused("unknown option '--a\\x1b[31mb'");
    assert_int_equal(parse(false, "--=", NULL), USAGE);
    refused("unknown option '--'");
}

static void hidden_options_work(void **state)
{
    (void)state;
    assert_int_equal(parse(false, "--secret", NULL), OK);
    assert_true(settings.quiet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_apply_unless_overridden),
        cmocka_unit_test(every_spelling_works),
        cmocka_unit_test(lists_keep_the_given_order),
        cmocka_unit_test(operands_can_be_anywhere),
        cmocka_unit_test(the_first_operand_can_end_the_options),
        cmocka_unit_test(invalid_values_are_reported),
        cmocka_unit_test(unknown_options_get_a_suggestion),
        cmocka_unit_test(hidden_options_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
