/* Entry point of sonde: finds the command and runs it. */
#include "cli/command_start.h"
#include "compat/commands/drop_in.h"

#include "base/nearest.h"
#include "base/stack.h"
#include "base/utf8.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_such_command(const char *name)
{
    struct nearest nearest = nearest_to(name);
    for (const struct command *const *c = command_all; *c; c++)
        if (!(*c)->hidden)
            nearest_try(&nearest, (*c)->name);
    struct buf what;
    buf_init(&what, 4096);
    buf_add_text(&what, "unknown command '");
    utf8_add_fit(&what, bytes_of(name), 60, true);
    buf_add_char(&what, '\'');
    if (nearest.best)
        buf_printf(&what, "; did you mean 'sonde %s'?", nearest.best);
    int status = command_print_usage_error("sonde", buf_text(&what), "sonde");
    buf_clear(&what);
    return status;
}

struct before {
    struct command_globals globals;
    bool version;
};

static int run_named(struct before *before, int argc, char **argv)
{
    const struct command *command = command_find(argv[0]);
    if (!command)
        return no_such_command(argv[0]);
    return command_start(command, &before->globals, argc - 1, argv + 1);
}

static int sonde_main(int argc, char **argv)
{
    static const struct option version[] = {
        { .letter = 'V', .name = "version", .type = OPTION_FLAG, .offset = offsetof(struct before, version) }, OPTION_END,
    };
    struct option shared[COMMAND_SHARED_MAX];
    struct before before = { 0 };
    struct option_set sets[] = { { version, &before }, { shared, &before.globals } };
    struct buf message;
    int operands;

    command_shared_options(COMMAND_DB | COMMAND_ROOT, shared);
    buf_init(&message, 4096);
    int status;
    if (argc > 0 && option_parse(sets, 2, argc - 1, argv + 1, true, &operands, &message))
        status = command_print_usage_error("sonde", buf_text(&message), "sonde");
    else if (before.version)
        status = puts("sonde " SONDE_VERSION) < 0 || fflush(stdout) ? EXIT_FAILED : EXIT_GOOD;
    else if (before.globals.help && operands == 0)
        status = command_show_help(NULL);
    else if (argc < 2 || operands == 0) {
        command_show_help(NULL);
        status = EXIT_USAGE;
    } else
        status = run_named(&before, operands, argv + 1);
    buf_clear(&message);
    return status;
}

/* Called under another tool's name: translates its options into ours. */
static int main_as(const struct drop_in *name, int argc, char **argv)
{
    struct drop_in_args args = { 0 };
    struct buf message;
    int status;
    buf_init(&message, 4096);
    command_set_name(name->name);
    enum err err = name->translate(argc, argv, &args, &message);
    if (err == GONE && name->help) {
        status = fputs(name->help, stdout) < 0 || fflush(stdout) ? EXIT_FAILED : EXIT_GOOD;
    } else if (err) {
        status = command_print_usage_error(name->name, buf_text(&message), name->help ? name->name : "sonde");
    } else {
        size_t size = ((size_t)args.count + 1) * sizeof(char *);
        char **copy = malloc(size); /* option_parse reorders the arguments */
        if (copy)
            memcpy(copy, args.args, size);
        status = copy ? sonde_main(args.count, copy) : EXIT_FAILED;
        free(copy);
    }
    buf_clear(&message);
    drop_in_clear(&args);
    return status;
}

static int main_named(int argc, char **argv)
{
    const struct drop_in *name = drop_in_find(argc > 0 ? argv[0] : NULL);
    setlocale(LC_CTYPE, "");
    return name ? main_as(name, argc, argv) : sonde_main(argc, argv);
}

int main(int argc, char **argv)
{
    return stack_call(main_named, argc, argv);
}
