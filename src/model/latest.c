/* Entries are grouped by set; a map finds the entry of a sample, and those of a job are linked, so that thousands of jobs can
 * start and end. Sets and strings are copied, because a sampler can be closed while its last values are still shown. */
#include "model/latest.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/set.h"

#include <stdlib.h>
#include <string.h>

/* A job or the node, with its entries. */
struct latest_owner {
    struct latest_node *first; /* its entries */
    char id[];
};

struct latest_group;

struct latest_node {
    struct latest_entry entry; /* its arrays follow the node in the same allocation */
    struct latest_group *group;
    size_t index;            /* index in group->nodes */
    struct latest_owner *owner;
    struct latest_node *before, *after; /* of the same owner */
    uint64_t updated_ns; /* CLOCK_MONOTONIC of the last update: time_ns can jump */
    uint64_t hash;
};

struct latest_group {
    struct set *set; /* our copy */
    struct set_address address; /* of the set of the last sample */
    struct latest_node **nodes;
    size_t count, capacity, begin; /* begin: number of entries in the groups before */
    uint64_t updated_ns; /* CLOCK_MONOTONIC of the last batch with samples of this set */
    size_t updated_count;      /* number of samples in that batch */
    size_t cursor; /* index of the next expected entry: samples come in the same order at each tick */
};

struct latest {
    struct latest_group **groups;
    size_t group_count, count;
    struct map nodes;  /* by set name, job and instance */
    struct map owners; /* by job */
    struct latest_owner *node_owner; /* the node */
};

static uint64_t hash_of(const struct latest_group *group, const char *job, const char *instance)
{
    return map_hash_string(map_hash_string(map_hash_string(0, group->set->name), job), instance);
}

static struct latest_owner *owner_new(const char *id)
{
    size_t size = strlen(id) + 1;
    struct latest_owner *owner = calloc(1, sizeof *owner + size);
    if (owner)
        memcpy(owner->id, id, size);
    return owner;
}

enum err latest_open(struct latest **latest)
{
    struct latest *l = *latest = calloc(1, sizeof *l);
    if (!l)
        return NOMEM;
    l->node_owner = owner_new("");
    if (l->node_owner)
        return OK;
    latest_close(latest);
    return NOMEM;
}

static bool is_owner(const void *owner, const void *id)
{
    return strcmp(((const struct latest_owner *)owner)->id, id) == 0;
}

static struct latest_owner *owner_find(const struct latest *latest, const char *id)
{
    return map_find(&latest->owners, map_hash_string(0, id), is_owner, id);
}

/* NULL: out of memory. */
static struct latest_owner *owner_of(struct latest *latest, const char *job)
{
    if (!job)
        return latest->node_owner;
    struct latest_owner *owner = owner_find(latest, job);
    if (owner)
        return owner;
    owner = owner_new(job);
    if (!owner || map_add(&latest->owners, map_hash_string(0, job), owner, LATEST_ENTRIES_MAX) == OK)
        return owner;
    free(owner);
    return NULL;
}

static void count_entries(struct latest *latest)
{
    size_t count = 0;
    for (size_t i = 0; i < latest->group_count; i++) {
        latest->groups[i]->begin = count;
        count += latest->groups[i]->count;
    }
    latest->count = count;
}

static struct latest_group *group_new(struct latest *latest, const struct set *set)
{
    if (array_resize(latest->groups, latest->group_count + 1))
        return NULL;
    struct latest_group *group = calloc(1, sizeof *group);
    struct set *copy = group ? set_copy(set) : NULL;
    if (!copy) {
        free(group);
        return NULL;
    }
    group->set = copy;
    group->address = set_address_of(set);
    group->begin = latest->count;
    latest->groups[latest->group_count++] = group;
    return group;
}

/* Addresses first: equal addresses mean the same set, until latest_forget_addresses is called. */
static struct latest_group *group_of(struct latest *latest, const struct set *set)
{
    for (size_t i = 0; i < latest->group_count; i++)
        if (set_address_equal(&latest->groups[i]->address, set))
            return latest->groups[i];
    for (size_t i = 0; i < latest->group_count; i++)
        if (set_equal(latest->groups[i]->set, set)) {
            latest->groups[i]->address = set_address_of(set);
            return latest->groups[i];
        }
    return group_new(latest, set);
}

void latest_forget_addresses(struct latest *latest)
{
    for (size_t i = 0; i < latest->group_count; i++)
        latest->groups[i]->address = (struct set_address){ 0 };
}

static struct latest_node *node_new(const struct latest_group *group, const char *instance)
{
    size_t size = group->set->size, text = strlen(instance) + 1;
    struct latest_node *node = calloc(1, sizeof *node + size * (sizeof(union value) + 1) + text);
    if (!node)
        return NULL;
    union value *values = (union value *)(node + 1);
    uint8_t *known = (uint8_t *)(values + size);
    char *copy = memcpy(known + size, instance, text);
    node->entry = (struct latest_entry){ .set = group->set, .instance = copy, .values = values, .known = known };
    return node;
}

static void link_owner(struct latest_node *node, struct latest_owner *owner, const struct latest *latest)
{
    node->owner = owner;
    node->entry.job = owner == latest->node_owner ? NULL : owner->id;
    node->after = owner->first;
    if (owner->first)
        owner->first->before = node;
    owner->first = node;
}

static void link_group(struct latest *latest, struct latest_group *group, struct latest_node *node)
{
    node->group = group;
    node->index = group->count;
    group->nodes[group->count++] = node;
    latest->count++;
    if (group != latest->groups[latest->group_count - 1])
        count_entries(latest);
}

static enum err node_add(struct latest *latest, struct latest_group *group, const struct sample *sample, uint64_t hash,
                         struct latest_node **added)
{
    enum err err = map_reserve(&latest->nodes, latest->nodes.count + 1, LATEST_ENTRIES_MAX);
    if (err)
        return err;
    if (array_reserve(group->nodes, group->capacity, group->count + 1, VEC_MAX))
        return NOMEM;
    struct latest_node *node = node_new(group, sample->instance);
    struct latest_owner *owner = node ? owner_of(latest, sample->job) : NULL;
    if (!owner) {
        free(node);
        return NOMEM;
    }
    node->hash = hash;
    map_add(&latest->nodes, hash, node, LATEST_ENTRIES_MAX);
    node->entry.first_ns = sample->time_ns;
    link_owner(node, owner, latest);
    link_group(latest, group, node);
    *added = node;
    return OK;
}

struct node_key {
    const struct latest_group *group;
    const struct sample *sample;
};

static bool is_of(const struct latest_node *node, const struct latest_group *group, const struct sample *sample)
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

static enum err node_find(struct latest *latest, struct latest_group *group, const struct sample *sample,
                          struct latest_node **found)
{
    if (group->cursor >= group->count)
        group->cursor = 0;
    if (group->count && is_of(group->nodes[group->cursor], group, sample)) {
        *found = group->nodes[group->cursor++];
        return OK;
    }
    uint64_t hash = hash_of(group, sample->job, sample->instance);
    struct latest_node *node = map_find(&latest->nodes, hash, is_node, &(struct node_key){ group, sample });
    enum err err = node ? OK : node_add(latest, group, sample, hash, &node);
    if (err)
        return err;
    group->cursor = node->index + 1;
    *found = node;
    return OK;
}

static void copy_values(struct latest_node *node, const struct sample *sample)
{
    size_t size = node->entry.set->size;
    memcpy((union value *)node->entry.values, sample->values, size * sizeof *sample->values);
    if (sample->known)
        memcpy((uint8_t *)node->entry.known, sample->known, size);
    else
        memset((uint8_t *)node->entry.known, 1, size);
}

static void unlink_owner(struct latest *latest, struct latest_node *node)
{
    struct latest_owner *owner = node->owner;
    if (node->before)
        node->before->after = node->after;
    else
        owner->first = node->after;
    if (node->after)
        node->after->before = node->before;
    if (owner->first || owner == latest->node_owner)
        return;
    map_remove(&latest->owners, map_hash_string(0, owner->id), owner);
    free(owner);
}

/* The last node of the group takes its index. */
static void node_drop(struct latest *latest, struct latest_node *node)
{
    struct latest_group *group = node->group;
    map_remove(&latest->nodes, node->hash, node);
    group->nodes[node->index] = group->nodes[--group->count];
    group->nodes[node->index]->index = node->index;
    unlink_owner(latest, node);
    free(node);
}

static void group_free(struct latest_group *group)
{
    free(group->nodes);
    free(group->set);
    free(group);
}

static void drop_empty_groups(struct latest *latest)
{
    size_t kept = 0;
    for (size_t i = 0; i < latest->group_count; i++) {
        if (latest->groups[i]->count)
            latest->groups[kept++] = latest->groups[i];
        else
            group_free(latest->groups[i]);
    }
    latest->group_count = kept;
    count_entries(latest);
}

struct replacement {
    const struct latest_node *by;
    const void *source;
};

static bool is_replaced(const void *item, const void *key)
{
    const struct latest_node *node = item, *by = ((const struct replacement *)key)->by;
    return node != by && node->owner == by->owner && node->entry.source == ((const struct replacement *)key)->source
           && strcmp(node->entry.instance, by->entry.instance) == 0
           && strcmp(node->entry.set->name, by->entry.set->name) == 0;
}

/* A sampler that has extended its set returns the same instances with the new set: the entries of the old set are dropped. */
static bool drop_replaced(struct latest *latest, const struct latest_node *by, const void *source)
{
    struct latest_node *node = map_find(&latest->nodes, by->hash, is_replaced, &(struct replacement){ by, source });
    if (node)
        node_drop(latest, node);
    return node;
}

enum err latest_update_from(struct latest *latest, const struct batch *batch, uint64_t period_ns, const void *source)
{
    enum err worst = OK;
    bool has_replaced = false;
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        struct latest_group *group = group_of(latest, sample->set);
        struct latest_node *node;
        enum err err = group ? node_find(latest, group, sample, &node) : NOMEM;
        if (err) {
            worst = err;
            continue;
        }
        has_replaced |= node->entry.updates == 0 && drop_replaced(latest, node, source);
        copy_values(node, sample);
        node->entry.time_ns = sample->time_ns;
        node->entry.updates++;
        node->entry.period_ns = period_ns;
        node->entry.read_ns = batch->read_ns;
        node->entry.source = source;
        node->updated_ns = now_ns;
        group->updated_count = group->updated_ns == now_ns ? group->updated_count + 1 : 1;
        group->updated_ns = now_ns;
    }
    if (has_replaced)
        drop_empty_groups(latest);
    return worst;
}

enum err latest_update(struct latest *latest, const struct batch *batch, uint64_t period_ns)
{
    return latest_update_from(latest, batch, period_ns, NULL);
}

void latest_drop_job(struct latest *latest, const char *job)
{
    struct latest_owner *owner = owner_find(latest, job);
    if (!owner)
        return;
    for (struct latest_node *node = owner->first, *after; node; node = after) { /* the last one frees the owner too */
        after = node->after;
        node_drop(latest, node);
    }
    drop_empty_groups(latest);
}

struct drop_condition {
    uint64_t since_ns;
    const void *source;
    uint64_t periods, at_least_ns, now_ns;
};

static void drop_if(struct latest *latest, bool (*is_dropped)(const struct latest_node *, const struct drop_condition *),
                    const struct drop_condition *condition)
{
    for (size_t i = 0; i < latest->group_count; i++) {
        struct latest_group *group = latest->groups[i];
        for (size_t k = group->count; k-- > 0;)
            if (is_dropped(group->nodes[k], condition))
                node_drop(latest, group->nodes[k]);
    }
    drop_empty_groups(latest);
}

static bool is_missing(const struct latest_node *node, const struct drop_condition *condition)
{
    return node->entry.source == condition->source && node->updated_ns < condition->since_ns;
}

void latest_drop_missing(struct latest *latest, const void *source, uint64_t since_ns)
{
    for (size_t i = 0; i < latest->group_count; i++) {
        const struct latest_group *group = latest->groups[i];
        if (!group->count || group->nodes[0]->entry.source != source /* empty: its first entry found no memory */
            || (group->updated_ns >= since_ns && group->updated_count >= group->count))
            continue;
        drop_if(latest, is_missing, &(struct drop_condition){ .source = source, .since_ns = since_ns });
        return;
    }
}

void latest_refresh_source(struct latest *latest, const void *source)
{
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < latest->group_count; i++)
        for (size_t k = 0; k < latest->groups[i]->count; k++)
            if (latest->groups[i]->nodes[k]->entry.source == source)
                latest->groups[i]->nodes[k]->updated_ns = now_ns;
}

void latest_drop_source(struct latest *latest, const void *source)
{
    drop_if(latest, is_missing, &(struct drop_condition){ .source = source, .since_ns = UINT64_MAX });
}

static bool is_stale(const struct latest_node *node, const struct drop_condition *condition)
{
    uint64_t age_ns = condition->now_ns - node->updated_ns;
    return age_ns > condition->at_least_ns && age_ns / condition->periods > node->entry.period_ns;
}

void latest_drop_stale(struct latest *latest, uint64_t periods, uint64_t at_least_ns)
{
    drop_if(latest, is_stale, &(struct drop_condition){
        .periods = periods ? periods : 1, .at_least_ns = at_least_ns, .now_ns = clock_monotonic_ns(),
    });
}

const struct latest_entry *latest_next(const struct latest *latest, size_t *at)
{
    if (*at >= latest->count)
        return NULL;
    size_t low = 0, high = latest->group_count; /* the last group that begins at or before *at */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (latest->groups[middle]->begin <= *at)
            low = middle;
        else
            high = middle;
    }
    const struct latest_group *group = latest->groups[low];
    return &group->nodes[(*at)++ - group->begin]->entry;
}

size_t latest_count(const struct latest *latest)
{
    return latest->count;
}

void latest_close(struct latest **latest)
{
    struct latest *l = *latest;
    if (!l)
        return;
    for (size_t i = 0; i < l->group_count; i++) {
        for (size_t k = 0; k < l->groups[i]->count; k++)
            free(l->groups[i]->nodes[k]);
        group_free(l->groups[i]);
    }
    struct map_iterator at = { 0 };
    for (struct latest_owner *owner; (owner = map_next(&l->owners, &at));)
        free(owner);
    map_clear(&l->owners);
    map_clear(&l->nodes);
    free(l->node_owner);
    free(l->groups);
    free(l);
    *latest = NULL;
}
