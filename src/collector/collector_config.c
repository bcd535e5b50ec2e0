/* One table: key, type, and offset in struct collector_config. */
#include "collector/collector_config.h"

#include "base/config_file.h"
#include "base/mask.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "collector/kafka_port.h"
#include "compat/ldms/producer.h"
#include "transport/address.h"
#include "transport/keys.h"
#include "transport/uplink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_JOURNAL "/var/lib/sonde/journal"

enum config_kind { TEXT, PRODUCER, KAFKA, ADDRESS, LIST, ADDRESS_LIST, FLAG, BYTES, DURATION, NUMBER, SINK };

static const struct config_key {
    const char *key;
    enum config_kind kind;
    size_t offset;
} names[] = {
#define AT(field) offsetof(struct collector_config, field)
    { "listen", ADDRESS_LIST, AT(listen) },
    { "key", TEXT, AT(key) },
    { "allow", TEXT, AT(allow) },
    { "plain", FLAG, AT(plain) },
    { "plain-network", FLAG, AT(plain_network) },
    { "munge", FLAG, AT(munge) },
    { "journal", TEXT, AT(journal) },
    { "journal-size", BYTES, AT(journal_bytes) },
    { "journal-age", DURATION, AT(journal_age_ns) },
    { "sink", SINK, AT(sinks) },
    { "http", TEXT, AT(http) },
    { "socket", TEXT, AT(socket) },
    { "upstream", ADDRESS_LIST, AT(upstream) },
    { "upstream-key", LIST, AT(upstream_keys) },
    { "rollup", DURATION, AT(rollup_ns) },
    { "colmet", ADDRESS, AT(colmet) },
    { "http-munge", FLAG, AT(http_munge) },
    { "producer", PRODUCER, AT(producer) },
    { "from-kafka", KAFKA, AT(kafka) },
    { "series", NUMBER, AT(series) },
#undef AT
};

void collector_config_init(struct collector_config *config)
{
    *config = (struct collector_config){ 0 };
}

static void clear_list(struct collector_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->strings[i]);
    *list = (struct collector_list){ 0 };
}

void collector_config_clear(struct collector_config *config)
{
    clear_list(&config->listen);
    clear_list(&config->upstream);
    clear_list(&config->upstream_keys);
    for (size_t i = 0; i < config->sink_count; i++)
        sink_choice_clear(&config->sinks[i]);
    free(config->key);
    free(config->allow);
    free(config->journal);
    free(config->http);
    free(config->socket);
    free(config->colmet);
    free(config->producer);
    free(config->kafka);
    *config = (struct collector_config){ 0 };
}

static enum err set_string(char **text, const char *value)
{
    char *copy = *value ? strdup(value) : NULL;
    if (*value && !copy)
        return NOMEM;
    free(*text);
    *text = copy;
    return OK;
}

static enum err add_string(struct collector_list *list, const char *key, const char *value, struct buf *error)
{
    if (list->count == COLLECTOR_LIST_MAX) {
        buf_printf(error, "too many values for %s (maximum %d)", key, COLLECTOR_LIST_MAX);
        return USAGE;
    }
    list->strings[list->count] = strdup(value);
    if (!list->strings[list->count])
        return NOMEM;
    list->count++;
    return OK;
}

static enum err check_address(const char *key, const char *value, struct buf *error)
{
    char address[ADDRESS_MAX];
    if (!address_normalize(value, UPLINK_PORT, address))
        return OK;
    buf_printf(error, "invalid %s '%.60s' (expected an address such as tcp://10.0.0.1:5555)", key, value);
    return USAGE;
}

static enum err add_address(struct collector_list *list, const char *key, const char *value, struct buf *error)
{
    char address[ADDRESS_MAX];
    enum err err = address_normalize(value, UPLINK_PORT, address);
    return err ? err : add_string(list, key, address, error);
}

static enum err add_sink(struct collector_config *config, const char *value, struct buf *error)
{
    if (config->sink_count == COLLECTOR_LIST_MAX) {
        buf_printf(error, "too many sinks (maximum %d)", COLLECTOR_LIST_MAX);
        return USAGE;
    }
    enum err err = sink_choice_parse(&config->sinks[config->sink_count], value, error);
    config->sink_count += err ? 0 : 1;
    return err;
}

static enum err set_flag(bool *flag, const char *key, const char *value, struct buf *error)
{
    static const struct setting table[] = { { "flag", SETTING_FLAG }, { 0 } };
    if (!setting_apply(table, flag, "flag", value))
        return OK;
    buf_printf(error, "invalid %s '%.60s' (expected yes or no)", key, value);
    return USAGE;
}

static enum err set_number(uint64_t *number, const struct config_key *name, const char *value, struct buf *error)
{
    static const char *const forms[] = {
        [BYTES] = "a size such as 512M or 1GiB", [DURATION] = "a duration such as 60s or 7d", [NUMBER] = "a number",
    };
    enum err err = name->kind == BYTES ? parse_bytes(value, number)
                   : name->kind == DURATION ? parse_duration(value, number) : parse_u64(value, number);
    if (err)
        buf_printf(error, "invalid %s '%.60s' (expected %s)", name->key, value, forms[name->kind]);
    return err;
}

static enum err set(struct collector_config *config, const struct config_key *name, const char *value, struct buf *error)
{
    void *field = (char *)config + name->offset;
    enum err err = OK;
    switch (name->kind) {
    case ADDRESS:
    case ADDRESS_LIST:
        err = check_address(name->key, value, error);
        if (err)
            return err;
        return name->kind == ADDRESS ? set_string(field, value) : add_address(field, name->key, value, error);
    case LIST: return add_string(field, name->key, value, error);
    case FLAG: return set_flag(field, name->key, value, error);
    case SINK: return add_sink(config, value, error);
    case TEXT: return set_string(field, value);
    case PRODUCER:
        err = ldms_producer_check(value, error);
        return err ? err : set_string(field, value);
    case KAFKA:
        err = kafka_port_check(value, error);
        return err ? err : set_string(field, value);
    default: return set_number(field, name, value, error);
    }
}

enum err collector_config_set(struct collector_config *config, const char *key, const char *value, struct buf *error)
{
    struct nearest nearest = nearest_to(key);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].key, key) == 0)
            return set(config, &names[i], value, error);
        nearest_try(&nearest, names[i].key);
    }
    buf_printf(error, "unknown key '%.60s'", key);
    if (nearest.best)
        buf_printf(error, "; did you mean '%s'?", nearest.best);
    return USAGE;
}

void collector_config_clear_list(struct collector_config *config, const char *key)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].key, key) == 0 && (names[i].kind == LIST || names[i].kind == ADDRESS_LIST))
            clear_list((struct collector_list *)((char *)config + names[i].offset));
}

static enum err begin_section(void *context, const char *section, struct buf *error)
{
    (void)context;
    if (strcmp(section, "collect") == 0)
        return OK;
    buf_printf(error, "unknown section [%.60s] (expected [collect])", section);
    return USAGE;
}

static enum err set_line(void *context, const char *section, const char *key, const char *value, struct buf *error)
{
    (void)section;
    return collector_config_set(context, key, value, error);
}

enum err collector_config_read(struct collector_config *config, const char *path, struct buf *error)
{
    return config_file_read(&(struct config_target){ begin_section, set_line, config }, path, error);
}

static enum err default_journal(struct collector_config *config, struct buf *error)
{
    char path[4096];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (geteuid() == 0)
        return set_string(&config->journal, SYSTEM_JOURNAL);
    int size = state && *state == '/' ? snprintf(path, sizeof path, "%s/sonde/journal", state)
               : home && *home == '/' ? snprintf(path, sizeof path, "%s/.local/state/sonde/journal", home) : -1;
    if (size > 0 && (size_t)size < sizeof path)
        return set_string(&config->journal, path);
    buf_add_text(error, "no default directory for the journal; set --journal DIR");
    return USAGE;
}

/* Unencrypted connections are only accepted from this node, unless plain-network allows others. */
static enum err check_plain(const struct collector_config *config, struct buf *error)
{
    for (size_t i = 0; config->plain && !config->plain_network && i < config->listen.count; i++) {
        const char *address = config->listen.strings[i];
        if (address_is_local(address))
            continue;
        buf_printf(error,
                   "plain: connections to %s would be neither encrypted nor authenticated. Listen on tcp://127.0.0.1:5555, "
                   "create keys with 'sonde keygen', or set plain-network too", address);
        return USAGE;
    }
    if (!config->plain || (!config->key && !config->allow))
        return OK;
    buf_add_text(error, "plain and keys cannot be combined; set only one of them");
    return USAGE;
}

static enum err check_upstream(const struct collector_config *config, struct buf *error)
{
    if (config->upstream_keys.count > 1 && config->upstream_keys.count != config->upstream.count) {
        buf_printf(error, "%zu upstream but %zu upstream-key: set one key for all, or one for each",
                   config->upstream.count, config->upstream_keys.count);
        return USAGE;
    }
    if (config->upstream.count && !config->plain && !config->upstream_keys.count) {
        buf_add_text(error, "upstream requires upstream-key, the public key of that collector, or plain");
        return USAGE;
    }
    if (config->rollup_ns && !config->upstream.count) {
        buf_add_text(error, "rollup requires upstream");
        return USAGE;
    }
    return OK;
}

static enum err fill_in(struct collector_config *config, struct buf *error)
{
    /* a collector that consumes from Kafka does not need to listen */
    enum err err = config->listen.count || config->kafka ? OK : add_string(&config->listen, "listen", COLLECTOR_LISTEN,
                                                                           error);
    if (!err && !config->journal)
        err = default_journal(config, error);
    if (!err && !config->http)
        err = set_string(&config->http, COLLECTOR_HTTP);
    if (!err && !config->sink_count && !config->upstream.count)
        err = add_sink(config, "store", error);
    return err;
}

static enum err default_key(char **text, const char *name, struct buf *error)
{
    char path[KEYS_PATH_MAX];
    if (!keys_path(name, path))
        return set_string(text, path);
    buf_printf(error, "no default directory for %s; set its path", name);
    return USAGE;
}

enum err collector_config_finish(struct collector_config *config, struct buf *error)
{
    enum err err = fill_in(config, error);
    if (!err)
        err = check_plain(config, error);
    if (!err)
        err = check_upstream(config, error);
    if (!config->listen.count && !config->upstream.count)
        return err;
    if (!err && !config->plain && !config->key)
        err = default_key(&config->key, COLLECTOR_KEY, error);
    if (!err && !config->plain && !config->allow)
        err = default_key(&config->allow, COLLECTOR_ALLOW, error);
    return err;
}

static void write_string(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "%s = ", key);
    config_file_add_quoted(out, text);
    buf_add_char(out, '\n');
}

static void write_kafka(struct buf *out, const char *key, const char *source)
{
    struct buf masked;
    buf_init(&masked, 65536);
    mask_add_settings(&masked, source);
    write_string(out, key, buf_text(&masked));
    buf_clear(&masked);
}

static void write_list(struct buf *out, const char *key, const struct collector_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        write_string(out, key, list->strings[i]);
}

static void write_number(struct buf *out, const struct config_key *name, uint64_t number)
{
    if (number && name->kind == DURATION)
        buf_printf(out, "%s = %lluns\n", name->key, (unsigned long long)number);
    else if (number)
        buf_printf(out, "%s = %llu\n", name->key, (unsigned long long)number);
}

static void write_one(struct buf *out, const struct collector_config *config, const struct config_key *name)
{
    const void *field = (const char *)config + name->offset;
    if (name->kind == LIST || name->kind == ADDRESS_LIST)
        write_list(out, name->key, field);
    else if (name->kind == FLAG)
        buf_printf(out, "%s = %s\n", name->key, *(const bool *)field ? "yes" : "no");
    else if (name->kind == KAFKA && *(char *const *)field)
        write_kafka(out, name->key, *(char *const *)field);
    else if ((name->kind == TEXT || name->kind == ADDRESS) && *(char *const *)field)
        write_string(out, name->key, *(char *const *)field);
    else if (name->kind == BYTES || name->kind == DURATION || name->kind == NUMBER)
        write_number(out, name, *(const uint64_t *)field);
    for (size_t i = 0; name->kind == SINK && i < config->sink_count; i++)
        sink_choice_write_line(&config->sinks[i], out);
}

void collector_config_write(const struct collector_config *config, struct buf *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_one(out, config, &names[i]);
}
