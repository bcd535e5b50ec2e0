/* Passes properties from the settings and from a file to librdkafka, which validates them. */
#include "transport/kafka_conf.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (64u << 10)

static enum err set(rd_kafka_conf_t *conf, const char *name, const char *value, char *error, size_t error_size)
{
    char reason[256];
    if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK)
        return OK;
    snprintf(error, error_size, "%s=%s: %s", name, strstr(name, "password") ? "***" : value, reason);
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

/* "NAME=VALUE" items separated by one of the characters of separators. */
static enum err set_all(rd_kafka_conf_t *conf, char *text, const char *separators, char *error, size_t error_size)
{
    enum err err = OK;
    char *rest = NULL;
    for (char *line = strtok_r(text, separators, &rest); line && !err; line = strtok_r(NULL, separators, &rest)) {
        char *name = trim(line), *equals = strchr(name, '=');
        if (!*name || *name == '#')
            continue;
        if (!equals) {
            snprintf(error, error_size, "'%.60s' is not a librdkafka property (expected NAME=VALUE)", name);
            return USAGE;
        }
        *equals = '\0';
        err = set(conf, trim(name), trim(equals + 1), error, error_size);
    }
    return err;
}

static enum err set_options(rd_kafka_conf_t *conf, const char *options, char *error, size_t error_size)
{
    char *copy = strdup(options);
    enum err err = copy ? set_all(conf, copy, ";", error, error_size) : NOMEM;
    free(copy);
    return err;
}

static enum err set_from_file(rd_kafka_conf_t *conf, const char *path, char *error, size_t error_size)
{
    char *text = malloc(TEXT_MAX);
    enum err err = text ? file_read("", path, text, TEXT_MAX, NULL) : NOMEM;
    if (err)
        snprintf(error, error_size, "cannot read %s: %s", path, err_text(err));
    else
        err = set_all(conf, text, "\n", error, error_size);
    free(text);
    return err;
}

/* In a setting a comma would end the value, so brokers are separated by semicolons there. */
static enum err set_brokers(rd_kafka_conf_t *conf, const char *brokers, char *error, size_t error_size)
{
    char *copy = strdup(brokers);
    if (!copy)
        return NOMEM;
    for (char *c = copy; *c; c++)
        if (*c == ';' || *c == ' ')
            *c = ',';
    enum err err = set(conf, "bootstrap.servers", copy, error, error_size);
    free(copy);
    return err;
}

enum err kafka_conf_new(rd_kafka_conf_t **conf, const struct kafka_conf_settings *settings, const char *const *defaults,
                        char *error, size_t error_size)
{
    enum err err = OK;
    *conf = rd_kafka_conf_new();
    for (; *defaults && !err; defaults += 2)
        err = set(*conf, defaults[0], defaults[1], error, error_size);
    if (!err)
        err = set_brokers(*conf, settings->brokers, error, error_size);
    if (!err && settings->config)
        err = set_from_file(*conf, settings->config, error, error_size);
    if (!err && settings->options)
        err = set_options(*conf, settings->options, error, error_size);
    if (err) {
        rd_kafka_conf_destroy(*conf);
        *conf = NULL;
    }
    return err;
}
