/* sonde completion: the script that teaches a shell our commands and options. */
#include "cli/command.h"
#include "cli/complete.h"

#include <string.h>

#define SCRIPT_MAX (1u << 20)

static int completion_run(const struct command_call *call)
{
    static const struct {
        const char *name;
        void (*make)(struct buf *out);
    } shells[] = { { "bash", complete_bash }, { "zsh", complete_zsh }, { "fish", complete_fish } };
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, call->operands[0]) == 0) {
            struct buf script;
            buf_init(&script, SCRIPT_MAX);
            shells[i].make(&script);
            int status = command_print(call, &script);
            buf_clear(&script);
            return status;
        }
    return command_misused(call, "there is completion for bash, zsh and fish, not for '%.60s'", call->operands[0]);
}

static const struct command_fact completion_examples[] = {
    { "source <(sonde completion bash)", "complete in this bash; the same with zsh in a zsh, after its compinit" },
    { "sonde completion fish > ~/.config/fish/completions/sonde.fish", "complete in every fish from now on" },
    { 0 },
};

const struct command command_completion = {
    .name = "completion",
    .about = "print the completion script of a shell",
    .usage = "bash|zsh|fish",
    .description = "Prints a script that completes sonde's commands, options, choices and job ids when you press Tab. An "
                   "installed sonde brings all three along in the places where the shells look for them.",
    .operands_min = 1,
    .operands_max = 1,
    .operand = "SHELL",
    .examples = completion_examples,
    .see_also = "help",
    .run = completion_run,
};
