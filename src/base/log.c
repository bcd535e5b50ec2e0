/* One write per message, so that lines of several processes are not interleaved. */
#include "base/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 2048

/* In a module, which has a copy of this file, state points to the program's. */
static struct log_state own = { .name = "sonde" }, *state = &own;

void log_set_level(int level)
{
    state->level = level;
}

int log_level(void)
{
    return state->level;
}

void log_set_name(const char *name)
{
    state->name = name;
}

const char *log_name(void)
{
    return state->name;
}

struct log_state *log_shared(void)
{
    return state;
}

__attribute__((visibility("default"))) void sonde_log_share(struct log_state *shared)
{
    state = shared;
}

static void write_line(const char *text, size_t size)
{
    ssize_t ignored = write(STDERR_FILENO, text, size);
    (void)ignored;
}

/* Messages can quote input and file names, which must not control the terminal. */
static void write_safe(const char *text)
{
    static const char out_of_memory[] = ": out of memory\n";
    struct buf line;
    buf_init(&line, 8 * LINE_SIZE);
    buf_printf(&line, "%s: ", state->name);
    utf8_add_safe(&line, bytes_of(text), true);
    buf_add_char(&line, '\n');
    if (buf_err(&line)) {
        write_line(state->name, strlen(state->name));
        write_line(out_of_memory, sizeof out_of_memory - 1);
    } else {
        write_line(line.data, line.size);
    }
    buf_clear(&line);
}

static void log_message(const char *format, va_list args)
{
    char text[LINE_SIZE];
    if (vsnprintf(text, sizeof text, format, args) >= 0)
        write_safe(text);
}

void log_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_message(format, args);
    va_end(args);
}

void log_warn(const char *format, ...)
{
    if (state->level < 0)
        return;
    va_list args;
    va_start(args, format);
    log_message(format, args);
    va_end(args);
}

void log_info(const char *format, ...)
{
    if (state->level < 1)
        return;
    va_list args;
    va_start(args, format);
    log_message(format, args);
    va_end(args);
}

void log_debug(const char *format, ...)
{
    if (state->level < 2)
        return;
    va_list args;
    va_start(args, format);
    log_message(format, args);
    va_end(args);
}
