/* Keys and sockets. */
#include "collector/endpoints.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPLINK_NAME "uplink"
#define LINGER_NS (3 * 1000000000ull)

/* From the router's thread. */
static bool allows(void *context, const char *public_key, const char *address, char name[256])
{
    (void)address;
    return public_key && keys_list_allows(context, public_key, name);
}

static enum err read_keys(struct collector *collector, struct keys_pair *pair, struct buf *why)
{
    enum err err = keys_read(collector->plan.key, pair, why);
    if (err == ABSENT) {
        buf_reset(why);
        buf_printf(why, "there is no key of this collector: make one with 'sonde keygen %s', or take what is not encrypted "
                   "from this machine alone with --plain --listen tcp://127.0.0.1:5555", collector->plan.key);
    }
    if (!err && !pair->secret_key[0]) {
        buf_printf(why, "%s holds no secret key, only a public one", collector->plan.key);
        err = USAGE;
    }
    if (!err && !collector->keys) {
        err = keys_list_open(&collector->keys, collector->plan.allow, why);
        if (!err)
            collector->keys_version = keys_list_version(collector->keys);
    }
    return err;
}

enum err gateway_open_router(struct collector *collector, struct buf *why)
{
    struct keys_pair pair = { 0 };
    char reason[512] = "";
    bool plain = collector->plan.plain;
    enum err err = zmq_load(&collector->zmq, reason, sizeof reason);
    if (err) {
        buf_printf(why, "%s", reason);
        return err;
    }
    if (!plain)
        err = read_keys(collector, &pair, why);
    if (err)
        return err;
    struct zmq_keys keys = { .public_key = pair.public_key, .secret_key = pair.secret_key };
    struct zmq_gate gate = { allows, collector->keys };
    err = collector->zmq->router_open(&collector->router, (const char *const *)collector->plan.listen.texts,
                                      plain ? NULL : &keys, plain ? NULL : &gate, reason, sizeof reason);
    snprintf(collector->public_key, sizeof collector->public_key, "%s", pair.public_key);
    explicit_bzero(&pair, sizeof pair);
    if (err)
        buf_printf(why, "cannot listen at %s: %s", collector->plan.listen.texts[0], reason[0] ? reason : err_text(err));
    return err;
}

static enum err open_rollup(struct collector *collector, struct buf *why)
{
    char dir[4096];
    const struct collector_plan *plan = &collector->plan;
    struct journal_settings settings = { .bytes = plan->journal_bytes, .age_ns = plan->journal_age_ns, .after_sync = true };
    if (snprintf(dir, sizeof dir, "%s/rollup", plan->journal) >= (int)sizeof dir)
        return USAGE;
    enum err err = journal_open(&collector->rolled, dir, &settings, why);
    struct rollup_settings rollup = { collector->journal, collector->rolled, collector->host.name, plan->rollup_ns };
    return err ? err : rollup_open(&collector->rollup, &rollup);
}

enum err gateway_open_uplink(struct collector *collector, struct buf *why)
{
    const struct collector_plan *plan = &collector->plan;
    const char *server_keys[COLLECTOR_PLAN_MAX + 1] = { NULL };
    if (!plan->upstream.count || collector->uplink)
        return OK;
    enum err err = plan->rollup_ns ? open_rollup(collector, why) : OK;
    if (err)
        return err;
    for (size_t i = 0; i < plan->upstream.count && plan->upstream_keys.count; i++)
        server_keys[i] = plan->upstream_keys.texts[plan->upstream_keys.count > 1 ? i : 0];
    struct uplink_settings settings = {
        .journal = collector->rolled ? collector->rolled : collector->journal,
        .name = UPLINK_NAME, .host = collector->host.name, .role = "collector",
        .collectors = (const char *const *)plan->upstream.texts, .key_file = plan->plain ? NULL : plan->key,
        .server_keys = server_keys, .munge = plan->munge,
    };
    return uplink_open(&collector->uplink, &settings, why);
}

void gateway_close(struct collector *collector)
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
    const struct collector_plan *plan = context;
    if (strcmp(name, UPLINK_NAME) == 0)
        return plan->upstream.count && !plan->rollup_ns;
    if (strcmp(name, "rollup") == 0)
        return plan->rollup_ns;
    return sink_worker_name_is_used(name, plan->sinks, plan->sink_count);
}

void gateway_forget_old(struct journal *journal, const struct collector_plan *plan)
{
    journal_remove_unwanted_cursors(journal, is_wanted, plan);
}

static bool same_list(const struct collector_list *a, const struct collector_list *b)
{
    bool is_same = a->count == b->count;
    for (size_t i = 0; i < a->count && is_same; i++)
        is_same = strcmp(a->texts[i], b->texts[i]) == 0;
    return is_same;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void keep_list(struct collector_list *kept, struct collector_list *next, const char *name)
{
    if (same_list(kept, next))
        return;
    log_warn("%s is another now: that needs a restart of the collector", name);
    struct collector_list other = *next;
    *next = *kept;
    *kept = other;
}

static void keep_text(char **kept, char **next, const char *name)
{
    if (same_text(*kept, *next))
        return;
    log_warn("%s is another now: that needs a restart of the collector", name);
    char *other = *next;
    *next = *kept;
    *kept = other;
}

void gateway_keep_fixed(struct collector *collector, struct collector_plan *next)
{
    struct collector_plan *plan = &collector->plan;
    keep_list(&plan->listen, &next->listen, "listen");
    keep_list(&plan->upstream, &next->upstream, "upstream");
    keep_text(&plan->journal, &next->journal, "journal");
    keep_text(&plan->http, &next->http, "http");
    keep_text(&plan->socket, &next->socket, "socket");
    keep_text(&plan->colmet, &next->colmet, "colmet");
    keep_text(&plan->kafka, &next->kafka, "from-kafka");
    keep_text(&plan->key, &next->key, "key");
    keep_text(&plan->allow, &next->allow, "allow");
    if (plan->rollup_ns != next->rollup_ns)
        log_warn("rollup is another now: that needs a restart of the collector");
    next->rollup_ns = plan->rollup_ns;
    if (plan->plain != next->plain)
        log_warn("plain is another now: that needs a restart of the collector");
    next->plain = plan->plain;
    collector->receiver.settings.munge = next->munge;
}

/* Everybody is asked for again: who has lost his key is not listened to any more. */
static void check_peers(struct collector *collector)
{
    struct peer_at at = { 0 };
    struct peer *peer;
    char name[256];
    while ((peer = peers_next(&collector->receiver.peers, &at)))
        if (peer->state == PEER_TAKEN
            && (!keys_list_allows(collector->keys, peer->key, name) || strcmp(name, peer->name) != 0))
            receiver_refuse(&collector->receiver, peer, true, "its key is not in the list of the collector any more");
}

void gateway_tend(struct collector *collector)
{
    if (!collector->keys)
        return;
    keys_list_refresh(collector->keys);
    if (keys_list_version(collector->keys) == collector->keys_version)
        return;
    collector->keys_version = keys_list_version(collector->keys);
    check_peers(collector);
}

/* A router has one key all its life. Agents that are sent away so come back within seconds, with all they have. */
bool gateway_rekey(struct collector *collector)
{
    struct keys_pair pair = { 0 };
    struct buf why;
    if (collector->plan.plain || !collector->plan.listen.count)
        return false;
    buf_init(&why, 8192);
    enum err err = read_keys(collector, &pair, &why);
    explicit_bzero(pair.secret_key, sizeof pair.secret_key);
    bool is_new = !err && (!collector->router || strcmp(pair.public_key, collector->public_key) != 0);
    if (is_new) {
        if (collector->router)
            collector->zmq->router_close(&collector->router);
        err = gateway_open_router(collector, &why);
    }
    if (err && !collector->has_complained)
        log_error("%s. %s", buf_text(&why), collector->router ? "The key from before is used." : "It is tried again.");
    collector->has_complained = err != OK;
    buf_clear(&why);
    return is_new && !err;
}

void gateway_reload(struct collector *collector)
{
    gateway_tend(collector);
    if (collector->uplink)
        uplink_reload(collector->uplink);
}
