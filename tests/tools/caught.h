/* What a test says on standard error, caught for a while. */
#ifndef SONDE_TESTS_TOOLS_CAUGHT_H
#define SONDE_TESTS_TOOLS_CAUGHT_H

#include <stdio.h>
#include <unistd.h>

static int saved_stderr;
static FILE *caught;

static inline void catch_stderr(void)
{
    caught = tmpfile();
    saved_stderr = dup(STDERR_FILENO);
    dup2(fileno(caught), STDERR_FILENO);
}

static inline const char *caught_text(void)
{
    static char text[8192];
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    rewind(caught);
    text[fread(text, 1, sizeof text - 1, caught)] = '\0';
    fclose(caught);
    return text;
}

static inline unsigned lines_in(const char *text)
{
    unsigned lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

#endif
