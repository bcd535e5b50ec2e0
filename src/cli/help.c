/* sonde help: prints the help page of a command; also generates the man pages at build time. */
#include "cli/command.h"
#include "cli/man.h"
#include "cli/usage.h"

#include "base/nearest.h"

#include <stddef.h>

#define PAGE_MAX (1u << 20)

struct help_settings {
    bool man;
};

static int no_such(const struct command_call *call, const char *name)
{
    struct nearest nearest = nearest_to(name);
    for (const struct command *const *c = command_all; *c; c++)
        if (!(*c)->hidden)
            nearest_try(&nearest, (*c)->name);
    if (nearest.best)
        return command_usage_error(call, "unknown command '%.60s'; did you mean '%s'?", name, nearest.best);
    return command_usage_error(call, "unknown command '%.60s'; 'sonde help' lists all commands", name);
}

static int help_run(const struct command_call *call)
{
    const struct help_settings *settings = call->settings;
    const struct command *command = call->count ? command_find(call->operands[0]) : NULL;
    if (call->count && !command)
        return no_such(call, call->operands[0]);
    struct buf page;
    buf_init(&page, PAGE_MAX);
    if (settings->man && command)
        man_of(&page, command);
    else if (settings->man)
        man_of_sonde(&page);
    else if (command)
        usage_of(&page, command);
    else
        usage_of_sonde(&page);
    int status = command_print(call, &page);
    buf_clear(&page);
    return status;
}

static const struct option help_options[] = {
    { .name = "man", .type = OPTION_FLAG, .offset = offsetof(struct help_settings, man), .hidden = true,
      .help = "Print the page in the format of man(1)" },
    OPTION_END,
};

static const struct command_fact help_examples[] = {
    { "sonde help", "list all commands" },
    { "sonde help run", "help for sonde run; same as 'sonde run --help' and 'man sonde-run'" },
    { 0 },
};

const struct command command_help = {
    .name = "help",
    .about = "show help for sonde or one of its commands",
    .usage = "[COMMAND]",
    .description = "Shows what a command does, its options, examples and exit status. Without COMMAND, lists all commands.",
    .options = help_options,
    .settings_size = sizeof(struct help_settings),
    .operands_max = 1,
    .operand = "VERB",
    .examples = help_examples,
    .see_also = "run report list",
    .run = help_run,
};
