/* The man pages, from the same tables as cli/usage.c. Escapes text so that it never starts a roff request by
 * accident. */
#include "cli/man.h"

#include "cli/usage.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PAGES_DATE "2026-11-18" /* of the last change to the layout of the pages */

/* One or several lines; hyphens can be copied and pasted, backslashes are printed. */
static void add_roff(struct buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool line_begins = out->size == 0 || out->data[out->size - 1] == '\n';
        if (line_begins && (text[i] == '.' || text[i] == '\''))
            buf_add_text(out, "\\&");
        if (text[i] == '\\')
            buf_add_text(out, "\\e");
        else if (text[i] == '-')
            buf_add_text(out, "\\-");
        else
            buf_add_char(out, text[i]);
    }
}

static void add_text(struct buf *out, const char *text)
{
    add_roff(out, text, strlen(text));
}

static void section(struct buf *out, const char *title)
{
    buf_printf(out, ".SH %s\n", title);
}

static void begin(struct buf *out, const char *name, const char *about)
{
    buf_add_text(out, ".\\\" Generated from the command's own tables: sonde help --man\n.TH ");
    for (const char *c = name; *c; c++)
        buf_add_char(out, (char)toupper((unsigned char)*c));
    buf_printf(out, " 1 \"%s\" \"sonde %s\" \"Sonde\"\n", PAGES_DATE, SONDE_VERSION);
    section(out, "NAME");
    add_text(out, name);
    buf_add_text(out, " \\- ");
    add_text(out, about);
    buf_add_char(out, '\n');
}

/* Paragraphs that start with a space are not filled. */
static void description(struct buf *out, const char *text)
{
    for (bool first = true; *text; first = false) {
        const char *end = strstr(text, "\n\n");
        size_t size = end ? (size_t)(end - text) : strlen(text);
        bool verbatim = *text == ' ';
        if (!first)
            buf_add_text(out, ".PP\n");
        if (verbatim)
            buf_add_text(out, ".nf\n");
        add_roff(out, text, size);
        buf_add_char(out, '\n');
        if (verbatim)
            buf_add_text(out, ".fi\n");
        text += size + (end ? 2 : 0);
    }
}

static void term(struct buf *out, const char *text)
{
    buf_add_text(out, ".TP\n\\fB");
    add_text(out, text);
    buf_add_text(out, "\\fR\n");
}

static void facts(struct buf *out, const struct command_fact *list)
{
    for (; list && list->term; list++) {
        term(out, list->term);
        add_text(out, list->text);
        buf_add_char(out, '\n');
    }
}

static void option_term(struct buf *out, const struct option *o)
{
    buf_add_text(out, ".TP\n");
    if (o->letter)
        buf_printf(out, "\\fB\\-%c\\fR%s", o->letter, o->name ? ", " : "");
    if (o->name) {
        buf_add_text(out, "\\fB\\-\\-");
        add_text(out, o->name);
        buf_add_text(out, "\\fR");
    }
    if (o->argument)
        buf_printf(out, "%s\\fI%s\\fR", o->name ? "=" : " ", o->argument);
    buf_add_char(out, '\n');
}

static void options(struct buf *out, const struct option *list)
{
    for (; list && !option_is_end(list); list++) {
        if (list->hidden)
            continue;
        option_term(out, list);
        add_text(out, list->help);
        if (list->type == OPTION_CHOICE) {
            buf_add_text(out, ": ");
            option_add_choices(out, list->choices);
        }
        if (list->initial) {
            buf_add_text(out, " (default: ");
            add_text(out, list->initial);
            buf_add_char(out, ')');
        }
        buf_add_text(out, ".\n");
    }
}

static void examples(struct buf *out, const struct command_fact *list)
{
    if (!list)
        return;
    section(out, "EXAMPLES");
    facts(out, list);
}

static void see_also(struct buf *out, const char *names)
{
    struct bytes name;
    section(out, "SEE ALSO");
    buf_add_text(out, ".BR sonde (1)");
    for (int i = 0; names && (name = option_choice(names, i)).size; i++)
        buf_printf(out, ",\n.BR sonde\\-%.*s (1)", (int)name.size, name.data);
    buf_add_char(out, '\n');
}

void man_of(struct buf *out, const struct command *c)
{
    char name[64];
    struct option shared[COMMAND_SHARED_MAX];
    snprintf(name, sizeof name, "sonde-%s", c->name);
    command_shared_options(c->shares, shared);
    begin(out, name, c->about);
    section(out, "SYNOPSIS");
    buf_printf(out, ".B sonde %s\n", c->name);
    add_text(out, c->usage);
    buf_add_char(out, '\n');
    section(out, "DESCRIPTION");
    description(out, c->description);
    section(out, "OPTIONS");
    options(out, c->options);
    options(out, shared);
    if (c->environment || c->shares & COMMAND_DB) {
        section(out, "ENVIRONMENT");
        facts(out, c->environment);
        facts(out, c->shares & COMMAND_DB ? usage_environment : NULL);
    }
    section(out, "EXIT STATUS");
    facts(out, c->replaces_exits ? NULL : usage_exits);
    facts(out, c->exits);
    examples(out, c->examples);
    see_also(out, c->see_also);
}

void man_of_sonde(struct buf *out)
{
    begin(out, "sonde", "report what a job did: processes, threads, CPU time, memory, I/O");
    section(out, "SYNOPSIS");
    buf_add_text(out, ".B sonde\n[\\fB\\-\\-db\\fR \\fIPATH\\fR] [\\fB\\-v\\fR] \\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n");
    section(out, "DESCRIPTION");
    buf_add_text(out, "Sonde records every process and thread of a job, at almost no cost to the job. It saves the records in a\n"
                      "job database and summarizes them on the terminal.\n");
    section(out, "COMMANDS");
    for (const struct command *const *c = command_all; *c; c++)
        if (!(*c)->hidden) {
            buf_printf(out, ".TP\n.BR sonde\\-%s (1)\n", (*c)->name);
            add_text(out, (*c)->about);
            buf_add_text(out, ".\n");
        }
    section(out, "ENVIRONMENT");
    facts(out, usage_environment);
    section(out, "EXIT STATUS");
    facts(out, usage_exits);
    section(out, "EXAMPLES");
    static const struct command_fact first[] = {
        { "sonde run -- make -j4", "Record a command and all its descendants." },
        { "sonde report", "Show what it did." },
        { 0 },
    };
    facts(out, first);
    section(out, "SEE ALSO");
    buf_add_text(out, ".BR sonde\\-run (1),\n.BR sonde\\-report (1)\n");
}
