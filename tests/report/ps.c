/* The process tree as text. */
#include "report/ps.h"

#include "base/utf8.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <unistd.h>

static struct tree tree;

static int make(void **state)
{
    (void)state;
    tree_init(&tree, SIZE_MAX);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    tree_clear(&tree);
    return 0;
}

static struct process a_process(uint32_t pid, uint32_t parent, struct bytes args, uint64_t cpu_us,
                                uint64_t inclusive_us)
{
    struct process p = { .pid = pid, .parent = parent, .args = args, .name = bytes_of("name"), .start_ns = 1,
                         .end_ns = 1500000001, .status_known = true, .inclusive_cpu_us = inclusive_us };
    counters_set(&p.counters, COUNTER_usertime, cpu_us);
    return p;
}

static void add(uint32_t number, uint32_t last, struct process p)
{
    p.last = last;
    assert_int_equal(tree_add(&tree, number, &p), OK);
}

#define ARGS(text) ((struct bytes){ text, sizeof text })

/* Returns the output of ps_print. */
static const char *printed(const struct ps_view *view)
{
    static char text[65536];
    struct output stream;
    char path[] = "/tmp/test-ps-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(output_open(&stream, path), OK);
    assert_int_equal(ps_print(&tree, view, &stream), OK);
    assert_int_equal(output_flush(&stream), OK);
    output_close(&stream);
    ssize_t size = read(fd, text, sizeof text - 1);
    assert_true(size >= 0);
    text[size] = '\0';
    close(fd);
    unlink(path);
    return text;
}

static void three_processes(void)
{
    add(0, 2, a_process(10, PROCESS_NO_PARENT, ARGS("sh\0run.sh"), 1000, 2501000));
    add(1, 1, a_process(11, 0, ARGS("solve\0a b\n"), 2000000, 2000000));
    struct process failed = a_process(12, 0, ARGS("post"), 500000, 500000);
    failed.exit_signal = 9;
    failed.image = 1;
    add(2, 2, failed);
}

static void draws_lines_in_utf8(void **state)
{
    (void)state;
    three_processes();
    struct ps_view view = { .terminal = { .utf8 = true, .width = 80 } };
    assert_string_equal(printed(&view), "PID  TOTAL    CPU   TIME  MEM READ WRITE  EXIT COMMAND\n"
                                        " 10   2.5s  1.0ms   1.5s                       sh run.sh\n"
                                        " 11   2.0s   2.0s   1.5s                       ├─ solve 'a b\\n'\n"
                                        " 12  500ms  500ms   1.5s                  KILL └─ ⇒ post\n");
}

/* On a narrow terminal numbers are left out, least important first, to make space for the tree. */
static void fits_a_narrow_terminal(void **state)
{
    (void)state;
    three_processes();
    struct ps_view view = { .terminal = { .utf8 = true, .width = 58 } };
    assert_string_equal(printed(&view), "PID  TOTAL    CPU   TIME  MEM  EXIT COMMAND\n"
                                        " 10   2.5s  1.0ms   1.5s            sh run.sh\n"
                                        " 11   2.0s   2.0s   1.5s            ├─ solve 'a b\\n'\n"
                                        " 12  500ms  500ms   1.5s       KILL └─ ⇒ post\n");
    view.terminal.width = 36;
    assert_string_equal(printed(&view), "PID    CPU  EXIT COMMAND\n"
                                        " 10  1.0ms       sh run.sh\n"
                                        " 11   2.0s       ├─ solve 'a b\\n'\n"
                                        " 12  500ms  KILL └─ ⇒ post\n");
    view.args = true;
    assert_non_null(strstr(printed(&view), "WRITE"));
}

static void draws_lines_in_ascii(void **state)
{
    (void)state;
    three_processes();
    struct ps_view view = { .terminal = { .width = 80 } };
    assert_non_null(strstr(printed(&view), " |- solve 'a b\\n'\n"));
    assert_non_null(strstr(printed(&view), " `- => post\n"));
}

static void hides_below_threshold(void **state)
{
    (void)state;
    three_processes();
    struct ps_view view = { .terminal = { .utf8 = true, .width = 80 } };
    tree_hide(&tree, 1000000);
    assert_null(strstr(printed(&view), "post"));
    assert_non_null(strstr(printed(&view), "└─ solve")); /* the last one shown */
    assert_non_null(strstr(printed(&view), "\n1 more used less than 1.0 s each, 500 ms in total.\n"));
}

static void stops_at_depth(void **state)
{
    (void)state;
    three_processes();
    struct ps_view view = { .terminal = { .utf8 = true, .width = 80 }, .depth = 1 };
    assert_non_null(strstr(printed(&view), "sh run.sh (+2 below)\n"));
    assert_null(strstr(printed(&view), "solve"));
}

static void no_row_is_wider_than_the_terminal(void **state)
{
    (void)state;
    char words[4000];
    memset(words, 'x', sizeof words);
    words[sizeof words - 1] = '\0';
    for (uint32_t i = 0; i < 40; i++)
        add(i, 39, a_process(4000000 + i, i ? i - 1 : PROCESS_NO_PARENT, (struct bytes){ words, sizeof words }, 10,
                             10));
    struct ps_view view = { .terminal = { .utf8 = true, .width = 120 } };
    char *text = strdup(printed(&view));
    size_t rows = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), rows++)
        assert_true(utf8_columns(bytes_of(line), true) <= 120);
    assert_int_equal(rows, 41);
    free(text);
    view.args = true;
    assert_non_null(strstr(printed(&view), words));
}

static void unknown_is_empty(void **state)
{
    (void)state;
    struct process p = { .pid = 5, .parent = PROCESS_NO_PARENT, .state = PROCESS_LOST };
    add(0, 0, p);
    struct ps_view view = { .terminal = { .utf8 = true, .width = 80 } };
    assert_non_null(strstr(printed(&view), "\n  5                                       lost ?\n"));
}

static void inexact_numbers_are_marked(void **state)
{
    (void)state;
    struct process parent = a_process(10, PROCESS_NO_PARENT, ARGS("sh"), 45000, 45000);
    parent.sources = SEEN_WAIT | USAGE_WITH_OTHERS | USAGE_ESTIMATED;
    add(0, 2, parent);
    struct process child = a_process(11, 0, ARGS("burn"), 20000, 20000);
    child.sources = USAGE_ESTIMATED;
    add(1, 1, child);
    add(2, 2, a_process(12, 0, ARGS("burn"), 25000, 25000));
    struct ps_view view = { .terminal = { .utf8 = true, .width = 80 } };
    assert_string_equal(printed(&view), "PID  TOTAL    CPU    TIME  MEM READ WRITE COMMAND\n"
                                        " 10   45ms   45ms*   1.5s                 sh\n"
                                        " 11   20ms   20ms~   1.5s                 ├─ burn\n"
                                        " 12   25ms   25ms    1.5s                 └─ burn\n"
                                        "* includes children or earlier executables of the process, which could not be "
                                        "separated.\n~ part of the CPU time is estimated.\n");
    view.depth = 1; /* no mark, no footnote */
    assert_null(strstr(printed(&view), "~ "));
    assert_non_null(strstr(printed(&view), "* includes "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

static void unnamed_threads(void **state)
{
    (void)state;
    struct process p = a_process(5, PROCESS_NO_PARENT, ARGS("/bin/a"), 10, 10);
    p.thread_count = 3;
    add(0, 0, p);
    tree_add_thread(&tree, 0, &(struct thread){ .tid = 5 });
    tree_add_thread(&tree, 0, &(struct thread){ .tid = 6 });
    tree_add_thread(&tree, 0, &(struct thread){ .tid = 7, .name = "worker" });
    const char *text = printed(&(struct ps_view){ .threads = true });
    assert_non_null(strstr(text, " main thread\n"));
    assert_non_null(strstr(text, "  thread\n"));
    assert_non_null(strstr(text, "{worker}\n"));
    assert_null(strstr(text, "{}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unnamed_threads, make, unmake),
        TEST(draws_lines_in_utf8),
        TEST(fits_a_narrow_terminal),
        TEST(draws_lines_in_ascii),
        TEST(hides_below_threshold),
        TEST(stops_at_depth),
        TEST(no_row_is_wider_than_the_terminal),
        TEST(unknown_is_empty),
        TEST(inexact_numbers_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
