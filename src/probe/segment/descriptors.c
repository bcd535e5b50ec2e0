/* The metrics of a segment: descriptors are appended to its blocks and looked up by name and labels. */
#include "base/hash.h"
#include "probe/segment/internal.h"

#include <math.h>

/* table entry for a name regardless of its labels; otherwise for name and labels. Other bits: offset / 8 */
#define FAMILY 0x80000000u
#define NAMES_MIN 64u
#define BLOCK_PAGES_MAX 64u

struct descriptor_key {
    const char *name, *labels;
    uint32_t name_bytes, label_bytes;
};

static const char *text_of(const struct segment_descriptor *descriptor)
{
    return (const char *)(descriptor + 1) + descriptor->bounds * sizeof(double);
}

static struct descriptor_key key_of(const struct segment_descriptor *descriptor)
{
    const char *name = text_of(descriptor);
    return (struct descriptor_key){ name, name + descriptor->name_bytes, descriptor->name_bytes, descriptor->label_bytes };
}

static uint32_t hash_of(const struct descriptor_key *key, bool is_family)
{
    uint64_t hash = hash_add(HASH_START, key->name, key->name_bytes);
    if (!is_family)
        hash = hash_add(hash ^ 0xff, key->labels, key->label_bytes) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static const struct segment_descriptor *descriptor_at(const struct segment *segment, uint32_t entry)
{
    return segment_at(segment, (uint64_t)(entry & ~FAMILY) * 8);
}

static bool is_same(const struct segment *segment, uint32_t entry, const struct descriptor_key *key, bool is_family)
{
    if ((entry & FAMILY) != (is_family ? FAMILY : 0))
        return false;
    struct descriptor_key other = key_of(descriptor_at(segment, entry));
    return other.name_bytes == key->name_bytes && memcmp(other.name, key->name, key->name_bytes) == 0
           && (is_family
               || (other.label_bytes == key->label_bytes && memcmp(other.labels, key->labels, key->label_bytes) == 0));
}

/* The entry of a key, or the empty one where it belongs. The table is never full. */
static uint32_t *find(const struct segment *segment, const struct descriptor_key *key, bool is_family)
{
    const struct segment_arena *arena = segment->arena;
    uint32_t at = hash_of(key, is_family) & (arena->name_capacity - 1);
    while (arena->names[at] && !is_same(segment, arena->names[at], key, is_family))
        at = (at + 1) & (arena->name_capacity - 1);
    return &arena->names[at];
}

static bool grow(struct segment *segment)
{
    struct segment_arena *arena = segment->arena;
    if ((arena->name_count + 2) * 2 <= arena->name_capacity)
        return true;
    uint32_t capacity = arena->name_capacity, *before = arena->names;
    uint32_t *names = segment_arena_alloc(segment, (capacity ? (size_t)capacity * 2 : NAMES_MIN) * sizeof *names);
    if (!names)
        return false;
    arena->names = names;
    arena->name_capacity = capacity ? capacity * 2 : NAMES_MIN;
    for (uint32_t i = 0; i < capacity; i++)
        if (before[i]) {
            struct descriptor_key key = key_of(descriptor_at(segment, before[i]));
            *find(segment, &key, before[i] & FAMILY) = before[i];
        }
    return true;
}

/* The caller has made sure that both entries fit. */
static void insert(struct segment *segment, uint64_t place)
{
    uint32_t entry = (uint32_t)(place / 8);
    struct descriptor_key key = key_of(descriptor_at(segment, entry));
    uint32_t *family = find(segment, &key, true);
    if (!*family) {
        *family = entry | FAMILY;
        segment->arena->name_count++;
    }
    *find(segment, &key, false) = entry;
    segment->arena->name_count++;
}

static bool is_rising(const double *bounds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(bounds[i]) || (i && bounds[i] <= bounds[i - 1]))
            return false;
    return true;
}

static bool is_valid(const struct segment_description *description)
{
    bool has_bounds = description->bound_count > 0;
    switch (description->kind) {
    case SEGMENT_COUNTER:
        return !has_bounds && description->type >= SEGMENT_U64 && description->type <= SEGMENT_TICKS;
    case SEGMENT_GAUGE:
        return !has_bounds && description->type == SEGMENT_F64;
    case SEGMENT_HISTOGRAM:
        return description->bound_count <= SEGMENT_BOUNDS_MAX && description->type >= SEGMENT_U64
               && description->type <= SEGMENT_F64 && is_rising(description->bounds, description->bound_count);
    default:
        return false;
    }
}

/* UINT32_MAX: too long. */
static uint32_t size_of(const char *text)
{
    size_t size = text ? strnlen(text, SEGMENT_STRING_MAX + 1) : 0;
    return size > SEGMENT_STRING_MAX ? UINT32_MAX : (uint32_t)size;
}

static bool measure(struct segment_descriptor *head, const struct segment_description *description)
{
    *head = (struct segment_descriptor){
        .kind = (uint8_t)description->kind,
        .type = (uint8_t)description->type,
        .bounds = (uint16_t)description->bound_count,
        .name_bytes = size_of(description->name),
        .label_bytes = size_of(description->labels),
        .unit_bytes = size_of(description->unit),
        .help_bytes = size_of(description->help),
    };
    if (head->name_bytes == 0 || head->name_bytes > SEGMENT_STRING_MAX || head->label_bytes > SEGMENT_STRING_MAX
        || head->unit_bytes > SEGMENT_STRING_MAX || head->help_bytes > SEGMENT_STRING_MAX
        || head->name_bytes + head->label_bytes + 2 > SEGMENT_NAME_MAX)
        return false;
    size_t bytes = sizeof *head + head->bounds * sizeof(double) + head->name_bytes + head->label_bytes + head->unit_bytes
                   + head->help_bytes;
    head->bytes = (uint32_t)((bytes + 7) & ~(size_t)7);
    return true;
}

bool segment_description_is_valid(const struct segment_description *description)
{
    struct segment_descriptor head;
    return is_valid(description) && measure(&head, description);
}

/* The bounds may differ between labels, but not for the same metric. */
static bool is_same_metric(const struct segment_descriptor *existing, const struct segment_description *wanted,
                           bool is_family)
{
    if (existing->kind != wanted->kind || existing->type != wanted->type)
        return false;
    size_t bytes = existing->bounds * sizeof(double);
    return is_family || (existing->bounds == wanted->bound_count
                         && (!bytes || memcmp(existing + 1, wanted->bounds, bytes) == 0));
}

void segment_descriptors_keep_adjacent(struct segment *segment, uint32_t slots)
{
    uint32_t at = segment->next[false], in_chunk = at & (SEGMENT_CHUNK_SLOTS - 1);
    if (at != 0 && in_chunk >= SEGMENT_HEAD_SLOTS && in_chunk + slots > SEGMENT_CHUNK_SLOTS)
        /* the end of this chunk: alloc_slots continues in the next */
        segment->next[false] = (at | (SEGMENT_CHUNK_SLOTS - 1)) + 1;
}

/* Slots for a new metric, which never cross a chunk boundary. SEGMENT_METRIC_NONE: none left. */
static uint32_t alloc_slots(struct segment *segment, const struct segment_description *description)
{
    bool is_of_process = description->kind == SEGMENT_GAUGE;
    uint32_t slots = segment_slot_count(description->kind, description->type, (uint32_t)description->bound_count);
    uint32_t at = segment->next[is_of_process];
    uint32_t in_chunk = at & (SEGMENT_CHUNK_SLOTS - 1);
    if (at == 0)
        at = ((is_of_process ? 1u : 2u) << SEGMENT_CHUNK_SHIFT) + SEGMENT_HEAD_SLOTS;
    else if (in_chunk < SEGMENT_HEAD_SLOTS || in_chunk + slots > SEGMENT_CHUNK_SLOTS)
        at = (((at - 1) >> SEGMENT_CHUNK_SHIFT) + 2) * SEGMENT_CHUNK_SLOTS + SEGMENT_HEAD_SLOTS;
    if (at >> SEGMENT_CHUNK_SHIFT >= SEGMENT_CHUNKS_MAX)
        return SEGMENT_METRIC_NONE;
    segment->next[is_of_process] = at + slots;
    return at;
}

/* Space for a descriptor of this size: in the current block, else in a new one. 0: none. */
static uint64_t alloc_descriptor(struct segment *segment, uint32_t bytes)
{
    const struct segment_block *block = segment->block ? segment_at(segment, segment->block) : NULL;
    if (block && segment->block_used + bytes <= (uint64_t)block->pages * SEGMENT_PAGE)
        return segment->block + segment->block_used;
    uint32_t least = (uint32_t)((sizeof *block + bytes + SEGMENT_PAGE - 1) / SEGMENT_PAGE);
    uint32_t pages = (uint32_t)(segment->pages / 8 < BLOCK_PAGES_MAX ? segment->pages / 8 : BLOCK_PAGES_MAX);
    pages = pages > least ? pages : least;
    uint64_t at = segment_file_reserve(segment, pages);
    if (!at && pages > least)
        at = segment_file_reserve(segment, pages = least);
    if (!at)
        return 0;
    struct segment_block *fresh = segment_at(segment, at);
    *fresh = (struct segment_block){ .kind = SEGMENT_BLOCK_DESCRIPTORS, .pages = pages, .used = sizeof *fresh };
    segment_file_publish(segment, pages);
    /* first: a child forked in between trusts the block's own counter */
    __atomic_store_n(&segment->block, at, __ATOMIC_SEQ_CST);
    segment->block_used = sizeof *fresh;
    return at + sizeof *fresh;
}

static char *append(char *at, const void *data, size_t size)
{
    if (size)
        memcpy(at, data, size);
    return at + size;
}

/* Publishes one more complete descriptor in the current block. */
static void publish(struct segment *segment, uint32_t bytes)
{
    struct segment_block *block = segment_at(segment, segment->block);
    segment->block_used += bytes;
    __atomic_store_n(&block->used, segment->block_used, __ATOMIC_RELEASE);
}

static void write_descriptor(struct segment *segment, uint64_t place, const struct segment_descriptor *head,
                             const struct segment_description *description)
{
    char *at = append(segment_at(segment, place), head, sizeof *head);
    at = append(at, description->bounds, head->bounds * sizeof(double));
    at = append(at, description->name, head->name_bytes);
    at = append(at, description->labels, head->label_bytes);
    at = append(at, description->unit, head->unit_bytes);
    append(at, description->help, head->help_bytes);
    publish(segment, head->bytes);
}

static enum err add(struct segment *segment, struct segment_descriptor *head, const struct segment_description *description)
{
    uint64_t place = alloc_descriptor(segment, head->bytes);
    if (!place)
        return FULL;
    head->metric = alloc_slots(segment, description);
    if (!head->metric)
        return FULL;
    write_descriptor(segment, place, head, description);
    insert(segment, place);
    return OK;
}

enum err segment_descriptors_add(struct segment *segment, const struct segment_description *description, uint32_t *metric)
{
    struct segment_descriptor head;
    if (!is_valid(description) || !measure(&head, description))
        return USAGE;
    const char *labels = description->labels ? description->labels : "";
    struct descriptor_key key = { description->name, labels, head.name_bytes, head.label_bytes };
    if (!grow(segment))
        return FULL;
    uint32_t existing = *find(segment, &key, false);
    uint32_t family = existing ? 0 : *find(segment, &key, true);
    if (existing && !is_same_metric(descriptor_at(segment, existing), description, false))
        return USAGE;
    if (family && !is_same_metric(descriptor_at(segment, family), description, true))
        return USAGE;
    enum err err = existing ? OK : add(segment, &head, description);
    *metric = existing ? descriptor_at(segment, existing)->metric : head.metric;
    return err;
}

/* Copies one descriptor after another, so that blocks are filled completely. Blocks differ from the parent's: each
 * descriptor is published at once. */
static void copy_block(struct segment *segment, const char *block, uint64_t used)
{
    for (uint64_t at = sizeof(struct segment_block); at + sizeof(struct segment_descriptor) <= used;) {
        const struct segment_descriptor *descriptor = (const void *)(block + at);
        uint64_t place = grow(segment) ? alloc_descriptor(segment, descriptor->bytes) : 0;
        if (!place)
            return;
        memcpy(segment_at(segment, place), descriptor, descriptor->bytes);
        publish(segment, descriptor->bytes);
        insert(segment, place);
        at += descriptor->bytes;
    }
}

void segment_descriptors_copy(struct segment *segment, const struct segment *parent)
{
    for (uint64_t page = 1; page < parent->pages;) {
        const struct segment_block *block = segment_at(parent, page * SEGMENT_PAGE);
        bool grows = page * SEGMENT_PAGE == parent->block && parent->block_used < block->used;
        if (block->kind == SEGMENT_BLOCK_DESCRIPTORS)
            copy_block(segment, (const char *)block, grows ? parent->block_used : block->used);
        page += block->pages ? block->pages : 1;
    }
}
