/* The metrics of a board: descriptors are appended to its blocks, and found again by name and labels. */
#include "base/hash.h"
#include "probe/segment/internal.h"

#include <math.h>

#define FAMILY 0x80000000u /* in the table: of a name, whatever its labels; else of name and labels. The rest: place / 8 */
#define NAMES_MIN 64u
#define BLOCK_PAGES_MAX 64u

struct key {
    const char *name, *labels;
    uint32_t name_bytes, label_bytes;
};

static const char *text_of(const struct board_descriptor *descriptor)
{
    return (const char *)(descriptor + 1) + descriptor->bounds * sizeof(double);
}

static struct key key_of(const struct board_descriptor *descriptor)
{
    const char *name = text_of(descriptor);
    return (struct key){ name, name + descriptor->name_bytes, descriptor->name_bytes, descriptor->label_bytes };
}

static uint32_t hash_of(const struct key *key, bool is_family)
{
    uint64_t hash = hash_add(HASH_START, key->name, key->name_bytes);
    if (!is_family)
        hash = hash_add(hash ^ 0xff, key->labels, key->label_bytes) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static const struct board_descriptor *descriptor_at(const struct board *board, uint32_t entry)
{
    return board_at(board, (uint64_t)(entry & ~FAMILY) * 8);
}

static bool is_same(const struct board *board, uint32_t entry, const struct key *key, bool is_family)
{
    if ((entry & FAMILY) != (is_family ? FAMILY : 0))
        return false;
    struct key other = key_of(descriptor_at(board, entry));
    return other.name_bytes == key->name_bytes && memcmp(other.name, key->name, key->name_bytes) == 0
           && (is_family
               || (other.label_bytes == key->label_bytes && memcmp(other.labels, key->labels, key->label_bytes) == 0));
}

/* Its place in the table, or the empty one where it would go. The table is never full. */
static uint32_t *find(const struct board *board, const struct key *key, bool is_family)
{
    const struct board_arena *arena = board->arena;
    uint32_t at = hash_of(key, is_family) & (arena->name_room - 1);
    while (arena->names[at] && !is_same(board, arena->names[at], key, is_family))
        at = (at + 1) & (arena->name_room - 1);
    return &arena->names[at];
}

static bool grow(struct board *board)
{
    struct board_arena *arena = board->arena;
    if ((arena->name_count + 2) * 2 <= arena->name_room)
        return true;
    uint32_t room = arena->name_room, *before = arena->names;
    uint32_t *names = board_arena_take(board, (room ? (size_t)room * 2 : NAMES_MIN) * sizeof *names);
    if (!names)
        return false;
    arena->names = names;
    arena->name_room = room ? room * 2 : NAMES_MIN;
    for (uint32_t i = 0; i < room; i++)
        if (before[i]) {
            struct key key = key_of(descriptor_at(board, before[i]));
            *find(board, &key, before[i] & FAMILY) = before[i];
        }
    return true;
}

/* There is room for both. */
static void enter(struct board *board, uint64_t place)
{
    uint32_t entry = (uint32_t)(place / 8);
    struct key key = key_of(descriptor_at(board, entry));
    uint32_t *family = find(board, &key, true);
    if (!*family) {
        *family = entry | FAMILY;
        board->arena->name_count++;
    }
    *find(board, &key, false) = entry;
    board->arena->name_count++;
}

static bool is_rising(const double *bounds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(bounds[i]) || (i && bounds[i] <= bounds[i - 1]))
            return false;
    return true;
}

static bool makes_sense(const struct board_description *description)
{
    bool has_bounds = description->bound_count > 0;
    switch (description->kind) {
    case BOARD_COUNTER:
        return !has_bounds && description->type >= BOARD_U64 && description->type <= BOARD_TICKS;
    case BOARD_GAUGE:
        return !has_bounds && description->type == BOARD_F64;
    case BOARD_HISTOGRAM:
        return description->bound_count <= BOARD_BOUNDS_MAX && description->type >= BOARD_U64
               && description->type <= BOARD_F64 && is_rising(description->bounds, description->bound_count);
    default:
        return false;
    }
}

/* UINT32_MAX: too long. */
static uint32_t size_of(const char *text)
{
    size_t size = text ? strnlen(text, BOARD_TEXT_MAX + 1) : 0;
    return size > BOARD_TEXT_MAX ? UINT32_MAX : (uint32_t)size;
}

static bool measure(struct board_descriptor *head, const struct board_description *description)
{
    *head = (struct board_descriptor){
        .kind = (uint8_t)description->kind,
        .type = (uint8_t)description->type,
        .bounds = (uint16_t)description->bound_count,
        .name_bytes = size_of(description->name),
        .label_bytes = size_of(description->labels),
        .unit_bytes = size_of(description->unit),
        .help_bytes = size_of(description->help),
    };
    if (head->name_bytes == 0 || head->name_bytes > BOARD_TEXT_MAX || head->label_bytes > BOARD_TEXT_MAX
        || head->unit_bytes > BOARD_TEXT_MAX || head->help_bytes > BOARD_TEXT_MAX
        || head->name_bytes + head->label_bytes + 2 > BOARD_NAME_MAX)
        return false;
    size_t bytes = sizeof *head + head->bounds * sizeof(double) + head->name_bytes + head->label_bytes + head->unit_bytes
                   + head->help_bytes;
    head->bytes = (uint32_t)((bytes + 7) & ~(size_t)7);
    return true;
}

bool board_describes(const struct board_description *description)
{
    struct board_descriptor head;
    return makes_sense(description) && measure(&head, description);
}

/* The bounds may differ between labels, but not for the same metric. */
static bool agrees(const struct board_descriptor *there, const struct board_description *wanted, bool is_family)
{
    if (there->kind != wanted->kind || there->type != wanted->type)
        return false;
    size_t bytes = there->bounds * sizeof(double);
    return is_family || (there->bounds == wanted->bound_count && (!bytes || memcmp(there + 1, wanted->bounds, bytes) == 0));
}

void board_names_keep_together(struct board *board, uint32_t slots)
{
    uint32_t at = board->next[false], in_chunk = at & (BOARD_CHUNK_SLOTS - 1);
    if (at != 0 && in_chunk >= BOARD_HEAD_SLOTS && in_chunk + slots > BOARD_CHUNK_SLOTS)
        board->next[false] = (at | (BOARD_CHUNK_SLOTS - 1)) + 1; /* the end of this chunk: take_slots goes on behind it */
}

/* Slots for a new metric, which never straddle two chunks. BOARD_NONE: there are no more. */
static uint32_t take_slots(struct board *board, const struct board_description *description)
{
    bool is_of_process = description->kind == BOARD_GAUGE;
    uint32_t slots = board_slot_count(description->kind, description->type, (uint32_t)description->bound_count);
    uint32_t at = board->next[is_of_process];
    uint32_t in_chunk = at & (BOARD_CHUNK_SLOTS - 1);
    if (at == 0)
        at = ((is_of_process ? 1u : 2u) << BOARD_CHUNK_SHIFT) + BOARD_HEAD_SLOTS;
    else if (in_chunk < BOARD_HEAD_SLOTS || in_chunk + slots > BOARD_CHUNK_SLOTS)
        at = (((at - 1) >> BOARD_CHUNK_SHIFT) + 2) * BOARD_CHUNK_SLOTS + BOARD_HEAD_SLOTS;
    if (at >> BOARD_CHUNK_SHIFT >= BOARD_CHUNKS_MAX)
        return BOARD_NONE;
    board->next[is_of_process] = at + slots;
    return at;
}

/* Room for a descriptor of this size: in the block that grows, else in a new one. 0: none. */
static uint64_t take_room(struct board *board, uint32_t bytes)
{
    const struct board_block *block = board->block ? board_at(board, board->block) : NULL;
    if (block && board->block_used + bytes <= (uint64_t)block->pages * BOARD_PAGE)
        return board->block + board->block_used;
    uint32_t least = (uint32_t)((sizeof *block + bytes + BOARD_PAGE - 1) / BOARD_PAGE);
    uint32_t pages = (uint32_t)(board->pages / 8 < BLOCK_PAGES_MAX ? board->pages / 8 : BLOCK_PAGES_MAX);
    pages = pages > least ? pages : least;
    uint64_t at = board_file_reserve(board, pages);
    if (!at && pages > least)
        at = board_file_reserve(board, pages = least);
    if (!at)
        return 0;
    struct board_block *fresh = board_at(board, at);
    *fresh = (struct board_block){ .kind = BOARD_BLOCK_DESCRIPTORS, .pages = pages, .used = sizeof *fresh };
    board_file_publish(board, pages);
    __atomic_store_n(&board->block, at, __ATOMIC_SEQ_CST); /* first: a child forked in between believes the block itself */
    board->block_used = sizeof *fresh;
    return at + sizeof *fresh;
}

static char *append(char *at, const void *data, size_t size)
{
    if (size)
        memcpy(at, data, size);
    return at + size;
}

/* One more stands whole in the block that grows. */
static void count_in(struct board *board, uint32_t bytes)
{
    struct board_block *block = board_at(board, board->block);
    board->block_used += bytes;
    __atomic_store_n(&block->used, board->block_used, __ATOMIC_RELEASE);
}

static void write_descriptor(struct board *board, uint64_t place, const struct board_descriptor *head,
                             const struct board_description *description)
{
    char *at = append(board_at(board, place), head, sizeof *head);
    at = append(at, description->bounds, head->bounds * sizeof(double));
    at = append(at, description->name, head->name_bytes);
    at = append(at, description->labels, head->label_bytes);
    at = append(at, description->unit, head->unit_bytes);
    append(at, description->help, head->help_bytes);
    count_in(board, head->bytes);
}

static enum err add(struct board *board, struct board_descriptor *head, const struct board_description *description)
{
    uint64_t place = take_room(board, head->bytes);
    if (!place)
        return FULL;
    head->metric = take_slots(board, description);
    if (!head->metric)
        return FULL;
    write_descriptor(board, place, head, description);
    enter(board, place);
    return OK;
}

enum err board_names_make(struct board *board, const struct board_description *description, uint32_t *metric)
{
    struct board_descriptor head;
    if (!makes_sense(description) || !measure(&head, description))
        return USAGE;
    struct key key = { description->name, description->labels ? description->labels : "", head.name_bytes, head.label_bytes };
    if (!grow(board))
        return FULL;
    uint32_t there = *find(board, &key, false);
    uint32_t family = there ? 0 : *find(board, &key, true);
    if (there && !agrees(descriptor_at(board, there), description, false))
        return USAGE;
    if (family && !agrees(descriptor_at(board, family), description, true))
        return USAGE;
    enum err err = there ? OK : add(board, &head, description);
    *metric = there ? descriptor_at(board, there)->metric : head.metric;
    return err;
}

/* One after another, so that blocks are as full as can be. They are others than the parent's: each is counted at once. */
static void copy_block(struct board *board, const char *block, uint64_t used)
{
    for (uint64_t at = sizeof(struct board_block); at + sizeof(struct board_descriptor) <= used;) {
        const struct board_descriptor *descriptor = (const void *)(block + at);
        uint64_t place = grow(board) ? take_room(board, descriptor->bytes) : 0;
        if (!place)
            return;
        memcpy(board_at(board, place), descriptor, descriptor->bytes);
        count_in(board, descriptor->bytes);
        enter(board, place);
        at += descriptor->bytes;
    }
}

void board_names_copy(struct board *board, const struct board *parent)
{
    for (uint64_t page = 1; page < parent->pages;) {
        const struct board_block *block = board_at(parent, page * BOARD_PAGE);
        bool grows = page * BOARD_PAGE == parent->block && parent->block_used < block->used;
        if (block->kind == BOARD_BLOCK_DESCRIPTORS)
            copy_block(board, (const char *)block, grows ? parent->block_used : block->used);
        page += block->pages ? block->pages : 1;
    }
}
