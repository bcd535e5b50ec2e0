/* sonde completion: prints a shell completion script. */
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
    return command_usage_error(call, "unknown shell '%.60s' (expected bash, zsh or fish)", call->operands[0]);
}

static const struct command_fact completion_examples[] = {
    { "source <(sonde completion bash)", "enable completion in this bash; in zsh likewise, after compinit" },
    { "sonde completion fish > ~/.config/fish/completions/sonde.fish", "enable completion in every new fish" },
    { 0 },
};

const struct command command_completion = {
    .name = "completion",
    .about = "print a shell completion script",
    .usage = "bash|zsh|fish",
    .description = "Prints a script that completes sonde's commands, options, choices and job ids when you press Tab. "
                   "'meson install' puts all three where the shells look for them.",
    .operands_min = 1,
    .operands_max = 1,
    .operand = "SHELL",
    .examples = completion_examples,
    .see_also = "help",
    .run = completion_run,
};
