/* Parses labels, commas and quotes. */
#include "report/metric_names.h"

#include "api/schema.h"
#include "appmetrics/metric_name.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES (1u << 20)

/* Returns the position after a quoted value. */
static const char *after_quoted(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at ? at + 1 : at;
}

void metric_names_quote(struct buf *out, const char *name)
{
    const char *brace = strchr(name, '{'), *at = brace ? brace + 1 : name + strlen(name);
    buf_add(out, name, (size_t)(at - name));
    while (*at) {
        size_t label = strcspn(at, "=");
        buf_add(out, at, label + (at[label] == '='));
        at += label + (at[label] == '=');
        const char *end = *at == '"' ? after_quoted(at) : at + strcspn(at, ",}");
        if (*at && *at != '"') {
            buf_add_char(out, '"');
            buf_add(out, at, (size_t)(end - at));
            buf_add_char(out, '"');
        } else {
            buf_add(out, at, (size_t)(end - at));
        }
        at = end;
        if (*at)
            buf_add_char(out, *at++);
    }
}

static char *quoted(const char *name)
{
    struct buf text;
    buf_init(&text, NAME_MAX_BYTES);
    metric_names_quote(&text, name);
    char *copy = buf_err(&text) ? NULL : strdup(buf_text(&text));
    buf_clear(&text);
    return copy;
}

char **metric_names_quoted(char *const *names, int count)
{
    char **copies = calloc((size_t)count + 1, sizeof *copies);
    for (int i = 0; copies && i < count; i++) {
        copies[i] = quoted(names[i]);
        if (!copies[i])
            metric_names_free(&copies);
    }
    return copies;
}

void metric_names_free(char ***names)
{
    for (char **at = *names; at && *at; at++)
        free(*at);
    free(*names);
    *names = NULL;
}

bool metric_names_next(const char **rest, struct buf *name)
{
    buf_reset(name);
    while (**rest == ',')
        ++*rest;
    const char *begin = *rest, *at = begin;
    bool is_inside = false;
    for (; *at && (*at != ',' || is_inside); at++) {
        if (*at == '"' && is_inside)
            at = after_quoted(at) - 1;
        else if (*at == '{' || *at == '}')
            is_inside = *at == '{';
    }
    *rest = at;
    buf_add(name, begin, (size_t)(at - begin));
    return at > begin;
}

bool metric_names_is_pattern(const char *name)
{
    return strpbrk(name, "*?") != NULL;
}

/* Brackets and backslashes have no special meaning here, since labels contain them. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text)
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* Could name be another spelling of the metric: the same base name, or all of it in one label? */
static bool may_be_same(const char *name, const char *metric)
{
    const char *labels = strchr(metric, '{');
    size_t base = labels ? (size_t)(labels - metric) : 0;
    return labels && ((strncmp(name, metric, base) == 0 && name[base] == '{') || strncmp(labels, "{program_name=", 14) == 0);
}

/* The agent sorts labels, and puts names that Prometheus does not allow into a label. */
static bool is_same_in_form(const char *name, const char *metric)
{
    struct metric_name form;
    if (!may_be_same(name, metric))
        return false;
    metric_name_init(&form);
    bool is_same = metric_name_parse(&form, bytes_of(name)) == OK && strcmp(buf_text(&form.text), metric) == 0;
    metric_name_clear(&form);
    return is_same;
}

bool metric_names_match(const char *name, const char *metric)
{
    size_t size = strlen(name);
    if (strcmp(name, metric) == 0 || (strncmp(name, metric, size) == 0 && metric[size] == '{'))
        return true;
    return metric_names_is_pattern(name) ? matches(name, metric) : is_same_in_form(name, metric);
}

void metric_names_add_query(struct buf *out, const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:";
    buf_add_text(out, API_QUERY_NAME "=");
    for (; *name; name++)
        if (strchr(plain, *name))
            buf_add_char(out, *name);
        else
            buf_printf(out, "%%%02X", (unsigned)(unsigned char)*name);
}
