/* One entry per set, instance and job, matched by name, because sets change with the settings. It has the counters that
 * were not seen again yet, and those with an offset. */
#include "agent/counter_offset.h"

#include <stdlib.h>
#include <string.h>

struct counter_offset {
    const char *name;
    enum metric_type type;
    bool has_offset;  /* offset is known */
    size_t index;     /* index in the set, where it was last */
    union value last; /* as reported */
    union value offset;
};

struct counter_offset_entry {
    const char *set, *instance, *job; /* job NULL: of the node. All strings are stored after the items */
    size_t count;
    struct counter_offset items[];
};

struct entry_key {
    const char *set, *instance, *job;
};

static uint64_t hash_of(const struct entry_key *key)
{
    return map_hash_string(map_hash_string(map_hash_string(0, key->set), key->instance), key->job);
}

static bool is_job(const struct counter_offset_entry *entry, const char *job)
{
    return entry->job && job ? strcmp(entry->job, job) == 0 : entry->job == job;
}

static bool is_entry(const void *item, const void *key)
{
    const struct counter_offset_entry *entry = item;
    const struct entry_key *wanted = key;
    return strcmp(entry->set, wanted->set) == 0 && strcmp(entry->instance, wanted->instance) == 0
           && is_job(entry, wanted->job);
}

static struct counter_offset_entry *find(const struct counter_offsets *offsets, const struct entry_key *key)
{
    return map_find(&offsets->entries, hash_of(key), is_entry, key);
}

static void drop(struct counter_offsets *offsets, struct counter_offset_entry *entry)
{
    map_remove(&offsets->entries, hash_of(&(struct entry_key){ entry->set, entry->instance, entry->job }), entry);
    free(entry);
}

static void drop_if(struct counter_offsets *offsets, bool (*is_over)(const struct counter_offset_entry *, const char *),
                    const char *job)
{
    struct map_iterator at = { 0 };
    for (struct counter_offset_entry *entry; (entry = map_next(&offsets->entries, &at));)
        if (is_over(entry, job))
            drop(offsets, entry);
}

static bool is_unmatched(const struct counter_offset_entry *entry, const char *job)
{
    (void)job;
    for (size_t i = 0; i < entry->count; i++)
        if (entry->items[i].has_offset)
            return false;
    return !(entry->job && !*entry->instance);
}

void counter_offsets_drop_unmatched(struct counter_offsets *offsets) { drop_if(offsets, is_unmatched, NULL); }

void counter_offsets_drop_job(struct counter_offsets *offsets, const char *job) { drop_if(offsets, is_job, job); }

static bool is_any(const struct counter_offset_entry *entry, const char *job) { return (void)entry, (void)job, true; }

void counter_offsets_clear(struct counter_offsets *offsets)
{
    drop_if(offsets, is_any, NULL);
    map_clear(&offsets->entries);
}

static const char *append_string(char **end, const char *text)
{
    size_t size = strlen(text) + 1;
    char *at = memcpy(*end, text, size);
    *end += size;
    return at;
}

static bool is_counted(const struct latest_entry *live, size_t i)
{
    return live->set->metrics[i].kind == COUNTER && live->known[i];
}

/* Number of counters to keep, and the bytes of all strings. */
static size_t measure(const struct latest_entry *live, size_t *string_bytes)
{
    size_t count = 0;
    *string_bytes = strlen(live->set->name) + strlen(live->instance) + (live->job ? strlen(live->job) : 0) + 3;
    for (size_t i = 0; i < live->set->size; i++)
        if (is_counted(live, i)) {
            count++;
            *string_bytes += strlen(live->set->metrics[i].name) + 1;
        }
    return count;
}

static struct counter_offset_entry *entry_new(const struct latest_entry *live, size_t count, size_t string_bytes)
{
    struct counter_offset_entry *entry = calloc(1, sizeof *entry + count * sizeof *entry->items + string_bytes);
    if (!entry)
        return NULL;
    char *end = (char *)&entry->items[count];
    entry->set = append_string(&end, live->set->name);
    entry->instance = append_string(&end, live->instance);
    entry->job = live->job ? append_string(&end, live->job) : NULL;
    for (size_t i = 0; i < live->set->size; i++)
        if (is_counted(live, i))
            entry->items[entry->count++] = (struct counter_offset){
                .name = append_string(&end, live->set->metrics[i].name), .type = live->set->metrics[i].type, .index = i,
                .last = live->values[i],
            };
    return entry;
}

static enum err save_entry(struct counter_offsets *offsets, const struct latest_entry *live)
{
    size_t string_bytes, count = measure(live, &string_bytes);
    struct entry_key key = { live->set->name, live->instance, live->job };
    struct counter_offset_entry *old = find(offsets, &key), *new = count ? entry_new(live, count, string_bytes) : NULL;
    if (old)
        drop(offsets, old);
    if (!new)
        return count ? NOMEM : OK;
    enum err err = map_add(&offsets->entries, hash_of(&key), new, LATEST_ENTRIES_MAX);
    if (err)
        free(new);
    return err;
}

/* Counters with an offset that are not in live now are matched again from their own last value. */
static void forget_offsets(struct counter_offsets *offsets)
{
    struct map_iterator at = { 0 };
    for (struct counter_offset_entry *entry; (entry = map_next(&offsets->entries, &at));)
        for (size_t i = 0; i < entry->count; i++)
            entry->items[i].has_offset = false;
}

enum err counter_offsets_save(struct counter_offsets *offsets, const struct latest *live, const void *source)
{
    enum err err = OK;
    const struct latest_entry *entry;
    forget_offsets(offsets);
    for (size_t at = 0; !err && (entry = latest_next(live, &at));)
        if (entry->source == source)
            err = save_entry(offsets, entry);
    return err;
}

static bool is_less(enum metric_type type, union value a, union value b)
{
    return type == U64 ? a.u64 < b.u64 : type == I64 ? a.i64 < b.i64 : a.f64 < b.f64;
}

/* Unsigned, so that wrapping is defined; the bits are the same. */
static union value plus(enum metric_type type, union value a, union value b)
{
    return type == F64 ? (union value){ .f64 = a.f64 + b.f64 } : (union value){ .u64 = a.u64 + b.u64 };
}

static union value minus(enum metric_type type, union value a, union value b)
{
    return type == F64 ? (union value){ .f64 = a.f64 - b.f64 } : (union value){ .u64 = a.u64 - b.u64 };
}

static bool is_at(const struct counter_offset *item, const struct set *set, size_t i)
{
    const struct metric *metric = &set->metrics[i];
    return metric->kind == COUNTER && metric->type == item->type && strcmp(metric->name, item->name) == 0;
}

/* False: the set does not have it, or its value is unknown this time. */
static bool find_value(struct counter_offset *item, const struct sample *sample, union value **value)
{
    const struct set *set = sample->set;
    if (item->index >= set->size || !is_at(item, set, item->index))
        for (item->index = 0; item->index < set->size && !is_at(item, set, item->index);)
            item->index++;
    if (item->index == set->size || (sample->known && !sample->known[item->index]))
        return false;
    *value = (union value *)&sample->values[item->index];
    return true;
}

/* False: no offset is needed, now or later. */
static bool adjust(struct counter_offset *item, union value *value)
{
    if (!item->has_offset) {
        if (!is_less(item->type, *value, item->last))
            return false;
        item->offset = minus(item->type, item->last, *value);
        item->has_offset = true;
    }
    union value sum = plus(item->type, *value, item->offset);
    if (is_less(item->type, sum, item->last))
        return false;
    *value = item->last = sum;
    return true;
}

static void adjust_all(struct counter_offset_entry *entry, const struct sample *sample)
{
    union value *value;
    for (size_t i = 0; i < entry->count;)
        if (find_value(&entry->items[i], sample, &value) && !adjust(&entry->items[i], value))
            entry->items[i] = entry->items[--entry->count];
        else
            i++;
}

void counter_offsets_apply(struct counter_offsets *offsets, struct batch *batch, size_t from)
{
    for (size_t i = from; offsets->entries.count && i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        struct counter_offset_entry *entry =
            find(offsets, &(struct entry_key){ sample->set->name, sample->instance, sample->job });
        if (!entry)
            continue;
        adjust_all(entry, sample);
        if (entry->count == 0)
            drop(offsets, entry);
    }
}
