/* base/map.h compared with what it replaced: chains through the items with FNV-1a. */
#include "base/hash.h"
#include "base/map.h"
#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 20000u
#define FINDS 1000000u

struct item {
    uint64_t hash;
    struct item *next;
    char host[24], name[40];
};

static struct item items[ITEMS];
static struct item *buckets[32768];
static struct map map;

static uint64_t chain_hash(const struct item *key)
{
    return hash_add_text(hash_add_text(HASH_START, key->host), key->name);
}

static bool is(const void *item, const void *key)
{
    const struct item *a = item, *b = key;
    return strcmp(a->host, b->host) == 0 && strcmp(a->name, b->name) == 0;
}

static const struct item *chain_find(const struct item *key)
{
    uint64_t hash = chain_hash(key);
    const struct item *item = buckets[hash % 32768];
    while (item && (item->hash != hash || !is(item, key)))
        item = item->next;
    return item;
}

static uint64_t map_key(const struct item *key)
{
    return map_hash_string(map_hash_string(0, key->host), key->name);
}

static const struct item *map_get(const struct item *key)
{
    return map_find(&map, map_key(key), is, key);
}

static double ns_per_find(const struct item *(*find)(const struct item *), size_t count)
{
    static struct item keys[ITEMS];
    memcpy(keys, items, sizeof keys);
    uint64_t start = tools_now_ns();
    for (size_t i = 0; i < FINDS; i++) {
        size_t at = i * 7919 % count;
        if (find(&keys[at]) != &items[at])
            tools_die("an item was not found");
    }
    return (double)(tools_now_ns() - start) / FINDS;
}

static void add(size_t i)
{
    snprintf(items[i].host, sizeof items[i].host, "node%zu", i % 1000);
    snprintf(items[i].name, sizeof items[i].name, "infiniband/mlx5_%zu", i);
    items[i].hash = chain_hash(&items[i]);
    items[i].next = buckets[items[i].hash % 32768];
    buckets[items[i].hash % 32768] = &items[i];
    if (map_add(&map, map_key(&items[i]), &items[i], ITEMS))
        tools_die("out of memory");
}

static void measure(size_t count)
{
    double chains = 1e9, keyed = 1e9;
    for (size_t i = map.count; i < count; i++)
        add(i);
    for (int i = 0; i < 5; i++) {
        chains = tools_smaller(chains, ns_per_find(chain_find, count));
        keyed = tools_smaller(keyed, ns_per_find(map_get, count));
    }
    printf("find by two strings among %5zu: chains %5.1f ns, map %5.1f ns, ratio %.2f\n", count, chains, keyed, keyed / chains);
}

int main(void)
{
    measure(2000);
    measure(ITEMS);
    map_clear(&map);
    return 0;
}
