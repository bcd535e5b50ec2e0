/* One table of names: what kind of thing each is, and where it stands in the plan. */
#include "collector/collector_plan.h"

#include "base/config_file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "collector/kafka_port.h"
#include "transport/address.h"
#include "transport/keys.h"
#include "transport/uplink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_JOURNAL "/var/lib/sonde/journal"

enum kind { TEXT, KAFKA, ADDRESS, LIST, ADDRESS_LIST, FLAG, BYTES, DURATION, NUMBER, SINK };

static const struct name {
    const char *key;
    enum kind kind;
    size_t offset;
} names[] = {
#define AT(field) offsetof(struct collector_plan, field)
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
    { "from-kafka", KAFKA, AT(kafka) },
    { "series", NUMBER, AT(series) },
#undef AT
};

void collector_plan_init(struct collector_plan *plan)
{
    *plan = (struct collector_plan){ 0 };
}

static void clear_list(struct collector_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->texts[i]);
    *list = (struct collector_list){ 0 };
}

void collector_plan_clear(struct collector_plan *plan)
{
    clear_list(&plan->listen);
    clear_list(&plan->upstream);
    clear_list(&plan->upstream_keys);
    for (size_t i = 0; i < plan->sink_count; i++)
        sink_choice_clear(&plan->sinks[i]);
    free(plan->key);
    free(plan->allow);
    free(plan->journal);
    free(plan->http);
    free(plan->socket);
    free(plan->colmet);
    free(plan->kafka);
    *plan = (struct collector_plan){ 0 };
}

static enum err set_text(char **text, const char *value)
{
    char *copy = *value ? strdup(value) : NULL;
    if (*value && !copy)
        return NOMEM;
    free(*text);
    *text = copy;
    return OK;
}

static enum err add_text(struct collector_list *list, const char *key, const char *value, struct buf *why)
{
    if (list->count == COLLECTOR_PLAN_MAX) {
        buf_printf(why, "there are %d of %s already", COLLECTOR_PLAN_MAX, key);
        return USAGE;
    }
    list->texts[list->count] = strdup(value);
    if (!list->texts[list->count])
        return NOMEM;
    list->count++;
    return OK;
}

static enum err check_address(const char *key, const char *value, struct buf *why)
{
    char address[ADDRESS_MAX];
    if (!address_complete(value, UPLINK_PORT, address))
        return OK;
    buf_printf(why, "%s is an address such as tcp://10.0.0.1:5555, not '%.60s'", key, value);
    return USAGE;
}

static enum err add_address(struct collector_list *list, const char *key, const char *value, struct buf *why)
{
    char address[ADDRESS_MAX];
    enum err err = address_complete(value, UPLINK_PORT, address);
    return err ? err : add_text(list, key, address, why);
}

static enum err add_sink(struct collector_plan *plan, const char *value, struct buf *why)
{
    if (plan->sink_count == COLLECTOR_PLAN_MAX) {
        buf_printf(why, "there are %d sinks already", COLLECTOR_PLAN_MAX);
        return USAGE;
    }
    enum err err = sink_choice_parse(&plan->sinks[plan->sink_count], value, why);
    plan->sink_count += err ? 0 : 1;
    return err;
}

static enum err set_flag(bool *flag, const char *key, const char *value, struct buf *why)
{
    static const struct setting table[] = { { "flag", SETTING_FLAG }, { 0 } };
    if (!setting_apply(table, flag, "flag", value))
        return OK;
    buf_printf(why, "%s is yes or no, not '%.60s'", key, value);
    return USAGE;
}

static enum err set_number(uint64_t *number, const struct name *name, const char *value, struct buf *why)
{
    static const char *const forms[] = {
        [BYTES] = "a size, as 512M or 1GiB", [DURATION] = "a duration, as 60s or 7d", [NUMBER] = "a number",
    };
    enum err err = name->kind == BYTES ? text_parse_bytes(value, number)
                   : name->kind == DURATION ? text_parse_duration(value, number) : text_parse_u64(value, number);
    if (err)
        buf_printf(why, "%s is %s, not '%.60s'", name->key, forms[name->kind], value);
    return err;
}

static enum err set(struct collector_plan *plan, const struct name *name, const char *value, struct buf *why)
{
    void *place = (char *)plan + name->offset;
    enum err err = OK;
    switch (name->kind) {
    case ADDRESS:
    case ADDRESS_LIST:
        err = check_address(name->key, value, why);
        if (err)
            return err;
        return name->kind == ADDRESS ? set_text(place, value) : add_address(place, name->key, value, why);
    case LIST: return add_text(place, name->key, value, why);
    case FLAG: return set_flag(place, name->key, value, why);
    case SINK: return add_sink(plan, value, why);
    case TEXT: return set_text(place, value);
    case KAFKA:
        err = kafka_port_check(value, why);
        return err ? err : set_text(place, value);
    default: return set_number(place, name, value, why);
    }
}

enum err collector_plan_set(struct collector_plan *plan, const char *key, const char *value, struct buf *why)
{
    struct nearest nearest = nearest_to(key);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].key, key) == 0)
            return set(plan, &names[i], value, why);
        nearest_try(&nearest, names[i].key);
    }
    buf_printf(why, "there is no '%.60s'", key);
    if (nearest.best)
        buf_printf(why, "; did you mean '%s'?", nearest.best);
    return USAGE;
}

void collector_plan_empty(struct collector_plan *plan, const char *key)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].key, key) == 0 && (names[i].kind == LIST || names[i].kind == ADDRESS_LIST))
            clear_list((struct collector_list *)((char *)plan + names[i].offset));
}

static enum err begin_section(void *context, const char *section, struct buf *why)
{
    (void)context;
    if (strcmp(section, "collect") == 0)
        return OK;
    buf_printf(why, "there is no section [%.60s]: a collector has none but [collect]", section);
    return USAGE;
}

static enum err set_line(void *context, const char *section, const char *key, const char *value, struct buf *why)
{
    (void)section;
    return collector_plan_set(context, key, value, why);
}

enum err collector_plan_read(struct collector_plan *plan, const char *path, struct buf *why)
{
    return config_file_read(&(struct config_target){ begin_section, set_line, plan }, path, why);
}

static enum err usual_journal(struct collector_plan *plan, struct buf *why)
{
    char path[4096];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (geteuid() == 0)
        return set_text(&plan->journal, SYSTEM_JOURNAL);
    int size = state && *state == '/' ? snprintf(path, sizeof path, "%s/sonde/journal", state)
               : home && *home == '/' ? snprintf(path, sizeof path, "%s/.local/state/sonde/journal", home) : -1;
    if (size > 0 && (size_t)size < sizeof path)
        return set_text(&plan->journal, path);
    buf_add_text(why, "there is no place for a journal: say --journal DIR");
    return USAGE;
}

/* What is not encrypted stays on this machine, unless somebody says twice that it may go out. */
static enum err check_plain(const struct collector_plan *plan, struct buf *why)
{
    for (size_t i = 0; plan->plain && !plan->plain_network && i < plan->listen.count; i++) {
        const char *address = plan->listen.texts[i];
        if (address_is_local(address))
            continue;
        buf_printf(why, "plain: what comes to %s would neither be encrypted nor known to come from where it says. Listen at "
                   "tcp://127.0.0.1:5555, make keys with 'sonde keygen', or say plain-network too", address);
        return USAGE;
    }
    if (!plan->plain || (!plan->key && !plan->allow))
        return OK;
    buf_add_text(why, "plain and keys do not go together: say one of them");
    return USAGE;
}

static enum err check_upstream(const struct collector_plan *plan, struct buf *why)
{
    if (plan->upstream_keys.count > 1 && plan->upstream_keys.count != plan->upstream.count) {
        buf_printf(why, "there are %zu of upstream and %zu of upstream-key: give one key for all, or one for each",
                   plan->upstream.count, plan->upstream_keys.count);
        return USAGE;
    }
    if (plan->upstream.count && !plan->plain && !plan->upstream_keys.count) {
        buf_add_text(why, "upstream needs upstream-key, the public key of that collector, or plain");
        return USAGE;
    }
    if (plan->rollup_ns && !plan->upstream.count) {
        buf_add_text(why, "rollup thins what goes upstream: say upstream too");
        return USAGE;
    }
    return OK;
}

static enum err fill_in(struct collector_plan *plan, struct buf *why)
{
    /* who takes from Kafka need not listen too */
    enum err err = plan->listen.count || plan->kafka ? OK : add_text(&plan->listen, "listen", COLLECTOR_LISTEN, why);
    if (!err && !plan->journal)
        err = usual_journal(plan, why);
    if (!err && !plan->http)
        err = set_text(&plan->http, COLLECTOR_HTTP);
    if (!err && !plan->sink_count && !plan->upstream.count)
        err = add_sink(plan, "store", why);
    return err;
}

static enum err usual_key(char **text, const char *name, struct buf *why)
{
    char path[KEYS_PATH_MAX];
    if (!keys_path(name, path))
        return set_text(text, path);
    buf_printf(why, "there is no place for %s: say where it is", name);
    return USAGE;
}

enum err collector_plan_finish(struct collector_plan *plan, struct buf *why)
{
    enum err err = fill_in(plan, why);
    if (!err)
        err = check_plain(plan, why);
    if (!err)
        err = check_upstream(plan, why);
    if (!plan->listen.count && !plan->upstream.count)
        return err;
    if (!err && !plan->plain && !plan->key)
        err = usual_key(&plan->key, COLLECTOR_KEY, why);
    if (!err && !plan->plain && !plan->allow)
        err = usual_key(&plan->allow, COLLECTOR_ALLOW, why);
    return err;
}

static void write_text(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "%s = ", key);
    config_file_add_quoted(out, text);
    buf_add_char(out, '\n');
}

static void write_list(struct buf *out, const char *key, const struct collector_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        write_text(out, key, list->texts[i]);
}

static void write_number(struct buf *out, const struct name *name, uint64_t number)
{
    if (number && name->kind == DURATION)
        buf_printf(out, "%s = %lluns\n", name->key, (unsigned long long)number);
    else if (number)
        buf_printf(out, "%s = %llu\n", name->key, (unsigned long long)number);
}

static void write_one(struct buf *out, const struct collector_plan *plan, const struct name *name)
{
    const void *place = (const char *)plan + name->offset;
    if (name->kind == LIST || name->kind == ADDRESS_LIST)
        write_list(out, name->key, place);
    else if (name->kind == FLAG)
        buf_printf(out, "%s = %s\n", name->key, *(const bool *)place ? "yes" : "no");
    else if ((name->kind == TEXT || name->kind == KAFKA || name->kind == ADDRESS) && *(char *const *)place)
        write_text(out, name->key, *(char *const *)place);
    else if (name->kind == BYTES || name->kind == DURATION || name->kind == NUMBER)
        write_number(out, name, *(const uint64_t *)place);
    for (size_t i = 0; name->kind == SINK && i < plan->sink_count; i++)
        sink_choice_write_line(&plan->sinks[i], out);
}

void collector_plan_write(const struct collector_plan *plan, struct buf *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_one(out, plan, &names[i]);
}
