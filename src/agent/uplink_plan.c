/* Reading, checking and writing the settings of the way to a collector. */
#include "agent/uplink_plan.h"

#include "base/clock.h"
#include "base/config_file.h"
#include "base/text.h"
#include "model/setting.h"
#include "transport/address.h"
#include "transport/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NONE "none"
#define SPOOL_BYTES_MIN (1u << 20)

const char *const uplink_plan_keys[] = { "collector", "collector-key", "key",        "plain",     "plain-network",
                                         "munge",     "spool",         "spool-size", "spool-age", NULL };

bool uplink_plan_has(const char *key)
{
    for (const char *const *at = uplink_plan_keys; *at; at++)
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

static enum err add_to_list(char **list, size_t *count, const char *value, struct buf *why)
{
    if (*count == UPLINK_COLLECTORS_MAX) {
        buf_printf(why, "there are %d already", UPLINK_COLLECTORS_MAX);
        return USAGE;
    }
    list[*count] = strdup(value);
    if (!list[*count])
        return NOMEM;
    ++*count;
    return OK;
}

static enum err add_collector(struct uplink_plan *plan, const char *value, struct buf *why)
{
    char address[ADDRESS_MAX];
    if (address_complete(value, UPLINK_PORT, address)) {
        buf_printf(why, "'%.60s' is not the address of a collector: say tcp://HOST:%d, or none", value, UPLINK_PORT);
        return USAGE;
    }
    return add_to_list(plan->collectors, &plan->collector_count, address, why);
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

static enum err set_flag(bool *flag, const char *key, const char *value, struct buf *why)
{
    static const struct setting setting[] = { { "flag", SETTING_FLAG }, { 0 } };
    if (!setting_apply(setting, flag, "flag", value))
        return OK;
    buf_printf(why, "%s is yes or no, not '%.60s'", key, value);
    return USAGE;
}

static enum err set_bounds(struct uplink_plan *plan, bool is_size, const char *value, struct buf *why)
{
    uint64_t number;
    if (is_size && (text_parse_bytes(value, &number) || number < SPOOL_BYTES_MIN))
        buf_printf(why, "spool-size is a number of bytes, 1MiB at least, as 1GiB; not '%.60s'", value);
    else if (!is_size && (text_parse_duration(value, &number) || !number))
        buf_printf(why, "spool-age is a duration, as 7d; not '%.60s'", value);
    else {
        *(is_size ? &plan->spool_bytes : &plan->spool_age_ns) = number;
        return OK;
    }
    return USAGE;
}

enum err uplink_plan_set(struct uplink_plan *plan, const char *key, const char *value, struct buf *why)
{
    bool is_none = !strcmp(value, NONE);
    if (!strcmp(key, "collector")) {
        if (is_none)
            clear_list(plan->collectors, &plan->collector_count);
        return is_none ? OK : add_collector(plan, value, why);
    }
    if (!strcmp(key, "collector-key")) {
        if (is_none)
            clear_list(plan->collector_keys, &plan->key_count);
        return is_none ? OK : add_to_list(plan->collector_keys, &plan->key_count, value, why);
    }
    if (!strcmp(key, "key"))
        return replace(&plan->key, value);
    if (!strcmp(key, "spool"))
        return replace(&plan->spool, value);
    if (!strcmp(key, "plain"))
        return set_flag(&plan->plain, key, value, why);
    if (!strcmp(key, "plain-network"))
        return set_flag(&plan->plain_network, key, value, why);
    if (!strcmp(key, "munge"))
        return set_flag(&plan->munge, key, value, why);
    return set_bounds(plan, !strcmp(key, "spool-size"), value, why);
}

static enum err check_plain(const struct uplink_plan *plan, struct buf *why)
{
    for (size_t i = 0; i < plan->collector_count && !plan->plain_network; i++)
        if (!address_is_local(plan->collectors[i])) {
            buf_printf(why, "the collector %s is not on this machine, and --plain encrypts nothing: make keys with 'sonde "
                            "keygen', or say --plain-network too", plan->collectors[i]);
            return USAGE;
        }
    if (!plan->key_count)
        return OK;
    buf_add_text(why, "there is a key of a collector, and --plain, which uses none: take one of them away");
    return USAGE;
}

enum err uplink_plan_check(const struct uplink_plan *plan, struct buf *why)
{
    if (!plan->collector_count)
        return OK;
    if (plan->plain)
        return check_plain(plan, why);
    if (plan->key_count == 1 || plan->key_count == plan->collector_count)
        return OK;
    if (plan->key_count)
        buf_printf(why, "there are %zu collectors and %zu keys of collectors: give one for all, or one for each",
                   plan->collector_count, plan->key_count);
    else
        buf_printf(why, "the collector %s has no key here: give --collector-key, which 'sonde keygen --collector' printed there, "
                        "or --plain to send without encryption", plan->collectors[0]);
    return USAGE;
}

enum err uplink_plan_key(const struct uplink_plan *plan, char *path, size_t size)
{
    char usual[KEYS_PATH_MAX];
    if (!plan->key && keys_path("host.key", usual))
        return ABSENT;
    return (size_t)snprintf(path, size, "%s", plan->key ? plan->key : usual) < size ? OK : USAGE;
}

enum err uplink_plan_check_keys(const struct uplink_plan *plan, struct buf *why)
{
    struct keys_pair pair = { 0 };
    char path[KEYS_PATH_MAX], public_key[ZMQ_KEY_MAX];
    if (!plan->collector_count || plan->plain)
        return OK;
    enum err err = uplink_plan_key(plan, path, sizeof path);
    if (err)
        buf_add_text(why, "there is no place for our key: give --key");
    else
        err = keys_read(path, &pair, why);
    explicit_bzero(&pair, sizeof pair);
    for (size_t i = 0; i < plan->key_count && !err; i++)
        err = keys_read_public(plan->collector_keys[i], public_key, why);
    return err;
}

enum err uplink_plan_spool(const struct uplink_plan *plan, char *path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int used = -1;
    if (plan->spool)
        used = snprintf(path, size, "%s", plan->spool);
    else if (geteuid() == 0)
        used = snprintf(path, size, "/var/lib/sonde/spool");
    else if (state && *state)
        used = snprintf(path, size, "%s/sonde/spool", state);
    else if (home && *home)
        used = snprintf(path, size, "%s/.local/state/sonde/spool", home);
    return used < 0 ? ABSENT : (size_t)used < size ? OK : USAGE;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool uplink_plan_equal(const struct uplink_plan *a, const struct uplink_plan *b)
{
    bool is_same = a->collector_count == b->collector_count && a->key_count == b->key_count && same_text(a->key, b->key)
                   && same_text(a->spool, b->spool) && a->spool_bytes == b->spool_bytes && a->spool_age_ns == b->spool_age_ns
                   && a->plain == b->plain && a->plain_network == b->plain_network && a->munge == b->munge;
    for (size_t i = 0; is_same && i < a->collector_count; i++)
        is_same = same_text(a->collectors[i], b->collectors[i]);
    for (size_t i = 0; is_same && i < a->key_count; i++)
        is_same = same_text(a->collector_keys[i], b->collector_keys[i]);
    return is_same;
}

enum err uplink_plan_copy(struct uplink_plan *copy, const struct uplink_plan *plan)
{
    struct buf why;
    *copy = (struct uplink_plan){ .spool_bytes = plan->spool_bytes, .spool_age_ns = plan->spool_age_ns,
                                  .plain = plan->plain, .plain_network = plan->plain_network, .munge = plan->munge };
    buf_init(&why, 256);
    enum err err = replace(&copy->key, plan->key ? plan->key : "");
    if (!err)
        err = replace(&copy->spool, plan->spool ? plan->spool : "");
    for (size_t i = 0; !err && i < plan->collector_count; i++)
        err = add_to_list(copy->collectors, &copy->collector_count, plan->collectors[i], &why);
    for (size_t i = 0; !err && i < plan->key_count; i++)
        err = add_to_list(copy->collector_keys, &copy->key_count, plan->collector_keys[i], &why);
    buf_clear(&why);
    if (err)
        uplink_plan_clear(copy);
    return err;
}

void uplink_plan_clear(struct uplink_plan *plan)
{
    clear_list(plan->collectors, &plan->collector_count);
    clear_list(plan->collector_keys, &plan->key_count);
    free(plan->key);
    free(plan->spool);
    *plan = (struct uplink_plan){ 0 };
}

static void write_text(struct buf *out, const char *key, const char *value, const char *usual)
{
    buf_printf(out, "%s%s = ", value ? "" : "#", key);
    config_file_add_quoted(out, value ? value : usual);
    buf_add_char(out, '\n');
}

static void write_flag(struct buf *out, const char *key, bool value)
{
    buf_printf(out, "%s%s = %s\n", value ? "" : "#", key, value ? "yes" : "no");
}

void uplink_plan_write(struct buf *out, const struct uplink_plan *plan)
{
    for (size_t i = 0; i < plan->collector_count || i == 0; i++)
        write_text(out, "collector", plan->collectors[i], "tcp://login1:5555");
    for (size_t i = 0; i < plan->key_count || i == 0; i++)
        write_text(out, "collector-key", plan->collector_keys[i], "/etc/sonde/collector.key.pub");
    write_text(out, "key", plan->key, "/etc/sonde/host.key");
    write_flag(out, "plain", plan->plain);
    write_flag(out, "plain-network", plan->plain_network);
    write_flag(out, "munge", plan->munge);
    write_text(out, "spool", plan->spool, "/var/lib/sonde/spool");
    buf_printf(out, "%sspool-size = %llu\n", plan->spool_bytes ? "" : "#",
               (unsigned long long)(plan->spool_bytes ? plan->spool_bytes : JOURNAL_BYTES));
    buf_printf(out, "%sspool-age = ", plan->spool_age_ns ? "" : "#");
    config_file_add_duration(out, plan->spool_age_ns ? plan->spool_age_ns : UPLINK_PLAN_SPOOL_AGE_NS);
    buf_add_char(out, '\n');
}
