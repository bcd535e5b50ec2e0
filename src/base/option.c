/* Parses argv against one or two tables of options. */
#include "base/option.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const struct option_set *sets;
    size_t set_count;
    int argc, at;
    char **argv;
    struct buf *message;
};

/* A row, the settings that it writes to, and the option as it was typed ("--period", "-p"). */
struct match {
    const struct option *option;
    char *settings;
    char typed[64];
};

bool option_is_end(const struct option *option)
{
    return !option->letter && !option->name;
}

struct bytes option_choice(const char *choices, int i)
{
    while (*choices && i-- > 0) {
        choices += strcspn(choices, " ");
        choices += *choices == ' ';
    }
    return (struct bytes){ choices, strcspn(choices, " ") };
}

void option_add_choices(struct buf *out, const char *choices)
{
    struct bytes word;
    for (int i = 0; (word = option_choice(choices, i)).size; i++)
        buf_printf(out, "%s%.*s", i ? ", " : "", (int)word.size, word.data);
}

static void add_quoted(struct buf *message, const char *value)
{
    buf_add_char(message, '\'');
    utf8_add_fit(message, bytes_of(value), 60, true);
    buf_add_char(message, '\'');
}

static enum err append(const char ***list, const char *value)
{
    size_t count = 0;
    while (*list && (*list)[count])
        count++;
    if (array_resize(*list, count + 2))
        return NOMEM;
    (*list)[count] = value;
    (*list)[count + 1] = NULL;
    return OK;
}

static enum err choose(const char *choices, const char *value, int *index)
{
    struct bytes word;
    for (int i = 0; (word = option_choice(choices, i)).size; i++)
        if (bytes_equal(word, bytes_of(value))) {
            *index = i;
            return OK;
        }
    return USAGE;
}

static enum err within(const struct option *option, uint64_t number, uint64_t *to)
{
    if (number < option->min || (option->max && number > option->max))
        return USAGE;
    *to = number;
    return OK;
}

static enum err set_value(const struct option *option, char *settings, const char *value)
{
    void *to = settings + option->offset;
    uint64_t number = 0;
    enum err err = OK;
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return OK;
    case OPTION_COUNT:
        ++*(int *)to;
        return OK;
    case OPTION_TEXT:
        *(const char **)to = value;
        return OK;
    case OPTION_LIST:
        return append(to, value);
    case OPTION_CHOICE:
        return choose(option->choices, value, to);
    case OPTION_TIME:
        return parse_time(value, clock_realtime_ns(), to);
    case OPTION_U64:
        err = parse_u64(value, &number);
        break;
    case OPTION_DURATION:
        err = parse_duration(value, &number);
        break;
    }
    return err ? err : within(option, number, to);
}

void option_defaults(const struct option_set *set)
{
    for (const struct option *o = set->options; !option_is_end(o); o++)
        if (o->initial)
            set_value(o, set->settings, o->initial);
}

void option_clear(const struct option_set *set)
{
    for (const struct option *o = set->options; !option_is_end(o); o++)
        if (o->type == OPTION_LIST) {
            const char ***list = (const char ***)((char *)set->settings + o->offset);
            free(*list);
            *list = NULL;
        }
}

/* As one would type it: "10ms", "1d". */
static void add_duration(struct buf *message, uint64_t ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        { "d", 86400 * NS_PER_S }, { "h", 3600 * NS_PER_S }, { "min", 60 * NS_PER_S }, { "s", NS_PER_S },
        { "ms", NS_PER_MS },       { "us", NS_PER_US },      { "ns", 1 },
    };
    size_t unit = 0;
    while (ns % units[unit].ns)
        unit++;
    buf_printf(message, "%llu%s", (unsigned long long)(ns / units[unit].ns), units[unit].name);
}

static void add_count(struct buf *message, uint64_t number)
{
    buf_add_text(message, format_count(number).s);
}

/* False: the option has no limits. */
static bool add_range(struct buf *message, const struct option *option, void (*add)(struct buf *message, uint64_t value))
{
    if (!option->min && !option->max)
        return false;
    if (!option->max)
        buf_add_text(message, "at least ");
    else if (!option->min)
        buf_add_text(message, "at most ");
    if (option->min)
        add(message, option->min);
    if (option->min && option->max)
        buf_add_text(message, " to ");
    if (option->max)
        add(message, option->max);
    return true;
}

static void add_expected(struct buf *message, const struct option *option)
{
    switch (option->type) {
    case OPTION_FLAG:
    case OPTION_COUNT:
    case OPTION_TEXT:
    case OPTION_LIST:
        buf_add_text(message, option->argument ? option->argument : "no value");
        break;
    case OPTION_U64:
        if (!add_range(message, option, add_count))
            buf_add_text(message, "a whole number");
        break;
    case OPTION_DURATION:
        if (!add_range(message, option, add_duration))
            buf_add_text(message, "a duration such as 1s or 250ms");
        break;
    case OPTION_TIME:
        buf_add_text(message, "a time such as '2 hours ago', yesterday, 2026-11-15 or '2026-11-15 08:30'");
        break;
    case OPTION_CHOICE:
        option_add_choices(message, option->choices);
        break;
    }
}

static enum err invalid_value(struct parser *p, const struct match *match, const char *value)
{
    buf_add_text(p->message, "invalid value ");
    add_quoted(p->message, value);
    if (match->option->name)
        buf_printf(p->message, " for --%s (expected ", match->option->name);
    else
        buf_printf(p->message, " for %s (expected ", match->typed);
    add_expected(p->message, match->option);
    buf_add_char(p->message, ')');
    return USAGE;
}

static enum err take_value(struct parser *p, const struct match *match, const char *value)
{
    enum err err = set_value(match->option, match->settings, value);
    if (err == NOMEM)
        buf_add_text(p->message, "out of memory");
    return err == USAGE ? invalid_value(p, match, value) : err;
}

static bool find(struct parser *p, char letter, const char *name, size_t name_size, struct match *match)
{
    for (size_t s = 0; s < p->set_count; s++)
        for (const struct option *o = p->sets[s].options; !option_is_end(o); o++)
            if (name ? o->name && strlen(o->name) == name_size && memcmp(o->name, name, name_size) == 0
                     : letter && o->letter == letter) {
                match->option = o;
                match->settings = p->sets[s].settings;
                return true;
            }
    return false;
}

static enum err unknown_long(struct parser *p, const char *name, size_t size)
{
    char word[64] = "";
    memcpy(word, name, size < sizeof word ? size : sizeof word - 1);
    struct nearest nearest = nearest_to(word);
    for (size_t s = 0; s < p->set_count; s++)
        for (const struct option *o = p->sets[s].options; !option_is_end(o); o++)
            if (o->name && !o->hidden)
                nearest_try(&nearest, o->name);
    buf_add_text(p->message, "unknown option '--");
    utf8_add_fit(p->message, bytes_of(word), 60, true);
    buf_add_char(p->message, '\'');
    if (nearest.best)
        buf_printf(p->message, "; did you mean --%s?", nearest.best);
    return USAGE;
}

static bool takes_value(const struct option *option)
{
    return option->type != OPTION_FLAG && option->type != OPTION_COUNT;
}

/* The value is the next argument. */
static enum err take_next(struct parser *p, const struct match *match)
{
    if (p->at >= p->argc) {
        buf_printf(p->message, "missing %s after %s", match->option->argument ? match->option->argument : "value", match->typed);
        return USAGE;
    }
    return take_value(p, match, p->argv[p->at++]);
}

static enum err parse_long(struct parser *p, const char *word)
{
    struct match match;
    size_t size = strcspn(word, "=");
    const char *value = word[size] == '=' ? word + size + 1 : NULL;
    if (!find(p, 0, word, size, &match))
        return unknown_long(p, word, size);
    snprintf(match.typed, sizeof match.typed, "--%s", match.option->name);
    if (!takes_value(match.option) && value) {
        buf_printf(p->message, "%s takes no value", match.typed);
        return USAGE;
    }
    if (!takes_value(match.option) || value)
        return take_value(p, &match, value);
    return take_next(p, &match);
}

static enum err unknown_letter(struct parser *p, const char *at)
{
    uint32_t code;
    size_t size = utf8_next(bytes_of(at), &code);
    buf_add_text(p->message, "unknown option '-");
    utf8_add_safe(p->message, (struct bytes){ at, size ? size : 1 }, true);
    buf_add_char(p->message, '\'');
    return USAGE;
}

/* "-vj", "-p1s", "-p": letters until one takes a value. */
static enum err parse_letters(struct parser *p, const char *letters)
{
    for (; *letters; letters++) {
        struct match match;
        if (!find(p, *letters, NULL, 0, &match))
            return unknown_letter(p, letters);
        snprintf(match.typed, sizeof match.typed, "-%c", *letters);
        if (takes_value(match.option))
            return letters[1] ? take_value(p, &match, letters + 1) : take_next(p, &match);
        enum err err = take_value(p, &match, NULL);
        if (err)
            return err;
    }
    return OK;
}

/* Moves the rest after the operands found so far. */
static void take_rest(struct parser *p, int *operands)
{
    while (p->at < p->argc)
        p->argv[(*operands)++] = p->argv[p->at++];
}

enum err option_parse(const struct option_set *sets, size_t set_count, int argc, char **argv, bool first_operand_ends,
                      int *operands, struct buf *message)
{
    struct parser p = { .sets = sets, .set_count = set_count, .argc = argc, .argv = argv, .message = message };
    *operands = 0;
    while (p.at < argc) {
        char *word = argv[p.at++];
        enum err err = OK;
        if (strcmp(word, "--") == 0)
            take_rest(&p, operands);
        else if (strncmp(word, "--", 2) == 0)
            err = parse_long(&p, word + 2);
        else if (word[0] == '-' && word[1])
            err = parse_letters(&p, word + 1);
        else {
            argv[(*operands)++] = word;
            if (first_operand_ends)
                take_rest(&p, operands);
        }
        if (err)
            return err;
    }
    argv[*operands] = NULL;
    return OK;
}
