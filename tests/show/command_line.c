/* Words come out as a shell would take them in. */
#include "show/command_line.h"

#include "tools/unit.h"

static void is(const char *words, size_t size, const char *wanted)
{
    struct buf out;
    buf_init(&out, 4096);
    command_line_add(&out, (struct bytes){ words, size });
    assert_string_equal(buf_text(&out), wanted);
    buf_clear(&out);
}

static void words(void **state)
{
    (void)state;
    is("make\0-j4\0", 9, "make -j4");
    is("make\0-j4", 8, "make -j4"); /* the last without its NUL */
    is("a\0\0b", 5, "a '' b");
    is("", 0, "");
    is("größe", 7, "größe");
}

static void quotes(void **state)
{
    (void)state;
    is("sh\0-c\0echo $HOME; ls", 20, "sh -c 'echo $HOME; ls'");
    is("it's", 4, "'it'\\''s'");
    is("a\nb", 3, "'a\nb'");
    is("*", 1, "'*'");
    is("A=b,c:d@e%f+g/h.i-j_k", 21, "A=b,c:d@e%f+g/h.i-j_k");
}

/* A shell makes the same words of it. */
static void a_shell_takes_it_back(void **state)
{
    (void)state;
    static const char nasty[] = "printf\0%s\\n\0a b\0'\0\"$(id)\"\0\\\0`x`\0~\0#";
    struct buf out;
    buf_init(&out, 4096);
    command_line_add(&out, (struct bytes){ nasty, sizeof nasty });
    FILE *shell = popen(buf_text(&out), "r");
    assert_non_null(shell);
    char got[256];
    got[fread(got, 1, sizeof got - 1, shell)] = '\0';
    assert_int_equal(pclose(shell), 0);
    assert_string_equal(got, "a b\n'\n\"$(id)\"\n\\\n`x`\n~\n#\n");
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(quotes),
        cmocka_unit_test(a_shell_takes_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
