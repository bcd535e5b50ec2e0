/* Compares output with a golden file below tests/, and prints a diff where they differ. With SONDE_GOLDEN=write in the
 * environment the file is rewritten instead: look at the diff of git before you commit it. */
#ifndef SONDE_TESTS_TOOLS_GOLDEN_H
#define SONDE_TESTS_TOOLS_GOLDEN_H

#include "tools/unit.h"

static inline void golden_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    caller_assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* diff -u of the golden file and the text, on standard error. */
static inline void golden_diff(const char *path, const char *text)
{
    char command[4096];
    snprintf(command, sizeof command, "diff -u --label '%s' --label 'actual output' '%s' - >&2", path, path);
    FILE *diff = popen(command, "w");
    caller_assert_non_null(diff);
    fputs(text, diff);
    pclose(diff);
}

/* name: below tests/, as "report/golden/good.txt". */
static inline void assert_golden(const char *name, const char *text)
{
    static char expected[1 << 20];
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/%s", getenv("SOURCE"), name);
    const char *mode = getenv("SONDE_GOLDEN");
    if (mode && strcmp(mode, "write") == 0) {
        golden_write(path, text);
        return;
    }
    FILE *file = fopen(path, "r");
    if (!file)
        caller_fail_msg("cannot read %s; SONDE_GOLDEN=write creates it", path);
    expected[fread(expected, 1, sizeof expected - 1, file)] = '\0';
    fclose(file);
    if (strcmp(expected, text) != 0) {
        golden_diff(path, text);
        caller_fail_msg("output differs from tests/%s; if that is intended: SONDE_GOLDEN=write ./check test report/report", name);
    }
}
#define assert_golden(...) (unit_called(__FILE__, __LINE__), (assert_golden)(__VA_ARGS__))

#endif
