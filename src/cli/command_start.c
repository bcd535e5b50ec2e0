/* Parses the options of a command and runs it. */
#include "cli/command_start.h"

#include "base/log.h"
#include "cli/usage.h"
#include "report/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE_MAX (1u << 20)

int command_print_usage_error(const char *who, const char *what, const char *hint)
{
    struct buf line;
    buf_init(&line, PAGE_MAX);
    buf_printf(&line, "%s: %s\nSee '%s --help'.\n", who, what, hint);
    terminal_write(STDERR_FILENO, &line);
    buf_clear(&line);
    return EXIT_USAGE;
}

int command_show_help(const struct command *command)
{
    struct buf page;
    buf_init(&page, PAGE_MAX);
    if (command)
        usage_of(&page, command);
    else
        usage_of_sonde(&page);
    enum err err = terminal_write(STDOUT_FILENO, &page);
    buf_clear(&page);
    return err && err != GONE ? EXIT_FAILED : EXIT_GOOD;
}

static bool has_too_few(const struct command *command, int count)
{
    return count < command->operands_min;
}

static bool has_too_many(const struct command *command, int count)
{
    return command->operands_max >= 0 && count > command->operands_max;
}

static int too_few_operands(const struct command *command, const char *who)
{
    char text[256];
    snprintf(text, sizeof text, "missing %s", command->operand);
    return command_print_usage_error(who, text, who);
}

/* An empty variable counts as unset, but an empty --db is an error: most likely an unset variable of the user's
 * script. */
static int no_store(const char *who)
{
    return command_print_usage_error(who, "--db is empty; give a file or URL, or leave it out", who);
}

static int run_command(const struct command *command, struct command_globals *globals, void *settings, int argc, char **argv)
{
    static const struct option none[] = { OPTION_END };
    struct option shared[COMMAND_SHARED_MAX];
    command_shared_options(command->shares, shared);
    struct option_set sets[] = { { command->options ? command->options : none, settings }, { shared, globals } };
    struct command_call call = { .command = command, .globals = globals, .settings = settings, .operands = argv };
    char who[COMMAND_NAME_MAX];
    command_full_name(command, who);

    struct buf message;
    buf_init(&message, 4096);
    option_defaults(&sets[0]);
    enum err err = option_parse(sets, 2, argc, argv, command->first_operand_ends, &call.count, &message);
    int status;
    log_set_level(globals->verbose);
    if (err)
        status = command_print_usage_error(who, buf_text(&message), who);
    else if (globals->help)
        status = command_show_help(command);
    else if (globals->db && !*globals->db)
        status = no_store(who);
    else if (has_too_few(command, call.count))
        status = too_few_operands(command, who);
    else if (has_too_many(command, call.count))
        status = command_print_usage_error(who, "too many arguments", who);
    else
        status = command->run(&call);
    buf_clear(&message);
    option_clear(&sets[0]);
    return status;
}

int command_start(const struct command *command, struct command_globals *globals, int argc, char **argv)
{
    void *settings = calloc(1, command->settings_size + 1);
    if (!settings) {
        log_error("out of memory");
        return EXIT_FAILED;
    }
    int status = run_command(command, globals, settings, argc, argv);
    free(settings);
    return status;
}
