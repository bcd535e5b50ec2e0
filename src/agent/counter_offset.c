/* An entry for each set, instance and job, by the names of both sides: sets change with the settings. It holds the counters
 * that are still to be met in the new one, and those to which something is added. */
#include "agent/counter_offset.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_FIRST 64u

struct carried {
    const char *name;
    enum metric_type type;
    bool is_met;       /* offset is known */
    size_t place;      /* in the set, where it was last */
    union value last;  /* that was given out */
    union value offset;
};

struct carry_entry {
    struct carry_entry *next;
    uint32_t hash;
    const char *set, *instance, *job; /* job NULL: of the node. All texts stand behind the items */
    size_t count;
    struct carried items[];
};

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return (hash ^ 0xffu) * 16777619u;
}

static uint32_t hash_of(const char *set, const char *instance, const char *job)
{
    return hash_text(hash_text(hash_text(2166136261u, set), instance), job ? job : "");
}

static bool is_job(const struct carry_entry *entry, const char *job)
{
    return entry->job && job ? strcmp(entry->job, job) == 0 : entry->job == job;
}

/* Where the pointer to it stands; NULL there: it is not known. */
static struct carry_entry **find(struct carry *carry, const char *set, const char *instance, const char *job)
{
    uint32_t hash = hash_of(set, instance, job);
    struct carry_entry **place = &carry->buckets[hash & (carry->bucket_count - 1)];
    while (*place && ((*place)->hash != hash || strcmp((*place)->set, set) != 0
                      || strcmp((*place)->instance, instance) != 0 || !is_job(*place, job)))
        place = &(*place)->next;
    return place;
}

static void drop(struct carry *carry, struct carry_entry **place)
{
    struct carry_entry *entry = *place;
    *place = entry->next;
    free(entry);
    carry->count--;
}

static void drop_if(struct carry *carry, bool (*is_over)(const struct carry_entry *, const char *), const char *job)
{
    for (size_t i = 0; carry->count && i < carry->bucket_count; i++)
        for (struct carry_entry **place = &carry->buckets[i]; *place;)
            if (is_over(*place, job))
                drop(carry, place);
            else
                place = &(*place)->next;
}

static bool is_unmet(const struct carry_entry *entry, const char *job)
{
    (void)job;
    for (size_t i = 0; i < entry->count; i++)
        if (entry->items[i].is_met)
            return false;
    return !(entry->job && !*entry->instance);
}

void carry_drop_unmet(struct carry *carry) { drop_if(carry, is_unmet, NULL); }

void carry_drop_job(struct carry *carry, const char *job) { drop_if(carry, is_job, job); }

static bool is_any(const struct carry_entry *entry, const char *job) { return (void)entry, (void)job, true; }

void carry_clear(struct carry *carry)
{
    drop_if(carry, is_any, NULL);
    free(carry->buckets);
    *carry = (struct carry){ 0 };
}

static bool grow(struct carry *carry)
{
    if (carry->count < carry->bucket_count)
        return true;
    size_t count = carry->bucket_count ? carry->bucket_count * 2 : BUCKETS_FIRST;
    struct carry_entry **buckets = calloc(count, sizeof(struct carry_entry *));
    if (!buckets)
        return false;
    for (size_t i = 0; i < carry->bucket_count; i++)
        for (struct carry_entry *entry = carry->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            entry->next = buckets[entry->hash & (count - 1)];
            buckets[entry->hash & (count - 1)] = entry;
        }
    free(carry->buckets);
    carry->buckets = buckets;
    carry->bucket_count = count;
    return true;
}

static const char *put_text(char **room, const char *text)
{
    size_t size = strlen(text) + 1;
    char *at = memcpy(*room, text, size);
    *room += size;
    return at;
}

static bool is_counted(const struct live_entry *live, size_t i)
{
    return live->set->metrics[i].kind == COUNTER && live->known[i];
}

/* How many counters there are to carry, and the bytes of all texts. */
static size_t measure(const struct live_entry *live, size_t *text_bytes)
{
    size_t count = 0;
    *text_bytes = strlen(live->set->name) + strlen(live->instance) + (live->job ? strlen(live->job) : 0) + 3;
    for (size_t i = 0; i < live->set->size; i++)
        if (is_counted(live, i)) {
            count++;
            *text_bytes += strlen(live->set->metrics[i].name) + 1;
        }
    return count;
}

static struct carry_entry *entry_new(const struct live_entry *live, size_t count, size_t text_bytes)
{
    struct carry_entry *entry = calloc(1, sizeof *entry + count * sizeof *entry->items + text_bytes);
    if (!entry)
        return NULL;
    char *room = (char *)&entry->items[count];
    entry->set = put_text(&room, live->set->name);
    entry->instance = put_text(&room, live->instance);
    entry->job = live->job ? put_text(&room, live->job) : NULL;
    entry->hash = hash_of(entry->set, entry->instance, entry->job);
    for (size_t i = 0; i < live->set->size; i++)
        if (is_counted(live, i))
            entry->items[entry->count++] = (struct carried){
                .name = put_text(&room, live->set->metrics[i].name), .type = live->set->metrics[i].type, .place = i,
                .last = live->values[i],
            };
    return entry;
}

static enum err note_one(struct carry *carry, const struct live_entry *live)
{
    size_t text_bytes, count = measure(live, &text_bytes);
    if (!grow(carry))
        return NOMEM;
    struct carry_entry **place = find(carry, live->set->name, live->instance, live->job);
    if (*place)
        drop(carry, place);
    struct carry_entry *made = count ? entry_new(live, count, text_bytes) : NULL;
    if (!made)
        return count ? NOMEM : OK;
    place = &carry->buckets[made->hash & (carry->bucket_count - 1)];
    made->next = *place;
    *place = made;
    carry->count++;
    return OK;
}

/* What was carried before and is not shown now is met again from its own last value. */
static void forget_offsets(struct carry *carry)
{
    for (size_t i = 0; i < carry->bucket_count; i++)
        for (struct carry_entry *entry = carry->buckets[i]; entry; entry = entry->next)
            for (size_t k = 0; k < entry->count; k++)
                entry->items[k].is_met = false;
}

enum err carry_note(struct carry *carry, const struct live *live, const void *source)
{
    enum err err = OK;
    const struct live_entry *entry;
    forget_offsets(carry);
    for (size_t at = 0; !err && (entry = live_next(live, &at));)
        if (entry->source == source)
            err = note_one(carry, entry);
    return err;
}

static bool is_less(enum metric_type type, union value a, union value b)
{
    return type == U64 ? a.u64 < b.u64 : type == I64 ? a.i64 < b.i64 : a.f64 < b.f64;
}

/* Unsigned, so that what wraps is defined; the bits are the same. */
static union value plus(enum metric_type type, union value a, union value b)
{
    return type == F64 ? (union value){ .f64 = a.f64 + b.f64 } : (union value){ .u64 = a.u64 + b.u64 };
}

static union value minus(enum metric_type type, union value a, union value b)
{
    return type == F64 ? (union value){ .f64 = a.f64 - b.f64 } : (union value){ .u64 = a.u64 - b.u64 };
}

static bool is_at(const struct carried *item, const struct set *set, size_t i)
{
    const struct metric *metric = &set->metrics[i];
    return metric->kind == COUNTER && metric->type == item->type && strcmp(metric->name, item->name) == 0;
}

/* False: the set does not have it, or it is not known this time. */
static bool find_value(struct carried *item, const struct sample *sample, union value **value)
{
    const struct set *set = sample->set;
    if (item->place >= set->size || !is_at(item, set, item->place))
        for (item->place = 0; item->place < set->size && !is_at(item, set, item->place);)
            item->place++;
    if (item->place == set->size || (sample->known && !sample->known[item->place]))
        return false;
    *value = (union value *)&sample->values[item->place];
    return true;
}

/* False: there is nothing to add to it, now or later. */
static bool adjust(struct carried *item, union value *value)
{
    if (!item->is_met) {
        if (!is_less(item->type, *value, item->last))
            return false;
        item->offset = minus(item->type, item->last, *value);
        item->is_met = true;
    }
    union value sum = plus(item->type, *value, item->offset);
    if (is_less(item->type, sum, item->last))
        return false;
    *value = item->last = sum;
    return true;
}

static void adjust_all(struct carry_entry *entry, const struct sample *sample)
{
    union value *value;
    for (size_t i = 0; i < entry->count;)
        if (find_value(&entry->items[i], sample, &value) && !adjust(&entry->items[i], value))
            entry->items[i] = entry->items[--entry->count];
        else
            i++;
}

void carry_apply(struct carry *carry, struct batch *batch, size_t from)
{
    for (size_t i = from; carry->count && i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        struct carry_entry **place = find(carry, sample->set->name, sample->instance, sample->job);
        if (!*place)
            continue;
        adjust_all(*place, sample);
        if ((*place)->count == 0)
            drop(carry, place);
    }
}
