/* One write per message, so that lines of several processes do not mix. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int level;

void log_set_level(int new_level)
{
    level = new_level;
}

int log_level(void)
{
    return level;
}

static void say(const char *format, va_list args)
{
    char line[2048] = "sonde: ";
    size_t start = strlen(line);
    int size = vsnprintf(line + start, sizeof line - start - 1, format, args);
    if (size < 0)
        return;
    size_t end = start + (size_t)size;
    if (end > sizeof line - 2)
        end = sizeof line - 2;
    line[end] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, end + 1);
    (void)ignored;
}

void log_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void log_warn(const char *format, ...)
{
    if (level < 0)
        return;
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void log_info(const char *format, ...)
{
    if (level < 1)
        return;
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}
