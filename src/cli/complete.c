/* One script per shell. What an argument is follows from its name in the table: FILE, PATH, DIR, JOB, VERB, COMMAND, or
 * its choices. Job ids come from the store, at the moment they are asked for. */
#include "cli/complete.h"

#include <string.h>

#define JOB_IDS "sonde list --ids --limit=100 2>/dev/null"

static bool is(const char *argument, const char *name)
{
    return argument && strcmp(argument, name) == 0;
}

static bool is_file(const char *argument)
{
    return is(argument, "FILE") || is(argument, "PATH");
}

static void for_commands(struct buf *out, void (*each)(struct buf *out, const struct command *command))
{
    for (const struct command *const *c = command_all; *c; c++)
        if (!(*c)->hidden)
            each(out, *c);
}

/* Calls each for the command's own options, then for those that it shares. */
static void for_options(struct buf *out, const struct command *command,
                        void (*each)(struct buf *out, const struct command *command, const struct option *option))
{
    struct option shared[COMMAND_SHARED_MAX];
    command_shared_options(command->shares, shared);
    for (const struct option *o = command->options; o && !option_at_end(o); o++)
        if (!o->hidden)
            each(out, command, o);
    for (const struct option *o = shared; !option_at_end(o); o++)
        each(out, command, o);
}

static void add_name(struct buf *out, const struct command *command)
{
    buf_printf(out, " %s", command->name);
}

/* ---- bash ---- */

static void bash_word(struct buf *out, const struct command *command, const struct option *o)
{
    (void)command;
    if (o->letter)
        buf_printf(out, " -%c", o->letter);
    if (o->name)
        buf_printf(out, " --%s%s", o->name, o->argument ? "=" : "");
}

static void bash_valued(struct buf *out, const struct command *command, const struct option *o)
{
    (void)command;
    if (o->argument && o->letter)
        buf_printf(out, " -%c", o->letter);
    if (o->argument && o->name)
        buf_printf(out, " --%s", o->name);
}

static const char *bash_kind(const char *argument)
{
    if (is_file(argument))
        return "file";
    if (is(argument, "DIR"))
        return "dir";
    if (is(argument, "JOB"))
        return "job";
    if (is(argument, "VERB"))
        return "verb";
    if (is(argument, "COMMAND"))
        return "command";
    return "none";
}

static void bash_value(struct buf *out, const struct command *command, const struct option *o)
{
    if (!o->argument)
        return;
    buf_add_text(out, "            ");
    if (o->letter)
        buf_printf(out, "%s:-%c%s", command->name, o->letter, o->name ? "|" : "");
    if (o->name)
        buf_printf(out, "%s:--%s", command->name, o->name);
    if (o->choices)
        buf_printf(out, ") kind=words words='%s' ;;\n", o->choices);
    else
        buf_printf(out, ") kind=%s ;;\n", bash_kind(o->argument));
}

static void bash_values(struct buf *out, const struct command *command)
{
    for_options(out, command, bash_value);
}

static void bash_command(struct buf *out, const struct command *c)
{
    buf_printf(out, "        %s) options='", c->name);
    for_options(out, c, bash_word);
    buf_add_text(out, "' valued='");
    for_options(out, c, bash_valued);
    if (is(c->operand, "SHELL"))
        buf_add_text(out, " ' kind=words words='bash zsh fish' ;;\n");
    else
        buf_printf(out, " ' kind=%s ;;\n", bash_kind(c->operand));
}

static const char bash_head[] =
    "# bash completion of sonde; made by 'sonde completion bash'\n"
    "_sonde()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local verb= i options= valued= kind=none words= first=0\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == = ]]; then cur=\n"
    "    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "            --db|--root) ((i++)) ;;\n"
    "            -*|=) ;;\n"
    "            *) verb=${COMP_WORDS[i]}; break ;;\n"
    "        esac\n"
    "    done\n"
    "    case $verb in\n"
    "        '') options=' --db= --help --root= --verbose --version' valued=' --db --root ' kind=verb ;;\n";

static const char bash_middle[] =
    "    esac\n"
    "    # where the first operand is: behind it, another command is completed\n"
    "    for ((i++; i < COMP_CWORD && !first; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "            --) first=$((i + 1)) ;;\n"
    "            =) ((i++)) ;;\n"
    "            -*) [[ $valued != *\" ${COMP_WORDS[i]} \"* || ${COMP_WORDS[i+1]} == = ]] || ((i++)) ;;\n"
    "            *) first=$i ;;\n"
    "        esac\n"
    "    done\n"
    "    if [[ $kind == command && $first -gt 0 ]]; then\n"
    "        if declare -F _command_offset >/dev/null; then _command_offset \"$first\"\n"
    "        elif [[ $first -eq $COMP_CWORD ]]; then COMPREPLY=($(compgen -c -- \"$cur\"))\n"
    "        else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
    "        return\n"
    "    fi\n"
    "    if [[ $cur == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
    "        [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null\n"
    "        return\n"
    "    fi\n"
    "    if [[ $valued == *\" $prev \"* ]]; then\n"
    "        case $verb:$prev in\n"
    "            :--db) kind=file ;;\n"
    "            :--root) kind=dir ;;\n";

static const char bash_tail[] =
    "    case $kind in\n"
    "        words) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
    "        file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
    "        dir) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\")) ;;\n"
    "        command) COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n"
    "        job) COMPREPLY=($(compgen -W \"$(" JOB_IDS ")\" -- \"$cur\")) ;;\n"
    "        verb) COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\")) ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _sonde sonde\n";

void complete_bash(struct buf *out)
{
    buf_add_text(out, bash_head);
    for_commands(out, bash_command);
    buf_add_text(out, bash_middle);
    for_commands(out, bash_values);
    buf_add_text(out, "        esac\n    fi\n    local verbs='");
    for_commands(out, add_name);
    buf_add_text(out, "'\n");
    buf_add_text(out, bash_tail);
}

/* ---- zsh ---- */

/* Text inside '…' and inside [ ] of _arguments. */
static void zsh_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_add_text(out, "'\\'");
        else if (strchr("[]:\\", *text))
            buf_add_char(out, '\\');
        buf_add_char(out, *text);
    }
}

static const char *zsh_action(const char *argument)
{
    if (is_file(argument))
        return "_files";
    if (is(argument, "DIR"))
        return "_files -/";
    if (is(argument, "JOB"))
        return "_sonde_jobs";
    if (is(argument, "VERB"))
        return "_sonde_verbs";
    return " ";
}

static void zsh_spec(struct buf *out, const struct option *o, char letter)
{
    const char *repeat = o->type == OPTION_LIST || o->type == OPTION_COUNT ? "*" : "";
    if (letter)
        buf_printf(out, "        '%s-%c%s[", repeat, letter, o->argument ? "+" : "");
    else
        buf_printf(out, "        '%s--%s%s[", repeat, o->name, o->argument ? "=" : "");
    zsh_text(out, o->help);
    buf_add_char(out, ']');
    if (o->choices)
        buf_printf(out, ":%s:(%s)", o->argument, o->choices);
    else if (o->argument)
        buf_printf(out, ":%s:%s", o->argument, zsh_action(o->argument));
    buf_add_text(out, "' \\\n");
}

static void zsh_option(struct buf *out, const struct command *command, const struct option *o)
{
    (void)command;
    if (o->letter)
        zsh_spec(out, o, o->letter);
    if (o->name)
        zsh_spec(out, o, 0);
}

static void zsh_command(struct buf *out, const struct command *c)
{
    buf_printf(out, "      %s) _arguments -s -S \\\n", c->name);
    for_options(out, c, zsh_option);
    if (is(c->operand, "COMMAND"))
        buf_add_text(out, "        '(-)1:command: _command_names -e' '*::argument:_normal' ;;\n");
    else if (is(c->operand, "SHELL"))
        buf_add_text(out, "        '1:shell:(bash zsh fish)' ;;\n");
    else if (c->operand)
        buf_printf(out, "        '%s:%s:%s' ;;\n", c->operands_max == 1 ? "1" : "*", c->operand, zsh_action(c->operand));
    else
        buf_add_text(out, "        && return ;;\n");
}

static void zsh_verb(struct buf *out, const struct command *c)
{
    buf_printf(out, "    '%s:", c->name);
    zsh_text(out, c->about);
    buf_add_text(out, "'\n");
}

void complete_zsh(struct buf *out)
{
    buf_add_text(out, "#compdef sonde\n"
                      "# zsh completion of sonde; made by 'sonde completion zsh'\n"
                      "_sonde_jobs() {\n"
                      "  local -a ids\n"
                      "  ids=(${(f)\"$(" JOB_IDS ")\"})\n"
                      "  compadd -a ids\n"
                      "}\n"
                      "_sonde_verbs() {\n"
                      "  local -a verbs\n"
                      "  verbs=(\n");
    for_commands(out, zsh_verb);
    buf_add_text(out, "  )\n"
                      "  _describe command verbs\n"
                      "}\n"
                      "_sonde() {\n"
                      "  local curcontext=$curcontext state line\n"
                      "  typeset -A opt_args\n"
                      "  _arguments -C '--db=[The job database]:PATH:_files' \\\n"
                      "    '--root=[Where /proc and /sys are]:DIR:_files -/' \\\n"
                      "    '*'{-v,--verbose}'[Tell more]' '--help[Show help]' '--version[Show the version]' \\\n"
                      "    '1:command:_sonde_verbs' '*::argument:->arguments'\n"
                      "  [[ $state == arguments ]] || return\n"
                      "  case $words[1] in\n");
    for_commands(out, zsh_command);
    buf_add_text(out, "  esac\n"
                      "}\n"
                      "if [[ $funcstack[1] == _sonde ]]; then _sonde \"$@\"; else compdef _sonde sonde; fi\n");
}

/* ---- fish ---- */

static void fish_text(struct buf *out, const char *text)
{
    buf_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, *text);
    }
    buf_add_char(out, '\'');
}

/* The part of a complete line that says what may stand there. */
static const char *fish_action(const char *argument)
{
    if (is_file(argument))
        return " -F";
    if (is(argument, "DIR"))
        return " -f -a '(__fish_complete_directories)'";
    if (is(argument, "JOB"))
        return " -f -a '(" JOB_IDS ")'";
    if (is(argument, "COMMAND"))
        return " -f -a '(__fish_complete_subcommand)'";
    if (is(argument, "SHELL"))
        return " -f -a 'bash zsh fish'";
    return " -f";
}

static void fish_option(struct buf *out, const struct command *command, const struct option *o)
{
    buf_printf(out, "complete -c sonde -n '__fish_seen_subcommand_from %s'", command->name);
    if (o->letter)
        buf_printf(out, " -s %c", o->letter);
    if (o->name)
        buf_printf(out, " -l %s", o->name);
    if (o->choices)
        buf_printf(out, " -x -a '%s'", o->choices);
    else if (o->argument)
        buf_printf(out, " -r%s", fish_action(o->argument));
    buf_add_text(out, " -d ");
    fish_text(out, o->help);
    buf_add_char(out, '\n');
}

static void fish_command(struct buf *out, const struct command *c)
{
    buf_printf(out, "complete -c sonde -n __fish_use_subcommand -f -a %s -d ", c->name);
    fish_text(out, c->about);
    buf_add_char(out, '\n');
    for_options(out, c, fish_option);
    if (is(c->operand, "VERB")) {
        buf_printf(out, "complete -c sonde -n '__fish_seen_subcommand_from %s' -f -a '", c->name);
        for_commands(out, add_name);
        buf_add_text(out, "'\n");
    } else
        buf_printf(out, "complete -c sonde -n '__fish_seen_subcommand_from %s'%s\n", c->name, fish_action(c->operand));
}

void complete_fish(struct buf *out)
{
    buf_add_text(out, "# fish completion of sonde; made by 'sonde completion fish'\n"
                      "complete -c sonde -f\n"
                      "complete -c sonde -n __fish_use_subcommand -l version -d 'Show the version'\n"
                      "complete -c sonde -n __fish_use_subcommand -l help -d 'Show help'\n");
    for_commands(out, fish_command);
}
