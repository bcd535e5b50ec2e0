/* Capabilities of the output, tested with a real pseudo-terminal. */
#include "report/terminal.h"

#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int open_terminal(unsigned short columns)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master) | unlockpt(master), 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    struct winsize size = { .ws_col = columns, .ws_row = 24 };
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    return slave; /* the master stays open until the test ends */
}

static void plain_environment(void)
{
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
}

static void terminal_has_width_and_colour(void **state)
{
    (void)state;
    plain_environment();
    struct terminal terminal = terminal_of(open_terminal(132));
    assert_true(terminal.is_terminal && terminal.colour);
    assert_int_equal(terminal.width, 132);
    assert_string_equal(terminal_colour(&terminal, RED), "\033[31m");
    assert_int_equal(terminal_of(open_terminal(5)).width, 40);
}

static void file_has_80_columns_and_no_colour(void **state)
{
    (void)state;
    plain_environment();
    int fd = open("/dev/null", O_WRONLY);
    struct terminal terminal = terminal_of(fd);
    assert_false(terminal.is_terminal || terminal.colour);
    assert_int_equal(terminal.width, 80);
    assert_string_equal(terminal_colour(&terminal, RED), "");
    setenv("COLUMNS", "100", 1);
    assert_int_equal(terminal_of(fd).width, 100);
    setenv("COLUMNS", "many", 1);
    assert_int_equal(terminal_of(fd).width, 80);
    setenv("COLUMNS", "999999", 1);
    assert_int_equal(terminal_of(fd).width, 1000);
    close(fd);
}

static void colour_can_be_disabled(void **state)
{
    (void)state;
    plain_environment();
    int fd = open_terminal(80);
    setenv("NO_COLOR", "1", 1);
    assert_false(terminal_of(fd).colour);
    setenv("NO_COLOR", "", 1); /* empty counts as unset (no-color.org) */
    assert_true(terminal_of(fd).colour);
    setenv("TERM", "dumb", 1);
    assert_false(terminal_of(fd).colour);
    unsetenv("TERM");
    assert_false(terminal_of(fd).colour);
}

static void utf8_follows_the_locale(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_WRONLY);
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_true(terminal_of(fd).utf8);
    assert_non_null(setlocale(LC_CTYPE, "C"));
    assert_false(terminal_of(fd).utf8);
    close(fd);
}

static void closed_pipe_and_full_disk(void **state)
{
    (void)state;
    int ends[2];
    struct buf out;
    signal(SIGPIPE, SIG_IGN);
    buf_init(&out, 100);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    buf_add_text(&out, "text");
    assert_int_equal(terminal_write(ends[1], &out), GONE);
    assert_int_equal(out.size, 0);
    close(ends[1]);
    int full = open("/dev/full", O_WRONLY);
    buf_add_text(&out, "text");
    assert_int_equal(terminal_write(full, &out), FULL);
    close(full);
    buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminal_has_width_and_colour),
        cmocka_unit_test(file_has_80_columns_and_no_colour),
        cmocka_unit_test(colour_can_be_disabled),
        cmocka_unit_test(utf8_follows_the_locale),
        cmocka_unit_test(closed_pipe_and_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
