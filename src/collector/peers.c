/* A map by routing id. */
#include "collector/peers.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const uint8_t *id, size_t size)
{
    return map_hash(0, id, size);
}

static bool is_peer(const void *item, const void *key)
{
    const struct peer *peer = item;
    const struct zmq_peer *id = key;
    return peer->id_size == id->id_size && memcmp(peer->id, id->id, id->id_size) == 0;
}

struct peer *peers_find(const struct peers *peers, const struct zmq_peer *id)
{
    return map_find(&peers->map, hash_of(id->id, id->id_size), is_peer, id);
}

static void peer_free(struct peer *peer)
{
    peer_close_feeds(peer);
    if (peer->known_host && peer->known_host->connections[peer->is_collector] == peer)
        peer->known_host->connections[peer->is_collector] = NULL;
    free(peer->feeds);
    free(peer->id);
    free(peer->host);
    free(peer->software);
    free(peer->name);
    free(peer->address);
    free(peer);
}

static struct peer *peer_new(const struct zmq_peer *id)
{
    struct peer *peer = calloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->id = malloc(id->id_size + 1);
    peer->name = strdup(id->name);
    peer->address = strdup(id->address);
    peer->host = strdup("");
    peer->software = strdup("");
    if (!peer->id || !peer->name || !peer->address || !peer->host || !peer->software) {
        peer_free(peer);
        return NULL;
    }
    memcpy(peer->id, id->id, id->id_size);
    memcpy(peer->key, id->key, sizeof peer->key);
    peer->id_size = id->id_size;
    return peer;
}

enum err peers_add(struct peers *peers, const struct zmq_peer *id, struct peer **peer)
{
    *peer = peer_new(id);
    if (!*peer)
        return NOMEM;
    enum err err = map_add(&peers->map, hash_of(id->id, id->id_size), *peer, PEERS_MAX);
    if (!err)
        return OK;
    peer_free(*peer);
    *peer = NULL;
    return err;
}

void peers_remove(struct peers *peers, struct peer **peer)
{
    map_remove(&peers->map, hash_of((*peer)->id, (*peer)->id_size), *peer);
    peer_free(*peer);
    *peer = NULL;
}

struct peer *peers_next(const struct peers *peers, struct map_iterator *at)
{
    return map_next(&peers->map, at);
}

void peers_clear(struct peers *peers)
{
    struct map_iterator at = { 0 };
    for (struct peer *peer; (peer = peers_next(peers, &at));)
        peer_free(peer);
    map_clear(&peers->map);
}

void peer_address(const struct peer *peer, struct zmq_peer *id)
{
    memcpy(id->id, peer->id, peer->id_size);
    id->id_size = peer->id_size;
    id->name[0] = id->address[0] = '\0';
}

enum err feed_new(struct feed **feed, struct peer *peer, struct known_host *known_host, uint64_t stream)
{
    *feed = calloc(1, sizeof **feed);
    enum err err = *feed ? stream_new(&(*feed)->decoder) : NOMEM;
    if (err) {
        free(*feed);
        *feed = NULL;
        return err;
    }
    (*feed)->peer = peer;
    (*feed)->known_host = known_host;
    (*feed)->stream = stream;
    (*feed)->next = known_host->feeds;
    if (known_host->feeds)
        known_host->feeds->before = *feed;
    known_host->feeds = *feed;
    return OK;
}

void feed_free(struct feed **feed)
{
    struct feed *old = *feed;
    if (!old)
        return;
    if (old->before)
        old->before->next = old->next;
    else
        old->known_host->feeds = old->next;
    if (old->next)
        old->next->before = old->before;
    if (old->known_host->newest == old)
        old->known_host->newest = NULL;
    stream_free(&old->decoder);
    free(old);
    *feed = NULL;
}

static enum err reserve_feeds(struct peer *peer, uint64_t number)
{
    if (number < peer->feed_count)
        return OK;
    if (number >= PEER_FEEDS_MAX)
        return FULL;
    if (array_resize(peer->feeds, number + 1))
        return NOMEM;
    memset(peer->feeds + peer->feed_count, 0, (number + 1 - peer->feed_count) * sizeof(struct feed *));
    peer->feed_count = number + 1;
    return OK;
}

enum err peer_set_feed_take(struct peer *peer, uint64_t number, struct feed *feed)
{
    enum err err = reserve_feeds(peer, number);
    if (err) {
        feed_free(&feed);
        return err;
    }
    feed_free(&peer->feeds[number]);
    peer->feeds[number] = feed;
    return OK;
}

struct feed *peer_feed(const struct peer *peer, uint64_t number)
{
    return number < peer->feed_count ? peer->feeds[number] : NULL;
}

void peer_close_feeds(struct peer *peer)
{
    for (size_t i = 0; i < peer->feed_count; i++)
        feed_free(&peer->feeds[i]);
    peer->feed_count = 0;
}
