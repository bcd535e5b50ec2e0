/* Properties from the settings and from a file to librdkafka, which checks them. */
#include "transport/kafka_conf.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (64u << 10)

static enum err set(rd_kafka_conf_t *conf, const char *name, const char *value, char *why, size_t why_size)
{
    char reason[256];
    if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK)
        return OK;
    snprintf(why, why_size, "%s=%s: %s", name, strstr(name, "password") ? "***" : value, reason);
    return USAGE;
}

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size && strchr(" \t\r", text[size - 1]))
        text[--size] = '\0';
    return text;
}

/* "NAME=VALUE", parted by one of the characters in between. */
static enum err set_all(rd_kafka_conf_t *conf, char *text, const char *between, char *why, size_t why_size)
{
    enum err err = OK;
    char *rest = NULL;
    for (char *line = strtok_r(text, between, &rest); line && !err; line = strtok_r(NULL, between, &rest)) {
        char *name = trim(line), *equals = strchr(name, '=');
        if (!*name || *name == '#')
            continue;
        if (!equals) {
            snprintf(why, why_size, "'%.60s' is no property of librdkafka: write NAME=VALUE", name);
            return USAGE;
        }
        *equals = '\0';
        err = set(conf, trim(name), trim(equals + 1), why, why_size);
    }
    return err;
}

static enum err set_options(rd_kafka_conf_t *conf, const char *options, char *why, size_t why_size)
{
    char *copy = strdup(options);
    enum err err = copy ? set_all(conf, copy, ";", why, why_size) : NOMEM;
    free(copy);
    return err;
}

static enum err set_from_file(rd_kafka_conf_t *conf, const char *path, char *why, size_t why_size)
{
    char *text = malloc(TEXT_MAX);
    enum err err = text ? file_read("", path, text, TEXT_MAX, NULL) : NOMEM;
    if (err)
        snprintf(why, why_size, "cannot read %s: %s", path, err_text(err));
    else
        err = set_all(conf, text, "\n", why, why_size);
    free(text);
    return err;
}

/* In a setting a comma would end it: there a semicolon stands between brokers. */
static enum err set_brokers(rd_kafka_conf_t *conf, const char *brokers, char *why, size_t why_size)
{
    char *copy = strdup(brokers);
    if (!copy)
        return NOMEM;
    for (char *c = copy; *c; c++)
        if (*c == ';' || *c == ' ')
            *c = ',';
    enum err err = set(conf, "bootstrap.servers", copy, why, why_size);
    free(copy);
    return err;
}

enum err kafka_conf_new(rd_kafka_conf_t **conf, const struct kafka_conf_settings *settings, const char *const *defaults,
                        char *why, size_t why_size)
{
    enum err err = OK;
    *conf = rd_kafka_conf_new();
    for (; *defaults && !err; defaults += 2)
        err = set(*conf, defaults[0], defaults[1], why, why_size);
    if (!err)
        err = set_brokers(*conf, settings->brokers, why, why_size);
    if (!err && settings->config)
        err = set_from_file(*conf, settings->config, why, why_size);
    if (!err && settings->options)
        err = set_options(*conf, settings->options, why, why_size);
    if (err) {
        rd_kafka_conf_destroy(*conf);
        *conf = NULL;
    }
    return err;
}
