/* The --help pages: plain text, wrapped; terms on the left, their meanings on the right. */
#include "cli/usage.h"

#include "base/utf8.h"

#include <string.h>

#define WIDTH 79
#define INDENT 2
#define MEANING 26 /* column of the meanings of options and other terms */
#define ABOUT 14   /* column of the commands' summaries */

const struct command_fact usage_exits[] = {
    { "0", "Success." },
    { "1", "Failed; see the error message." },
    { "2", "Usage error." },
    { 0 },
};

const struct command_fact usage_environment[] = {
    { "SONDE_DB", "The job database: a file or a postgresql:// URL. Default: $XDG_DATA_HOME/sonde/sonde.db, else "
      "~/.local/share/sonde/sonde.db." },
    { 0 },
};

static void pad(struct buf *out, size_t from, size_t to)
{
    for (; from < to; from++)
        buf_add_char(out, ' ');
}

static size_t columns(const char *text, size_t size)
{
    return utf8_columns((struct bytes){ text, size }, true);
}

/* Wraps one paragraph, starting at column at; further lines start at column indent. */
static void wrap(struct buf *out, const char *text, size_t size, size_t at, size_t indent)
{
    bool first = true;
    const char *end = text + size;
    while (text < end) {
        size_t word = strcspn(text, " \n");
        if (word > (size_t)(end - text))
            word = (size_t)(end - text);
        size_t wide = columns(text, word);
        if (!first && at + 1 + wide > WIDTH) {
            buf_add_char(out, '\n');
            pad(out, 0, indent);
            at = indent;
        } else if (!first) {
            buf_add_char(out, ' ');
            at++;
        }
        buf_add(out, text, word);
        at += wide;
        first = false;
        text += word;
        while (text < end && (*text == ' ' || *text == '\n'))
            text++;
    }
    buf_add_char(out, '\n');
}

static void heading(struct buf *out, const char *title)
{
    buf_printf(out, "\n%s\n", title);
}

/* A term and its meaning, on the next line if the term is too long. */
static void fact(struct buf *out, const char *term, size_t column, const char *meaning)
{
    size_t at = INDENT + columns(term, strlen(term));
    pad(out, 0, INDENT);
    buf_add_text(out, term);
    if (at + 2 > column) {
        buf_add_char(out, '\n');
        at = 0;
    }
    pad(out, at, column);
    wrap(out, meaning, strlen(meaning), column, column);
}

static void facts(struct buf *out, const struct command_fact *list)
{
    for (; list && list->term; list++)
        fact(out, list->term, MEANING, list->text);
}

/* Paragraphs that start with a space are printed as they are, the others are wrapped. */
static void description(struct buf *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t size = end ? (size_t)(end - text) : strlen(text);
        if (*text == ' ') {
            buf_add(out, text, size);
            buf_add_char(out, '\n');
        } else
            wrap(out, text, size, 0, 0);
        text += size;
        if (end) {
            buf_add_char(out, '\n');
            text += 2;
        }
    }
}

static void one_option(struct buf *out, const struct option *o)
{
    struct buf term, meaning;
    buf_init(&term, 256);
    buf_init(&meaning, 4096);
    if (o->letter)
        buf_printf(&term, "-%c%s", o->letter, o->name ? ", " : "");
    else
        buf_add_text(&term, "    ");
    if (o->name)
        buf_printf(&term, "--%s", o->name);
    if (o->argument)
        buf_printf(&term, "%s%s", o->name ? "=" : " ", o->argument);
    buf_add_text(&meaning, o->help);
    if (o->type == OPTION_CHOICE) {
        buf_add_text(&meaning, ": ");
        option_add_choices(&meaning, o->choices);
    }
    if (o->initial)
        buf_printf(&meaning, " (default: %s)", o->initial);
    fact(out, buf_text(&term), MEANING, buf_text(&meaning));
    buf_clear(&term);
    buf_clear(&meaning);
}

static void options(struct buf *out, const struct option *list)
{
    for (; list && !option_is_end(list); list++)
        if (!list->hidden)
            one_option(out, list);
}

static void examples(struct buf *out, const struct command_fact *list)
{
    if (!list)
        return;
    heading(out, "Examples:");
    for (; list->term; list++) {
        buf_printf(out, "  %s\n", list->term);
        pad(out, 0, 6);
        wrap(out, list->text, strlen(list->text), 6, 6);
    }
}

static void see_also(struct buf *out, const char *names)
{
    if (!names)
        return;
    heading(out, "See also:");
    struct bytes name;
    struct buf text;
    buf_init(&text, 1024);
    for (int i = 0; (name = option_choice(names, i)).size; i++)
        buf_printf(&text, "%ssonde-%.*s(1)", i ? ", " : "", (int)name.size, name.data);
    pad(out, 0, INDENT);
    wrap(out, buf_text(&text), text.size, INDENT, INDENT);
    buf_clear(&text);
}

void usage_of(struct buf *out, const struct command *c)
{
    struct option shared[COMMAND_SHARED_MAX];
    command_shared_options(c->shares, shared);
    buf_printf(out, "Usage: sonde %s %s\n\n", c->name, c->usage);
    description(out, c->description);
    heading(out, "Options:");
    options(out, c->options);
    options(out, shared);
    examples(out, c->examples);
    if (c->environment || c->shares & COMMAND_DB) {
        heading(out, "Environment:");
        facts(out, c->environment);
        facts(out, c->shares & COMMAND_DB ? usage_environment : NULL);
    }
    heading(out, "Exit status:");
    facts(out, c->replaces_exits ? NULL : usage_exits);
    facts(out, c->exits);
    see_also(out, c->see_also);
}

void usage_of_sonde(struct buf *out)
{
    buf_add_text(out, "Usage: sonde [--db PATH] [-v] COMMAND [OPTIONS] ...\n\n"
                      "Sonde reports what a job did: every process and thread, their CPU time, memory\n"
                      "and I/O, at almost no cost to the job.\n");
    heading(out, "Commands:");
    for (const struct command *const *c = command_all; *c; c++)
        if (!(*c)->hidden)
            fact(out, (*c)->name, ABOUT, (*c)->about);
    heading(out, "Getting started:");
    buf_add_text(out, "  sonde run -- make -j4   record a command and all its descendants\n"
                      "  sonde report            show what it did\n"
                      "\nSee 'sonde help COMMAND' for details; 'sonde --version' prints the version.\n");
}
