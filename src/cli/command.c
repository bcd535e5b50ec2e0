/* What commands have in common: their list, the shared options, error messages. */
#include "cli/command.h"

#include "base/log.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "report/terminal.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX 4096
#define DB_HELP "Job database to use instead of $SONDE_DB: a file, or postgresql://USER@HOST/DATABASE"

#define X(name) extern const struct command command_##name;
COMMANDS(X)
#undef X

const struct command *const command_all[] = {
#define X(name) &command_##name,
    COMMANDS(X)
#undef X
    NULL,
};

const struct command *command_find(const char *name)
{
    for (const struct command *const *c = command_all; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

void command_shared_options(unsigned shares, struct option table[COMMAND_SHARED_MAX])
{
#define FIELD(field) .offset = offsetof(struct command_globals, field)
    static const struct option db = { .name = "db", .argument = "PATH", .type = OPTION_TEXT, FIELD(db),
        .help = DB_HELP };
    static const struct option db_or_agent = { .name = "db", .argument = "PATH", .type = OPTION_TEXT, FIELD(db),
        .help = DB_HELP "; or agent:, which sends the job through the node's agent to its collector" };
    static const struct option root = { .name = "root", .argument = "DIR", .type = OPTION_TEXT, FIELD(root),
        .help = "Read /proc, /sys and the cgroups below DIR" };
    static const struct option verbose = { .letter = 'v', .name = "verbose", .type = OPTION_COUNT, FIELD(verbose),
        .help = "Print more details on standard error" };
    static const struct option help = { .letter = 'h', .name = "help", .type = OPTION_FLAG, FIELD(help),
        .help = "Show this help" };
#undef FIELD
    size_t n = 0;
    if (shares & COMMAND_DB)
        table[n++] = shares & COMMAND_DB_AGENT ? db_or_agent : db;
    if (shares & COMMAND_ROOT)
        table[n++] = root;
    if (!(shares & COMMAND_OWN_VERBOSE))
        table[n++] = verbose;
    table[n++] = help;
    table[n] = (struct option)OPTION_END;
}

static const char *other_name; /* NULL: sonde was called by its own name */

void command_set_name(const char *name)
{
    other_name = name;
    log_set_name(name);
}

void command_full_name(const struct command *command, char who[COMMAND_NAME_MAX])
{
    snprintf(who, COMMAND_NAME_MAX, "%s%s", other_name ? "" : "sonde ", other_name ? other_name : command->name);
}

static void print_message(const struct command_call *call, bool hint, const char *format, va_list args)
{
    char text[MESSAGE_MAX], who[COMMAND_NAME_MAX];
    struct buf line;
    command_full_name(call->command, who);
    vsnprintf(text, sizeof text, format, args);
    buf_init(&line, 8 * MESSAGE_MAX);
    buf_printf(&line, "%s: ", who);
    utf8_add_safe(&line, bytes_of(text), true); /* it may quote user input */
    buf_add_char(&line, '\n');
    if (hint)
        buf_printf(&line, "See '%s --help'.\n", who);
    terminal_write(STDERR_FILENO, &line);
    buf_clear(&line);
}

int command_fail(const struct command_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(call, false, format, args);
    va_end(args);
    return EXIT_FAILED;
}

int command_usage_error(const struct command_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(call, true, format, args);
    va_end(args);
    return EXIT_USAGE;
}

int command_print(const struct command_call *call, struct buf *out)
{
    enum err err = terminal_write(STDOUT_FILENO, out);
    if (!err || err == GONE)
        return EXIT_GOOD;
    return command_fail(call, "cannot write the output: %s", err_text(err));
}
