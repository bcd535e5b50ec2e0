/* The newest samples, from batches to whoever shows them. Entries stand in one group per set; a hash finds the entry of a
 * sample, and those of one job are chained, so that thousands of jobs may come and go. Sets and texts are copied: a
 * sampler may be closed while its last values are still shown. */
#include "model/latest.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/set.h"

#include <stdlib.h>
#include <string.h>

/* A job, or the node: who the entries are of. */
struct owner {
    struct node *first; /* of its entries */
    char id[];
};

struct group;

struct node {
    struct latest_entry entry; /* what others see; its arrays stand behind the node, in the same allocation */
    struct group *group;
    size_t place;            /* in group->nodes */
    struct owner *owner;
    struct node *before, *after; /* of the same owner */
    uint64_t taken_ns; /* CLOCK_MONOTONIC: time_ns may jump */
    uint64_t hash;
};

struct group {
    struct set *set; /* our copy */
    struct set_address address; /* of the set that was met last */
    struct node **nodes;
    size_t count, capacity, begin; /* begin: entries in the groups before */
    uint64_t taken_ns; /* CLOCK_MONOTONIC: of the newest batch with samples for it */
    size_t taken;      /* how many there were in it */
    size_t cursor; /* samples come in the same order at each tick: the place where the next is expected */
};

struct latest {
    struct group **groups;
    size_t group_count, count;
    struct map nodes;  /* by set name, job and instance */
    struct map owners; /* by job */
    struct owner *here; /* the node itself */
};

static uint64_t hash_of(const struct group *group, const char *job, const char *instance)
{
    return map_hash_string(map_hash_string(map_hash_string(0, group->set->name), job), instance);
}

static struct owner *owner_new(const char *id)
{
    size_t size = strlen(id) + 1;
    struct owner *owner = calloc(1, sizeof *owner + size);
    if (owner)
        memcpy(owner->id, id, size);
    return owner;
}

enum err latest_open(struct latest **live)
{
    struct latest *l = *live = calloc(1, sizeof *l);
    if (!l)
        return NOMEM;
    l->here = owner_new("");
    if (l->here)
        return OK;
    latest_close(live);
    return NOMEM;
}

static bool is_owner(const void *owner, const void *id)
{
    return strcmp(((const struct owner *)owner)->id, id) == 0;
}

static struct owner *owner_find(const struct latest *live, const char *id)
{
    return map_find(&live->owners, map_hash_string(0, id), is_owner, id);
}

/* NULL: memory ran out. */
static struct owner *owner_of(struct latest *live, const char *job)
{
    if (!job)
        return live->here;
    struct owner *owner = owner_find(live, job);
    if (owner)
        return owner;
    owner = owner_new(job);
    if (!owner || map_add(&live->owners, map_hash_string(0, job), owner, LATEST_ENTRIES_MAX) == OK)
        return owner;
    free(owner);
    return NULL;
}

static void count_anew(struct latest *live)
{
    size_t count = 0;
    for (size_t i = 0; i < live->group_count; i++) {
        live->groups[i]->begin = count;
        count += live->groups[i]->count;
    }
    live->count = count;
}

static struct group *group_new(struct latest *live, const struct set *set)
{
    if (array_resize(live->groups, live->group_count + 1))
        return NULL;
    struct group *group = calloc(1, sizeof *group);
    struct set *copy = group ? set_copy(set) : NULL;
    if (!copy) {
        free(group);
        return NULL;
    }
    group->set = copy;
    group->address = set_address_of(set);
    group->begin = live->count;
    live->groups[live->group_count++] = group;
    return group;
}

/* Addresses first: equal ones mean the same set, unless latest_forget_addresses said otherwise. */
static struct group *group_of(struct latest *live, const struct set *set)
{
    for (size_t i = 0; i < live->group_count; i++)
        if (set_address_equal(&live->groups[i]->address, set))
            return live->groups[i];
    for (size_t i = 0; i < live->group_count; i++)
        if (set_equal(live->groups[i]->set, set)) {
            live->groups[i]->address = set_address_of(set);
            return live->groups[i];
        }
    return group_new(live, set);
}

void latest_forget_addresses(struct latest *live)
{
    for (size_t i = 0; i < live->group_count; i++)
        live->groups[i]->address = (struct set_address){ 0 };
}

static struct node *node_new(const struct group *group, const char *instance)
{
    size_t size = group->set->size, text = strlen(instance) + 1;
    struct node *node = calloc(1, sizeof *node + size * (sizeof(union value) + 1) + text);
    if (!node)
        return NULL;
    union value *values = (union value *)(node + 1);
    uint8_t *known = (uint8_t *)(values + size);
    char *copy = memcpy(known + size, instance, text);
    node->entry = (struct latest_entry){ .set = group->set, .instance = copy, .values = values, .known = known };
    return node;
}

static void link_owner(struct node *node, struct owner *owner, const struct latest *live)
{
    node->owner = owner;
    node->entry.job = owner == live->here ? NULL : owner->id;
    node->after = owner->first;
    if (owner->first)
        owner->first->before = node;
    owner->first = node;
}

static void link_group(struct latest *live, struct group *group, struct node *node)
{
    node->group = group;
    node->place = group->count;
    group->nodes[group->count++] = node;
    live->count++;
    if (group != live->groups[live->group_count - 1])
        count_anew(live);
}

static enum err node_add(struct latest *live, struct group *group, const struct sample *sample, uint64_t hash,
                         struct node **added)
{
    enum err err = map_reserve(&live->nodes, live->nodes.count + 1, LATEST_ENTRIES_MAX);
    if (err)
        return err;
    if (array_reserve(group->nodes, group->capacity, group->count + 1, VEC_MAX))
        return NOMEM;
    struct node *node = node_new(group, sample->instance);
    struct owner *owner = node ? owner_of(live, sample->job) : NULL;
    if (!owner) {
        free(node);
        return NOMEM;
    }
    node->hash = hash;
    map_add(&live->nodes, hash, node, LATEST_ENTRIES_MAX);
    node->entry.first_ns = sample->time_ns;
    link_owner(node, owner, live);
    link_group(live, group, node);
    *added = node;
    return OK;
}

struct node_key {
    const struct group *group;
    const struct sample *sample;
};

static bool is_of(const struct node *node, const struct group *group, const struct sample *sample)
{
    const char *job = node->entry.job;
    if (node->group != group || strcmp(node->entry.instance, sample->instance) != 0)
        return false;
    return job && sample->job ? strcmp(job, sample->job) == 0 : job == sample->job;
}

static bool is_node(const void *item, const void *key)
{
    const struct node_key *wanted = key;
    return is_of(item, wanted->group, wanted->sample);
}

static enum err node_find(struct latest *live, struct group *group, const struct sample *sample, struct node **found)
{
    if (group->cursor >= group->count)
        group->cursor = 0;
    if (group->count && is_of(group->nodes[group->cursor], group, sample)) {
        *found = group->nodes[group->cursor++];
        return OK;
    }
    uint64_t hash = hash_of(group, sample->job, sample->instance);
    struct node *node = map_find(&live->nodes, hash, is_node, &(struct node_key){ group, sample });
    enum err err = node ? OK : node_add(live, group, sample, hash, &node);
    if (err)
        return err;
    group->cursor = node->place + 1;
    *found = node;
    return OK;
}

static void copy_values(struct node *node, const struct sample *sample)
{
    size_t size = node->entry.set->size;
    memcpy((union value *)node->entry.values, sample->values, size * sizeof *sample->values);
    if (sample->known)
        memcpy((uint8_t *)node->entry.known, sample->known, size);
    else
        memset((uint8_t *)node->entry.known, 1, size);
}

static void unlink_owner(struct latest *live, struct node *node)
{
    struct owner *owner = node->owner;
    if (node->before)
        node->before->after = node->after;
    else
        owner->first = node->after;
    if (node->after)
        node->after->before = node->before;
    if (owner->first || owner == live->here)
        return;
    map_remove(&live->owners, map_hash_string(0, owner->id), owner);
    free(owner);
}

/* The last of the group takes its place. */
static void node_drop(struct latest *live, struct node *node)
{
    struct group *group = node->group;
    map_remove(&live->nodes, node->hash, node);
    group->nodes[node->place] = group->nodes[--group->count];
    group->nodes[node->place]->place = node->place;
    unlink_owner(live, node);
    free(node);
}

static void group_free(struct group *group)
{
    free(group->nodes);
    free(group->set);
    free(group);
}

static void drop_empty_groups(struct latest *live)
{
    size_t kept = 0;
    for (size_t i = 0; i < live->group_count; i++) {
        if (live->groups[i]->count)
            live->groups[kept++] = live->groups[i];
        else
            group_free(live->groups[i]);
    }
    live->group_count = kept;
    count_anew(live);
}

struct replacement {
    const struct node *by;
    const void *source;
};

static bool is_replaced(const void *item, const void *key)
{
    const struct node *node = item, *by = ((const struct replacement *)key)->by;
    return node != by && node->owner == by->owner && node->entry.source == ((const struct replacement *)key)->source
           && strcmp(node->entry.instance, by->entry.instance) == 0
           && strcmp(node->entry.set->name, by->entry.set->name) == 0;
}

/* A sampler that made its set anew, with metrics more, gives the same instances with it: those of the old set are over. */
static bool drop_replaced(struct latest *live, const struct node *by, const void *source)
{
    struct node *node = map_find(&live->nodes, by->hash, is_replaced, &(struct replacement){ by, source });
    if (node)
        node_drop(live, node);
    return node;
}

enum err latest_update_from(struct latest *live, const struct batch *batch, uint64_t period_ns, const void *source)
{
    enum err worst = OK;
    bool has_replaced = false;
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        struct group *group = group_of(live, sample->set);
        struct node *node;
        enum err err = group ? node_find(live, group, sample, &node) : NOMEM;
        if (err) {
            worst = err;
            continue;
        }
        has_replaced |= node->entry.updates == 0 && drop_replaced(live, node, source);
        copy_values(node, sample);
        node->entry.time_ns = sample->time_ns;
        node->entry.updates++;
        node->entry.period_ns = period_ns;
        node->entry.source = source;
        node->taken_ns = now_ns;
        group->taken = group->taken_ns == now_ns ? group->taken + 1 : 1;
        group->taken_ns = now_ns;
    }
    if (has_replaced)
        drop_empty_groups(live);
    return worst;
}

enum err latest_update(struct latest *live, const struct batch *batch, uint64_t period_ns)
{
    return latest_update_from(live, batch, period_ns, NULL);
}

void latest_drop_job(struct latest *live, const char *job)
{
    struct owner *owner = owner_find(live, job);
    if (!owner)
        return;
    for (struct node *node = owner->first, *after; node; node = after) { /* with the last one its owner goes too */
        after = node->after;
        node_drop(live, node);
    }
    drop_empty_groups(live);
}

struct condition {
    uint64_t since_ns;
    const void *source;
    uint64_t periods, at_least_ns, now_ns;
};

static void drop_if(struct latest *live, bool (*is_over)(const struct node *, const struct condition *),
                    const struct condition *condition)
{
    for (size_t i = 0; i < live->group_count; i++) {
        struct group *group = live->groups[i];
        for (size_t k = group->count; k-- > 0;)
            if (is_over(group->nodes[k], condition))
                node_drop(live, group->nodes[k]);
    }
    drop_empty_groups(live);
}

static bool is_unread(const struct node *node, const struct condition *condition)
{
    return node->entry.source == condition->source && node->taken_ns < condition->since_ns;
}

void latest_drop_missing(struct latest *live, const void *source, uint64_t since_ns)
{
    for (size_t i = 0; i < live->group_count; i++) {
        const struct group *group = live->groups[i];
        if (group->nodes[0]->entry.source != source || (group->taken_ns >= since_ns && group->taken >= group->count))
            continue;
        drop_if(live, is_unread, &(struct condition){ .source = source, .since_ns = since_ns });
        return;
    }
}

void latest_refresh_source(struct latest *live, const void *source)
{
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < live->group_count; i++)
        for (size_t k = 0; k < live->groups[i]->count; k++)
            if (live->groups[i]->nodes[k]->entry.source == source)
                live->groups[i]->nodes[k]->taken_ns = now_ns;
}

void latest_drop_source(struct latest *live, const void *source)
{
    drop_if(live, is_unread, &(struct condition){ .source = source, .since_ns = UINT64_MAX });
}

static bool is_stale(const struct node *node, const struct condition *condition)
{
    uint64_t age_ns = condition->now_ns - node->taken_ns;
    return age_ns > condition->at_least_ns && age_ns / condition->periods > node->entry.period_ns;
}

void latest_drop_stale(struct latest *live, uint64_t periods, uint64_t at_least_ns)
{
    drop_if(live, is_stale, &(struct condition){
        .periods = periods ? periods : 1, .at_least_ns = at_least_ns, .now_ns = clock_monotonic_ns(),
    });
}

const struct latest_entry *latest_next(const struct latest *live, size_t *at)
{
    if (*at >= live->count)
        return NULL;
    size_t low = 0, high = live->group_count; /* the last group that begins at or before *at, and is not empty */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (live->groups[middle]->begin <= *at)
            low = middle;
        else
            high = middle;
    }
    const struct group *group = live->groups[low];
    return &group->nodes[(*at)++ - group->begin]->entry;
}

size_t latest_count(const struct latest *live)
{
    return live->count;
}

void latest_close(struct latest **live)
{
    struct latest *l = *live;
    if (!l)
        return;
    for (size_t i = 0; i < l->group_count; i++) {
        for (size_t k = 0; k < l->groups[i]->count; k++)
            free(l->groups[i]->nodes[k]);
        group_free(l->groups[i]);
    }
    struct map_iterator at = { 0 };
    for (struct owner *owner; (owner = map_next(&l->owners, &at));)
        free(owner);
    map_clear(&l->owners);
    map_clear(&l->nodes);
    free(l->here);
    free(l->groups);
    free(l);
    *live = NULL;
}
