/* Parses one argument after the other. */
#include "compat/commands/foreign_options.h"

#include <stdio.h>
#include <string.h>

static const struct foreign_option *find_letter(const struct foreign_option *table, char letter)
{
    for (; table->name; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

/* Exact name or unique prefix. */
static const struct foreign_option *find_name(const struct foreign_option *table, const char *word, size_t size)
{
    const struct foreign_option *found = NULL;
    size_t count = 0;
    for (; table->name; table++) {
        if (strncmp(table->name, word, size) != 0)
            continue;
        if (!table->name[size])
            return table;
        found = table;
        count++;
    }
    return count == 1 ? found : NULL;
}

static const char *next_word(struct foreign_options *options)
{
    return options->at < options->argc ? options->argv[options->at] : NULL;
}

static bool is_number(const char *word)
{
    return word && *word && strspn(word, "0123456789") == strlen(word);
}

/* "-1" is a value, "-s" is not. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] && !is_number(word + 1);
}

static void take_list(struct foreign_options *options)
{
    size_t used = strlen(options->value);
    for (const char *word; (word = next_word(options)) && !is_option(word); options->at++) {
        int size = snprintf(options->value + used, sizeof options->value - used, "%s%s", used ? " " : "", word);
        used += size > 0 && (size_t)size < sizeof options->value - used ? (size_t)size : 0;
    }
}

static enum err take_value(struct foreign_options *options, const struct foreign_option *option, const char *attached,
                           struct buf *message)
{
    const char *word = next_word(options);
    snprintf(options->value, sizeof options->value, "%s", attached ? attached : "");
    options->whole = attached ? attached : word;
    if (option->kind == FOREIGN_FLAG && !attached) {
        bool is_given = word && (strcmp(word, "true") == 0 || strcmp(word, "false") == 0);
        snprintf(options->value, sizeof options->value, "%s", is_given ? word : "true");
        options->at += is_given;
    } else if (option->kind == FOREIGN_COUNT && !attached) {
        snprintf(options->value, sizeof options->value, "%s", is_number(word) ? word : "1");
        options->at += is_number(word);
    } else if (option->kind == FOREIGN_LIST)
        take_list(options);
    else if (option->kind == FOREIGN_VALUE && !attached) {
        if (!word) {
            buf_printf(message, "%s requires a value", option->name);
            return USAGE;
        }
        snprintf(options->value, sizeof options->value, "%s", word);
        options->at++;
    }
    return OK;
}

static enum err refuse(const struct foreign_option *option, const char *word, struct buf *message)
{
    if (option)
        buf_printf(message, "%s %s", option->name, option->refused);
    else
        buf_printf(message, "unknown option '%.100s'", word);
    return USAGE;
}

/* "-s5", "-s=5", "-vv" */
static enum err take_letter(struct foreign_options *options, const struct foreign_option *table, int *id, struct buf *message)
{
    const char *letters = options->letters;
    const struct foreign_option *option = find_letter(table, *letters);
    options->letters = NULL;
    if (!option || option->refused)
        return refuse(option, letters, message);
    *id = option->id;
    if (letters[1] && (option->kind == FOREIGN_FLAG || option->kind == FOREIGN_COUNT)) {
        options->letters = letters + 1;
        snprintf(options->value, sizeof options->value, "%s", option->kind == FOREIGN_FLAG ? "true" : "1");
        return OK;
    }
    return take_value(options, option, letters[1] ? letters + 1 + (letters[1] == '=') : NULL, message);
}

enum err foreign_options_next(struct foreign_options *options, const struct foreign_option *table, int *id, struct buf *message)
{
    if (options->letters)
        return take_letter(options, table, id, message);
    const char *word = next_word(options);
    if (!word)
        return GONE;
    options->at++;
    if (strcmp(word, "--") == 0)
        return GONE;
    if (word[0] != '-' || !word[1])
        return refuse(NULL, word, message);
    if (word[1] != '-') {
        options->letters = word + 1;
        return take_letter(options, table, id, message);
    }
    const char *equals = strchr(word, '=');
    const struct foreign_option *option = find_name(table, word, equals ? (size_t)(equals - word) : strlen(word));
    if (!option || option->refused)
        return refuse(option, word, message);
    *id = option->id;
    return take_value(options, option, equals ? equals + 1 : NULL, message);
}
