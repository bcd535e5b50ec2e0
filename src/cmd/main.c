/* sonde: finds the command, reads its options, runs it. argv comes in, an exit status goes out. */
#include "cmd/command.h"
#include "cmd/names/names.h"
#include "cmd/usage.h"

#include "base/log.h"
#include "base/nearest.h"
#include "base/stack.h"
#include "base/utf8.h"
#include "show/terminal.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_MAX (1u << 20)

static int complain(const char *who, const char *what, const char *hint)
{
    struct buf line;
    buf_init(&line, PAGE_MAX);
    buf_printf(&line, "%s: %s\nSee '%s --help'.\n", who, what, hint);
    terminal_write(STDERR_FILENO, &line);
    buf_clear(&line);
    return EXIT_USAGE;
}

static int no_such_command(const char *name)
{
    struct nearest nearest = nearest_to(name);
    for (const struct command *const *c = command_all; *c; c++)
        if (!(*c)->hidden)
            nearest_try(&nearest, (*c)->name);
    struct buf what;
    buf_init(&what, 4096);
    buf_add_text(&what, "there is no command '");
    utf8_add_fit(&what, bytes_of(name), 60, true);
    buf_add_char(&what, '\'');
    if (nearest.best)
        buf_printf(&what, "; did you mean 'sonde %s'?", nearest.best);
    int status = complain("sonde", buf_text(&what), "sonde");
    buf_clear(&what);
    return status;
}

static int show_help(const struct command *command)
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

/* NULL, or what is wrong with the number of operands. */
static const char *check_operands(const struct command *command, int count)
{
    if (count < command->operands_min)
        return "something is missing";
    if (command->operands_max >= 0 && count > command->operands_max)
        return "there is more than it can take";
    return NULL;
}

static int wrong_operands(const struct command *command, const char *what)
{
    char who[COMMAND_WHO_MAX], text[1024];
    command_who(command, who);
    snprintf(text, sizeof text, "%s: %s %s", what, who, command->usage);
    return complain(who, text, who);
}

/* An empty variable is none, but who writes --db means something: most likely another variable that is empty. */
static int no_store(const char *who)
{
    return complain(who, "--db '' names no database: give a file, or leave it out", who);
}

/* argv: what follows the command's name. */
static int run_command(const struct command *command, struct command_globals *globals, void *settings, int argc, char **argv)
{
    static const struct option none[] = { OPTION_END };
    struct option shared[COMMAND_SHARED_MAX];
    command_shared_options(command->shares, shared);
    struct option_set sets[] = { { command->options ? command->options : none, settings }, { shared, globals } };
    struct command_call call = { .command = command, .globals = globals, .settings = settings, .operands = argv };
    char who[COMMAND_WHO_MAX];
    command_who(command, who);

    struct buf message;
    buf_init(&message, 4096);
    option_defaults(&sets[0]);
    enum err err = option_parse(sets, 2, argc, argv, command->first_operand_ends, &call.count, &message);
    const char *wrong = err || globals->help ? NULL : check_operands(command, call.count);
    int status;
    log_set_level(globals->verbose);
    if (err)
        status = complain(who, buf_text(&message), who);
    else if (globals->help)
        status = show_help(command);
    else if (globals->db && !*globals->db)
        status = no_store(who);
    else
        status = wrong ? wrong_operands(command, wrong) : command->run(&call);
    buf_clear(&message);
    option_clear(&sets[0]);
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
    void *settings = calloc(1, command->settings_size + 1);
    if (!settings) {
        log_error("out of memory");
        return EXIT_FAILED;
    }
    int status = run_command(command, &before->globals, settings, argc - 1, argv + 1);
    free(settings);
    return status;
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
        status = complain("sonde", buf_text(&message), "sonde");
    else if (before.version)
        status = puts("sonde " SONDE_VERSION) < 0 || fflush(stdout) ? EXIT_FAILED : EXIT_GOOD;
    else if (before.globals.help && operands == 0)
        status = show_help(NULL);
    else if (argc < 2 || operands == 0) {
        show_help(NULL);
        status = EXIT_USAGE;
    } else
        status = run_named(&before, operands, argv + 1);
    buf_clear(&message);
    return status;
}

/* Under another program's name: its options become ours. */
static int main_as(const struct names_entry *name, int argc, char **argv)
{
    struct names_words words = { 0 };
    struct buf message;
    int status;
    buf_init(&message, 4096);
    enum err err = name->turn(argc, argv, &words, &message);
    if (err == GONE && name->help) {
        status = fputs(name->help, stdout) < 0 || fflush(stdout) ? EXIT_FAILED : EXIT_GOOD;
    } else if (err) {
        status = complain(name->name, buf_text(&message), name->help ? name->name : "sonde");
    } else {
        command_call_me(name->name);
        size_t size = ((size_t)words.count + 1) * sizeof(char *);
        char **copy = malloc(size); /* its words are moved about */
        if (copy)
            memcpy(copy, words.words, size);
        status = copy ? sonde_main(words.count, copy) : EXIT_FAILED;
        free(copy);
    }
    buf_clear(&message);
    names_clear(&words);
    return status;
}

static int main_named(int argc, char **argv)
{
    const struct names_entry *name = names_find(argc > 0 ? argv[0] : NULL);
    setlocale(LC_CTYPE, "");
    return name ? main_as(name, argc, argv) : sonde_main(argc, argv);
}

int main(int argc, char **argv)
{
    return stack_call(main_named, argc, argv);
}
