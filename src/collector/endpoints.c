/* Keys and sockets. */
#include "collector/endpoints.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPLINK_NAME "uplink"
#define LINGER_NS (3 * 1000000000ull)

/* Called by the router's thread. */
static bool authorize(void *context, const char *public_key, const char *address, char name[256])
{
    (void)address;
    return public_key && keys_list_authorizes(context, public_key, name);
}

static enum err read_keys(struct collector *collector, struct keys_pair *pair, struct buf *error)
{
    enum err err = keys_read(collector->config.key, pair, error);
    if (err == ABSENT) {
        buf_reset(error);
        buf_printf(error,
                   "the collector has no key. Create one with 'sonde keygen %s', or accept unencrypted connections from "
                   "this node only with --plain --listen tcp://127.0.0.1:5555", collector->config.key);
    }
    if (!err && !pair->secret_key[0]) {
        buf_printf(error, "%s has no secret key, only a public one", collector->config.key);
        err = USAGE;
    }
    if (!err && !collector->keys) {
        err = keys_list_open(&collector->keys, collector->config.allow, error);
        if (!err)
            collector->keys_version = keys_list_version(collector->keys);
    }
    return err;
}

enum err endpoints_open_router(struct collector *collector, struct buf *error)
{
    struct keys_pair pair = { 0 };
    char reason[512] = "";
    bool plain = collector->config.plain;
    enum err err = zmq_load(&collector->zmq, reason, sizeof reason);
    if (err) {
        buf_printf(error, "%s", reason);
        return err;
    }
    if (!plain)
        err = read_keys(collector, &pair, error);
    if (err)
        return err;
    struct zmq_keys keys = { .public_key = pair.public_key, .secret_key = pair.secret_key };
    struct zmq_authorizer gate = { authorize, collector->keys };
    err = collector->zmq->router_open(&collector->router, (const char *const *)collector->config.listen.strings,
                                      plain ? NULL : &keys, plain ? NULL : &gate, reason, sizeof reason);
    snprintf(collector->public_key, sizeof collector->public_key, "%s", pair.public_key);
    explicit_bzero(&pair, sizeof pair);
    if (err)
        buf_printf(error, "cannot listen on %s: %s", collector->config.listen.strings[0], reason[0] ? reason : err_text(err));
    return err;
}

static enum err open_rollup(struct collector *collector, struct buf *error)
{
    char dir[4096];
    const struct collector_config *config = &collector->config;
    struct journal_settings settings = { .bytes = config->journal_bytes, .age_ns = config->journal_age_ns,
                                         .after_sync = true };
    if (snprintf(dir, sizeof dir, "%s/rollup", config->journal) >= (int)sizeof dir)
        return USAGE;
    enum err err = journal_open(&collector->rolled, dir, &settings, error);
    struct rollup_settings rollup = { collector->journal, collector->rolled, collector->host.name, config->rollup_ns };
    return err ? err : rollup_open(&collector->rollup, &rollup);
}

enum err endpoints_open_uplink(struct collector *collector, struct buf *error)
{
    const struct collector_config *config = &collector->config;
    const char *server_keys[COLLECTOR_LIST_MAX + 1] = { NULL };
    if (!config->upstream.count || collector->uplink)
        return OK;
    enum err err = config->rollup_ns ? open_rollup(collector, error) : OK;
    if (err)
        return err;
    for (size_t i = 0; i < config->upstream.count && config->upstream_keys.count; i++)
        server_keys[i] = config->upstream_keys.strings[config->upstream_keys.count > 1 ? i : 0];
    struct uplink_settings settings = {
        .journal = collector->rolled ? collector->rolled : collector->journal,
        .name = UPLINK_NAME, .host = collector->host.name, .role = "collector",
        .collectors = (const char *const *)config->upstream.strings, .key_file = config->plain ? NULL : config->key,
        .server_keys = server_keys, .munge = config->munge,
    };
    return uplink_open(&collector->uplink, &settings, error);
}

void endpoints_close(struct collector *collector)
{
    if (collector->router)
        collector->zmq->router_close(&collector->router);
    if (collector->uplink)
        uplink_close(&collector->uplink, LINGER_NS);
    rollup_close(&collector->rollup);
    journal_close(&collector->rolled);
    keys_list_close(&collector->keys);
}

static bool is_wanted(const void *context, const char *name)
{
    const struct collector_config *config = context;
    if (strcmp(name, UPLINK_NAME) == 0)
        return config->upstream.count && !config->rollup_ns;
    if (strcmp(name, "rollup") == 0)
        return config->rollup_ns;
    return sink_worker_name_is_used(name, config->sinks, config->sink_count);
}

void endpoints_remove_old_cursors(struct journal *journal, const struct collector_config *config)
{
    journal_remove_unwanted_cursors(journal, is_wanted, config);
}

static bool same_list(const struct collector_list *a, const struct collector_list *b)
{
    bool is_same = a->count == b->count;
    for (size_t i = 0; i < a->count && is_same; i++)
        is_same = strcmp(a->strings[i], b->strings[i]) == 0;
    return is_same;
}

static bool same_string(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void keep_list(struct collector_list *kept, struct collector_list *next, const char *name)
{
    if (same_list(kept, next))
        return;
    log_warn("%s has changed; restart the collector to apply it", name);
    struct collector_list other = *next;
    *next = *kept;
    *kept = other;
}

static void keep_string(char **kept, char **next, const char *name)
{
    if (same_string(*kept, *next))
        return;
    log_warn("%s has changed; restart the collector to apply it", name);
    char *other = *next;
    *next = *kept;
    *kept = other;
}

void endpoints_keep_fixed_settings(struct collector *collector, struct collector_config *next)
{
    struct collector_config *config = &collector->config;
    keep_list(&config->listen, &next->listen, "listen");
    keep_list(&config->upstream, &next->upstream, "upstream");
    keep_string(&config->journal, &next->journal, "journal");
    keep_string(&config->http, &next->http, "http");
    keep_string(&config->socket, &next->socket, "socket");
    keep_string(&config->colmet, &next->colmet, "colmet");
    keep_string(&config->kafka, &next->kafka, "from-kafka");
    keep_string(&config->key, &next->key, "key");
    keep_string(&config->allow, &next->allow, "allow");
    if (config->rollup_ns != next->rollup_ns)
        log_warn("rollup has changed; restart the collector to apply it");
    next->rollup_ns = config->rollup_ns;
    if (config->plain != next->plain)
        log_warn("plain has changed; restart the collector to apply it");
    next->plain = config->plain;
    collector->receiver.settings.munge = next->munge;
}

/* Checks all peers again: those whose key was removed are refused. */
static void check_peers(struct collector *collector)
{
    struct map_iterator at = { 0 };
    struct peer *peer;
    char name[256];
    while ((peer = peers_next(&collector->receiver.peers, &at)))
        if (peer->state == PEER_ACCEPTED
            && (!keys_list_authorizes(collector->keys, peer->key, name) || strcmp(name, peer->name) != 0))
            receiver_refuse(&collector->receiver, peer, true, "its key was removed from the collector's list");
}

void endpoints_maintain(struct collector *collector)
{
    if (!collector->keys)
        return;
    keys_list_refresh(collector->keys);
    if (keys_list_version(collector->keys) == collector->keys_version)
        return;
    collector->keys_version = keys_list_version(collector->keys);
    check_peers(collector);
}

/* A router cannot change its key. Agents that are disconnected this way reconnect within seconds and resend. */
bool endpoints_rekey(struct collector *collector)
{
    struct keys_pair pair = { 0 };
    struct buf error;
    if (collector->config.plain || !collector->config.listen.count)
        return false;
    buf_init(&error, 8192);
    enum err err = read_keys(collector, &pair, &error);
    explicit_bzero(pair.secret_key, sizeof pair.secret_key);
    bool is_new = !err && (!collector->router || strcmp(pair.public_key, collector->public_key) != 0);
    if (is_new) {
        if (collector->router)
            collector->zmq->router_close(&collector->router);
        err = endpoints_open_router(collector, &error);
    }
    if (err && !collector->has_logged_error)
        log_error("%s. %s", buf_text(&error), collector->router ? "The old key stays in use." : "Retrying.");
    collector->has_logged_error = err != OK;
    buf_clear(&error);
    return is_new && !err;
}

void endpoints_reload_keys(struct collector *collector)
{
    endpoints_maintain(collector);
    if (collector->uplink)
        uplink_reload(collector->uplink);
}
