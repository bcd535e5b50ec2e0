/* Reads lines and passes them to a struct config_target.
 *
 *     # every second, but the disks every ten
 *     period = 1s
 *     [diskstats]
 *     period = 10s
 */
#include "base/config_file.h"

#include "base/clock.h"
#include "base/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size && isspace((unsigned char)text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

static bool is_comment(const char *text)
{
    return *text == '#' || *text == ';';
}

/* Everything between quotes is literal; two quotes stand for one. */
static char *clean_quoted(char *value, const char **fault)
{
    char *end = value;
    const char *at = value;
    for (; *at && (*at != '"' || at[1] == '"'); at++) {
        at += *at == '"';
        *end++ = *at;
    }
    const char *rest = *at ? at + 1 + strspn(at + 1, " \t") : "";
    if (!*at || (*rest && !is_comment(rest)))
        *fault = "missing closing quote";
    *end = '\0';
    return value;
}

/* A comment can follow a value after a space. */
static char *clean_value(char *value, const char **fault)
{
    value = trim(value);
    if (*value == '"')
        return clean_quoted(value + 1, fault);
    for (char *at = value; *at; at++)
        if (is_comment(at) && (at == value || at[-1] == ' ' || at[-1] == '\t'))
            *at = '\0';
    return trim(value);
}

static enum err set_pair(const struct config_target *target, const char *section, char *line, struct buf *error)
{
    const char *fault = NULL;
    char *equals = strchr(line, '=');
    if (!equals) {
        buf_printf(error, "'%.60s' is neither [SECTION] nor KEY = VALUE", line);
        return USAGE;
    }
    *equals = '\0';
    char *key = trim(line), *value = clean_value(equals + 1, &fault);
    if (!*key)
        fault = "missing key before '='";
    if (!fault && !*value && equals[1] != '"' && !strchr(equals + 1, '"'))
        fault = "missing value after '='";
    if (fault) {
        buf_add_text(error, fault);
        return USAGE;
    }
    return target->set(target->context, section, key, value, error);
}

/* *section points into the line. An unknown section is an error even if it is empty. */
static enum err begin_section(const struct config_target *target, char *line, const char **section, struct buf *error)
{
    char *end = strchr(line, ']');
    const char *rest = end ? end + 1 + strspn(end + 1, " \t") : "";
    if (!end || (*rest && !is_comment(rest))) {
        buf_printf(error, "invalid section '%.60s' (expected [NAME])", line);
        return USAGE;
    }
    *end = '\0';
    *section = trim(line + 1);
    return **section ? target->section(target->context, *section, error) : OK;
}

static enum err parse_line(const struct config_target *target, char *line, const char **section, struct buf *error)
{
    line = trim(line);
    if (!*line || is_comment(line))
        return OK;
    return *line == '[' ? begin_section(target, line, section, error) : set_pair(target, *section, line, error);
}

enum err config_file_parse(const struct config_target *target, const char *name, char *text, struct buf *error)
{
    struct buf reason;
    const char *section = "";
    enum err err = OK;
    buf_init(&reason, 4096);
    unsigned number = 1;
    for (char *line = text, *next; line && !err; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        err = parse_line(target, line, &section, &reason);
        if (err)
            buf_printf(error, "%s:%u: %s", name, number, reason.size ? buf_text(&reason) : err_text(err));
    }
    buf_clear(&reason);
    return err;
}

enum err config_file_read(const struct config_target *target, const char *path, struct buf *error)
{
    size_t got = 0;
    char *text = malloc(CONFIG_FILE_MAX);
    if (!text)
        return NOMEM;
    enum err err = file_read("", path, text, CONFIG_FILE_MAX, &got);
    if (err)
        buf_printf(error, "%s: %s", path, err_text(err));
    else if (got == CONFIG_FILE_MAX - 1 || strlen(text) != got) {
        buf_printf(error, "%s: not a configuration file (too large, or binary)", path);
        err = USAGE;
    } else
        err = config_file_parse(target, path, text, error);
    free(text);
    return err;
}

void config_file_add_duration(struct buf *out, uint64_t ns)
{
    uint64_t unit_ns = ns % NS_PER_S == 0 ? NS_PER_S : ns % NS_PER_MS == 0 ? NS_PER_MS : 1;
    buf_add_u64(out, ns / unit_ns);
    buf_add_text(out, unit_ns == NS_PER_S ? "s" : unit_ns == NS_PER_MS ? "ms" : "ns");
}

void config_file_add_quoted(struct buf *out, const char *value)
{
    buf_add_char(out, '"');
    for (; *value; value++)
        if (*value == '"')
            buf_add_text(out, "\"\"");
        else
            buf_add_char(out, *value);
    buf_add_char(out, '"');
}

void config_file_add_value(struct buf *out, const char *value)
{
    if (*value && !strpbrk(value, "#;\"") && !isspace((unsigned char)*value) && !isspace((unsigned char)value[strlen(value) - 1]))
        buf_add_text(out, value);
    else
        config_file_add_quoted(out, value);
}
