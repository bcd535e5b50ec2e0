/* Sets, checks and prints the configuration of the uplink. */
#include "agent/uplink_config.h"

#include "base/clock.h"
#include "base/config_file.h"
#include "base/parse.h"
#include "model/setting.h"
#include "transport/address.h"
#include "transport/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NONE "none"
#define JOURNAL_BYTES_MIN (1u << 20)

const char *const uplink_config_keys[] = { "collector", "collector-key", "key",        "plain",     "plain-network",
                                         "munge",     "spool",         "spool-size", "spool-age", NULL };

bool uplink_config_has(const char *key)
{
    for (const char *const *at = uplink_config_keys; *at; at++)
        if (!strcmp(*at, key))
            return true;
    return false;
}

static void clear_list(char **list, size_t *count)
{
    for (; *count; --*count) {
        free(list[*count - 1]);
        list[*count - 1] = NULL;
    }
}

static enum err add_to_list(char **list, size_t *count, const char *value, struct buf *error)
{
    if (*count == UPLINK_COLLECTORS_MAX) {
        buf_printf(error, "too many values (maximum %d)", UPLINK_COLLECTORS_MAX);
        return USAGE;
    }
    list[*count] = strdup(value);
    if (!list[*count])
        return NOMEM;
    ++*count;
    return OK;
}

static enum err add_collector(struct uplink_config *config, const char *value, struct buf *error)
{
    char address[ADDRESS_MAX];
    if (address_normalize(value, UPLINK_PORT, address)) {
        buf_printf(error, "invalid collector '%.60s' (expected tcp://HOST:%d or none)", value, UPLINK_PORT);
        return USAGE;
    }
    return add_to_list(config->collectors, &config->collector_count, address, error);
}

static enum err replace(char **text, const char *value)
{
    char *copy = *value ? strdup(value) : NULL;
    if (*value && !copy)
        return NOMEM;
    free(*text);
    *text = copy;
    return OK;
}

static enum err set_flag(bool *flag, const char *key, const char *value, struct buf *error)
{
    static const struct setting setting[] = { { "flag", SETTING_FLAG }, { 0 } };
    if (!setting_apply(setting, flag, "flag", value))
        return OK;
    buf_printf(error, "invalid %s '%.60s' (expected yes or no)", key, value);
    return USAGE;
}

static enum err set_bounds(struct uplink_config *config, bool is_size, const char *value, struct buf *error)
{
    uint64_t number;
    if (is_size && (parse_bytes(value, &number) || number < JOURNAL_BYTES_MIN))
        buf_printf(error, "invalid spool-size '%.60s' (expected a size such as 1GiB, at least 1MiB)", value);
    else if (!is_size && (parse_duration(value, &number) || !number))
        buf_printf(error, "invalid spool-age '%.60s' (expected a duration such as 7d)", value);
    else {
        *(is_size ? &config->journal_bytes : &config->journal_age_ns) = number;
        return OK;
    }
    return USAGE;
}

enum err uplink_config_set(struct uplink_config *config, const char *key, const char *value, struct buf *error)
{
    bool is_none = !strcmp(value, NONE);
    if (!strcmp(key, "collector")) {
        if (is_none)
            clear_list(config->collectors, &config->collector_count);
        return is_none ? OK : add_collector(config, value, error);
    }
    if (!strcmp(key, "collector-key")) {
        if (is_none)
            clear_list(config->collector_keys, &config->key_count);
        return is_none ? OK : add_to_list(config->collector_keys, &config->key_count, value, error);
    }
    if (!strcmp(key, "key"))
        return replace(&config->key, value);
    if (!strcmp(key, "spool"))
        return replace(&config->spool, value);
    if (!strcmp(key, "plain"))
        return set_flag(&config->plain, key, value, error);
    if (!strcmp(key, "plain-network"))
        return set_flag(&config->plain_network, key, value, error);
    if (!strcmp(key, "munge"))
        return set_flag(&config->munge, key, value, error);
    return set_bounds(config, !strcmp(key, "spool-size"), value, error);
}

static enum err check_plain(const struct uplink_config *config, struct buf *error)
{
    for (size_t i = 0; i < config->collector_count && !config->plain_network; i++)
        if (!address_is_local(config->collectors[i])) {
            buf_printf(error,
                       "the collector %s is not on this node, and --plain disables encryption: create keys with 'sonde "
                            "keygen', or set --plain-network too", config->collectors[i]);
            return USAGE;
        }
    if (!config->key_count)
        return OK;
    buf_add_text(error, "--plain and --collector-key cannot be combined; remove one of them");
    return USAGE;
}

enum err uplink_config_check(const struct uplink_config *config, struct buf *error)
{
    if (!config->collector_count)
        return OK;
    if (config->plain)
        return check_plain(config, error);
    if (config->key_count == 1 || config->key_count == config->collector_count)
        return OK;
    if (config->key_count)
        buf_printf(error, "%zu collectors but %zu collector keys: set one key for all, or one for each",
                   config->collector_count, config->key_count);
    else
        buf_printf(error, "missing key of the collector %s: set --collector-key to the key printed there by 'sonde keygen "
                        "--collector', or set --plain to send without encryption", config->collectors[0]);
    return USAGE;
}

enum err uplink_config_key_path(const struct uplink_config *config, char *path, size_t size)
{
    char default_value[KEYS_PATH_MAX];
    if (!config->key && keys_path("host.key", default_value))
        return ABSENT;
    return (size_t)snprintf(path, size, "%s", config->key ? config->key : default_value) < size ? OK : USAGE;
}

enum err uplink_config_check_keys(const struct uplink_config *config, struct buf *error)
{
    struct keys_pair pair = { 0 };
    char path[KEYS_PATH_MAX], public_key[ZMQ_KEY_MAX];
    if (!config->collector_count || config->plain)
        return OK;
    enum err err = uplink_config_key_path(config, path, sizeof path);
    if (err)
        buf_add_text(error, "no default directory for the key; set --key");
    else
        err = keys_read(path, &pair, error);
    explicit_bzero(&pair, sizeof pair);
    for (size_t i = 0; i < config->key_count && !err; i++)
        err = keys_read_public(config->collector_keys[i], public_key, error);
    return err;
}

enum err uplink_config_journal_dir(const struct uplink_config *config, char *path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int used = -1;
    if (config->spool)
        used = snprintf(path, size, "%s", config->spool);
    else if (geteuid() == 0)
        used = snprintf(path, size, "/var/lib/sonde/spool");
    else if (state && *state)
        used = snprintf(path, size, "%s/sonde/spool", state);
    else if (home && *home)
        used = snprintf(path, size, "%s/.local/state/sonde/spool", home);
    return used < 0 ? ABSENT : (size_t)used < size ? OK : USAGE;
}

static bool same_string(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool uplink_config_equal(const struct uplink_config *a, const struct uplink_config *b)
{
    bool is_same = a->collector_count == b->collector_count && a->key_count == b->key_count && same_string(a->key, b->key)
                   && same_string(a->spool, b->spool) && a->journal_bytes == b->journal_bytes
                   && a->journal_age_ns == b->journal_age_ns
                   && a->plain == b->plain && a->plain_network == b->plain_network && a->munge == b->munge;
    for (size_t i = 0; is_same && i < a->collector_count; i++)
        is_same = same_string(a->collectors[i], b->collectors[i]);
    for (size_t i = 0; is_same && i < a->key_count; i++)
        is_same = same_string(a->collector_keys[i], b->collector_keys[i]);
    return is_same;
}

enum err uplink_config_copy(struct uplink_config *copy, const struct uplink_config *config)
{
    struct buf error;
    *copy = (struct uplink_config){ .journal_bytes = config->journal_bytes, .journal_age_ns = config->journal_age_ns,
                                  .plain = config->plain, .plain_network = config->plain_network, .munge = config->munge };
    buf_init(&error, 256);
    enum err err = replace(&copy->key, config->key ? config->key : "");
    if (!err)
        err = replace(&copy->spool, config->spool ? config->spool : "");
    for (size_t i = 0; !err && i < config->collector_count; i++)
        err = add_to_list(copy->collectors, &copy->collector_count, config->collectors[i], &error);
    for (size_t i = 0; !err && i < config->key_count; i++)
        err = add_to_list(copy->collector_keys, &copy->key_count, config->collector_keys[i], &error);
    buf_clear(&error);
    if (err)
        uplink_config_clear(copy);
    return err;
}

void uplink_config_clear(struct uplink_config *config)
{
    clear_list(config->collectors, &config->collector_count);
    clear_list(config->collector_keys, &config->key_count);
    free(config->key);
    free(config->spool);
    *config = (struct uplink_config){ 0 };
}

static void write_string(struct buf *out, const char *key, const char *value, const char *default_value)
{
    buf_printf(out, "%s%s = ", value ? "" : "#", key);
    config_file_add_quoted(out, value ? value : default_value);
    buf_add_char(out, '\n');
}

static void write_flag(struct buf *out, const char *key, bool value)
{
    buf_printf(out, "%s%s = %s\n", value ? "" : "#", key, value ? "yes" : "no");
}

void uplink_config_write(struct buf *out, const struct uplink_config *config)
{
    for (size_t i = 0; i < config->collector_count || i == 0; i++)
        write_string(out, "collector", config->collectors[i], "tcp://login1:5555");
    for (size_t i = 0; i < config->key_count || i == 0; i++)
        write_string(out, "collector-key", config->collector_keys[i], "/etc/sonde/collector.key.pub");
    write_string(out, "key", config->key, "/etc/sonde/host.key");
    write_flag(out, "plain", config->plain);
    write_flag(out, "plain-network", config->plain_network);
    write_flag(out, "munge", config->munge);
    write_string(out, "spool", config->spool, "/var/lib/sonde/spool");
    buf_printf(out, "%sspool-size = %llu\n", config->journal_bytes ? "" : "#",
               (unsigned long long)(config->journal_bytes ? config->journal_bytes : JOURNAL_BYTES));
    buf_printf(out, "%sspool-age = ", config->journal_age_ns ? "" : "#");
    config_file_add_duration(out, config->journal_age_ns ? config->journal_age_ns : UPLINK_CONFIG_JOURNAL_AGE_NS);
    buf_add_char(out, '\n');
}
