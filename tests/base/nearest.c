/* Did you mean …? */
#include "base/nearest.h"

#include "tools/unit.h"

static const char *meant(const char *typed)
{
    struct nearest nearest = nearest_to(typed);
    static const char *const words[] = { "run", "report", "list", "ps", "export", "doctor", "completion" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        nearest_try(&nearest, words[i]);
    return nearest.best ? nearest.best : "-";
}

static void typing_errors_are_found(void **state)
{
    (void)state;
    assert_string_equal(meant("rnu"), "run");
    assert_string_equal(meant("reprot"), "report");
    assert_string_equal(meant("lst"), "list");
    assert_string_equal(meant("lisst"), "list");
    assert_string_equal(meant("exprt"), "export");
    assert_string_equal(meant("comp"), "completion");
    assert_string_equal(meant("doc"), "doctor");
    assert_string_equal(meant("psx"), "ps");
}

static void dissimilar_words_are_not_suggested(void **state)
{
    (void)state;
    assert_string_equal(meant("xyzzy"), "-");
    assert_string_equal(meant(""), "-");
    assert_string_equal(meant("q"), "-");
    assert_string_equal(meant("foo"), "-");
    assert_string_equal(meant("ruxx"), "-"); /* two errors in up to four letters are too many */
    assert_string_equal(meant("lixxt"), "list");
    assert_string_equal(meant("a word that is much longer than any command could ever be"), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typing_errors_are_found),
        cmocka_unit_test(dissimilar_words_are_not_suggested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
