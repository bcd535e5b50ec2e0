/* When in doubt, it hides more: an '@' in a password is valid for some libraries, so the last one ends the password. */
#include "base/mask.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HIDDEN "***"
#define TEXT_MAX (64u << 10)
#define SPACE " \t\r\n"

static bool contains_nocase(struct bytes text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++)
        if (strncasecmp(text.data + i, word, size) == 0)
            return true;
    return false;
}

bool mask_is_secret(struct bytes key)
{
    static const char *const parts[] = { "password", "passwd", "passphrase", "secret", "token", "api_key", "apikey",
                                         "oauthbearer.config", "jaas.config", "key.pem" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (contains_nocase(key, parts[i]))
            return true;
    return bytes_equal_nocase(key, "p") || bytes_equal_nocase(key, "pwd"); /* p: InfluxDB */
}

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* A value of libpq may be quoted: 'it\'s'. */
static const char *end_of_value(const char *value, const char *end)
{
    const char *at = value;
    if (at == end || *at != '\'') {
        while (at < end && *at != '&' && !strchr(SPACE, *at))
            at++;
        return at;
    }
    for (at++; at < end && *at != '\''; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : end;
}

/* The value of a pair whose key ends before at, if there is one; NULL: this is no pair. */
static const char *value_after(const char *at, const char *end)
{
    while (at < end && strchr(SPACE, *at))
        at++;
    if (at == end || *at++ != '=')
        return NULL;
    while (at < end && strchr(SPACE, *at))
        at++;
    return at;
}

static void add_pairs(struct buf *out, const char *text, const char *end)
{
    while (text < end) {
        const char *key = text;
        while (text < end && is_key_char(*text))
            text++;
        const char *value = text > key ? value_after(text, end) : NULL;
        if (value && mask_is_secret((struct bytes){ key, (size_t)(text - key) })) {
            buf_add(out, key, (size_t)(value - key));
            buf_add_text(out, HIDDEN);
            text = end_of_value(value, end);
            continue;
        }
        text += text == key;
        buf_add(out, key, (size_t)(text - key));
    }
}

/* The end of a URL: white space, or the next URL of a list. */
static const char *end_of_url(const char *host)
{
    const char *end = host + strcspn(host, SPACE), *next = strstr(host, "://");
    if (!next || next >= end)
        return end;
    while (next > host && is_key_char(next[-1]))
        next--;
    return next;
}

static const char *add_url(struct buf *out, const char *host)
{
    const char *end = end_of_url(host), *at = memrchr(host, '@', (size_t)(end - host));
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (colon) {
        buf_add(out, host, (size_t)(colon + 1 - host));
        buf_add_text(out, HIDDEN);
        host = at;
    }
    add_pairs(out, host, end);
    return end;
}

void mask_add_text(struct buf *out, const char *text)
{
    for (const char *url; (url = strstr(text, "://"));) {
        add_pairs(out, text, url);
        buf_add_text(out, "://");
        text = add_url(out, url + 3);
    }
    add_pairs(out, text, text + strlen(text));
}

static void add_options(struct buf *out, const char *options)
{
    for (const char *next; *options; options = next) {
        next = options + strcspn(options, ";");
        const char *equals = memchr(options, '=', (size_t)(next - options));
        next += *next == ';';
        if (!equals || !mask_is_secret((struct bytes){ options, (size_t)(equals - options) })) {
            buf_add(out, options, (size_t)(next - options));
            continue;
        }
        buf_add(out, options, (size_t)(equals + 1 - options));
        buf_add_text(out, next[-1] == ';' ? HIDDEN ";" : HIDDEN);
    }
}

void mask_add_setting(struct buf *out, const char *key, const char *value)
{
    if (mask_is_secret(bytes_of(key)))
        buf_add_text(out, HIDDEN);
    else if (strcmp(key, "options") == 0)
        add_options(out, value);
    else
        mask_add_text(out, value);
}

void mask_add_settings(struct buf *out, const char *settings)
{
    char part[1024];
    for (size_t size; *settings; settings += size) {
        size = strcspn(settings, ",");
        snprintf(part, sizeof part, "%.*s", (int)size, settings);
        char *value = strchr(part, '=');
        if (value)
            *value++ = '\0';
        buf_add_text(out, part);
        if (value) {
            buf_add_char(out, '=');
            mask_add_setting(out, part, value);
        }
        if (settings[size] == ',')
            buf_add_char(out, settings[size++]);
    }
}

char *mask_copy(const char *text)
{
    struct buf masked;
    buf_init(&masked, TEXT_MAX);
    mask_add_text(&masked, text);
    char *copy = buf_err(&masked) ? NULL : strdup(buf_text(&masked));
    buf_clear(&masked);
    return copy;
}
