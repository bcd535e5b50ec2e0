/* The segment writer: opening and closing a segment, and the slots of threads. */
#include "probe/segment/segment.h"

#include "base/sys.h"
#include "probe/segment/internal.h"

#define THREAD_CHUNKS 8u /* initial capacity */
#define REUSE_CHECKS 4          /* ended threads checked for reuse per new thread: bounds memory to a few times what is needed */

/* Sink for counts that have no slot: chunk 0, which belongs to nobody. */
static uint64_t nowhere[SEGMENT_CHUNK_SLOTS];
static struct segment_thread nobody = { .count = 1, .chunks = { nowhere } };
SEGMENT_TLS struct segment_thread *segment_this_thread = &nobody;

void segment_forget_thread(void)
{
    segment_this_thread = &nobody;
}

/* Another thread may fork meanwhile, and its child uses what it finds in struct segment: the parent's until all is
 * complete. While `block` is 0, each block's own counter tells how far it is filled. */
static void replace(struct segment *segment, struct segment *with)
{
    uint64_t block = with->block;
    with->block = 0;
    __atomic_store_n(&segment->block, 0, __ATOMIC_SEQ_CST);
    *segment = *with;
    __atomic_store_n(&segment->block, block, __ATOMIC_SEQ_CST);
}

/* A forked child finds its arena zeroed, and its parent's values in struct segment. */
static void open_locked(struct segment *segment)
{
    if (segment->arena->is_open || !segment->library[0])
        return;
    struct segment own = *segment;
    segment_forget_thread();
    own.pid = sys_getpid();
    own.rank = own.size = -1;
    own.program = 0;
    own.world = 0;
    segment_file_create(&own);
    if (segment->base && own.base) {
        segment_descriptors_copy(&own, segment);
        segment_file_move(&own, segment);
    }
    replace(segment, &own);
    __atomic_store_n(&segment->arena->is_open, 1, __ATOMIC_RELEASE);
}

void segment_open(struct segment *segment, const char *library)
{
    struct segment_arena *arena = segment_arena(segment);
    if (!arena)
        return;
    uint64_t signals = segment_arena_lock(arena);
    if (!segment->library[0])
        memcpy(segment->library, library, strnlen(library, sizeof segment->library - 1));
    open_locked(segment);
    segment_arena_unlock(arena, signals);
}

void segment_set_subject(struct segment *segment, const struct segment_subject *subject)
{
    segment->subject = *subject;
}

static void count_lost(const struct segment *segment)
{
    if (segment->base)
        __atomic_fetch_add(&segment_header(segment)->lost, 1, __ATOMIC_RELAXED);
}

enum err segment_add_metric(struct segment *segment, const struct segment_description *description, uint32_t *metric)
{
    *metric = SEGMENT_METRIC_NONE;
    struct segment_arena *arena = segment_arena(segment);
    if (!arena)
        return FULL;
    uint64_t signals = segment_arena_lock(arena);
    open_locked(segment);
    enum err err = segment->base ? segment_descriptors_add(segment, description, metric) : FULL;
    if (err == FULL)
        count_lost(segment);
    segment_arena_unlock(arena, signals);
    return err;
}

uint32_t segment_metric(struct segment *segment, const struct segment_description *description)
{
    uint32_t metric;
    return segment_add_metric(segment, description, &metric) == OK ? metric : SEGMENT_METRIC_NONE;
}

void segment_keep_adjacent(struct segment *segment, uint32_t slots)
{
    struct segment_arena *arena = segment_arena(segment);
    if (!arena)
        return;
    uint64_t signals = segment_arena_lock(arena);
    open_locked(segment);
    segment_descriptors_keep_adjacent(segment, slots);
    segment_arena_unlock(arena, signals);
}

void segment_set_rank(struct segment *segment, int rank, int size)
{
    struct segment_arena *arena = segment_arena(segment);
    if (!arena)
        return;
    uint64_t signals = segment_arena_lock(arena);
    open_locked(segment);
    segment->rank = rank;
    segment->size = size;
    if (segment->base) {
        __atomic_store_n(&segment_header(segment)->size, size, __ATOMIC_RELAXED);
        __atomic_store_n(&segment_header(segment)->rank, rank, __ATOMIC_RELEASE);
    }
    segment_arena_unlock(arena, signals);
}

void segment_set_world(struct segment *segment, uint64_t program, uint32_t world)
{
    struct segment_arena *arena = segment_arena(segment);
    if (!arena)
        return;
    uint64_t signals = segment_arena_lock(arena);
    open_locked(segment);
    segment->program = program;
    segment->world = world;
    if (segment->base) {
        segment_header(segment)->program = program;
        segment_header(segment)->world = world;
    }
    segment_arena_unlock(arena, signals);
}

/* Not in a child that has no segment of its own yet, nor in a vfork child. */
void segment_end(struct segment *segment)
{
    struct segment_arena *arena = segment->arena;
    if (!arena)
        return;
    uint64_t signals = segment_arena_lock(arena);
    if (arena->is_open && segment->base && segment->pid == sys_getpid()) {
        segment_header(segment)->ended_ns = segment_header_now_ns();
        __atomic_store_n(&segment_header(segment)->state, SEGMENT_ENDED, __ATOMIC_RELEASE);
        segment_file_release(segment);
    }
    segment_arena_unlock(arena, signals);
}

static bool has_ended(const struct segment *segment, const struct segment_thread *thread)
{
    return sys3(SYS_tgkill, segment->pid, thread->tid, 0) == -ESRCH;
}

/* A thread entry first used by a vfork child: the child cannot know the tid of its parent's thread. No thread has
 * this id, so the entry is never considered ended. Not 0, the value of everything that fork has zeroed. */
#define TID_OF_PARENT (-1)

/* Reuses the entry of a thread that has ended, with its values, so that totals stay right. Its tid may have been
 * reused for the caller. */
static struct segment_thread *reuse_ended(struct segment *segment, int32_t tid)
{
    struct segment_arena *arena = segment->arena;
    for (int i = 0; i < REUSE_CHECKS && arena->threads; i++) {
        struct segment_thread *thread = arena->next_checked ? arena->next_checked : arena->threads;
        arena->next_checked = thread->next;
        if ((thread->tid == tid && tid != TID_OF_PARENT) || has_ended(segment, thread))
            return thread;
    }
    return NULL;
}

static struct segment_thread *new_thread(struct segment *segment, uint32_t capacity)
{
    struct segment_thread *thread = segment_arena_alloc(segment, sizeof *thread + capacity * sizeof *thread->chunks);
    if (!thread)
        return NULL;
    thread->capacity = capacity;
    thread->count = 1;
    thread->chunks[0] = nowhere;
    return thread;
}

/* Does segment_this_thread belong to the thread with this id? */
static bool is_mine(int32_t tid)
{
    return segment_this_thread != &nobody && (tid == TID_OF_PARENT || segment_this_thread->tid == TID_OF_PARENT
                                              || segment_this_thread->tid == tid);
}

static struct segment_thread *find_thread(struct segment *segment)
{
    struct segment_arena *arena = segment->arena;
    bool is_vfork_child = sys_getpid() != segment->pid;
    int32_t tid = is_vfork_child ? TID_OF_PARENT : (int32_t)sys_gettid();
    if (is_mine(tid)) {
        if (!is_vfork_child)
            segment_this_thread->tid = tid;
        return segment_this_thread;
    }
    struct segment_thread *thread = reuse_ended(segment, tid);
    if (!thread && (thread = new_thread(segment, THREAD_CHUNKS))) {
        thread->number = ++arena->thread_count;
        thread->next = arena->threads;
        arena->threads = thread;
        __atomic_store_n(&segment_header(segment)->threads, arena->thread_count, __ATOMIC_RELAXED);
    }
    if (thread) {
        thread->tid = tid;
        thread->busy = 0; /* the previous thread may have ended in a signal handler */
        segment_this_thread = thread;
    }
    return thread;
}

/* A larger entry replaces it in the list. */
static struct segment_thread *grow(struct segment *segment, struct segment_thread *thread, uint32_t chunk)
{
    if (chunk < thread->capacity)
        return thread;
    uint32_t capacity = thread->capacity;
    while (capacity <= chunk)
        capacity *= 2;
    struct segment_thread *larger = new_thread(segment, capacity);
    if (!larger)
        return NULL;
    memcpy(larger->chunks, thread->chunks, thread->count * sizeof *thread->chunks);
    larger->chunks[capacity] = thread->chunks[thread->capacity];
    larger->tid = thread->tid;
    larger->number = thread->number;
    larger->count = thread->count;
    larger->next = thread->next;
    struct segment_thread **link = &segment->arena->threads;
    while (*link != thread)
        link = &(*link)->next;
    *link = larger;
    segment->arena->next_checked = NULL;
    segment_this_thread = larger;
    return larger;
}

/* Falls back to private memory if the file is full: the values are not visible, but the program runs unchanged. */
static uint64_t *new_chunk(struct segment *segment, uint32_t chunk, uint32_t thread)
{
    uint64_t at = segment_file_reserve(segment, 1);
    if (!at) {
        count_lost(segment);
        return segment_arena_alloc(segment, SEGMENT_PAGE);
    }
    struct segment_block *block = segment_at(segment, at);
    *block = (struct segment_block){ .kind = SEGMENT_BLOCK_CHUNK, .pages = 1, .chunk = chunk, .thread = thread };
    segment_file_publish(segment, 1);
    return (uint64_t *)(void *)block;
}

static uint64_t *process_chunk(struct segment *segment, uint32_t chunk)
{
    struct segment_arena *arena = segment->arena;
    if (chunk >= arena->process_capacity) {
        uint32_t capacity = arena->process_capacity ? arena->process_capacity : THREAD_CHUNKS;
        while (capacity <= chunk)
            capacity *= 2;
        uint64_t **chunks = segment_arena_alloc(segment, capacity * sizeof *chunks);
        if (!chunks)
            return NULL;
        if (arena->process)
            memcpy(chunks, arena->process, arena->process_capacity * sizeof *chunks);
        arena->process = chunks;
        arena->process_capacity = capacity;
    }
    if (!arena->process[chunk])
        arena->process[chunk] = new_chunk(segment, chunk, 0);
    return arena->process[chunk];
}

static uint64_t *slots_locked(struct segment *segment, uint32_t metric)
{
    uint32_t chunk = metric >> SEGMENT_CHUNK_SHIFT;
    open_locked(segment);
    struct segment_thread *thread = segment->base ? find_thread(segment) : NULL;
    thread = thread ? grow(segment, thread, chunk) : NULL;
    if (!thread)
        return nowhere;
    if (chunk >= thread->count)
        thread->count = chunk + 1;
    uint64_t **slots = &thread->chunks[chunk];
    if (!*slots)
        *slots = segment_chunk_is_of_process(chunk) ? process_chunk(segment, chunk) : new_chunk(segment, chunk,
                                                                                                thread->number);
    return *slots ? *slots : nowhere;
}

uint64_t *segment_slots_slow(struct segment *segment, uint32_t metric)
{
    uint32_t slot = metric & (SEGMENT_CHUNK_SLOTS - 1);
    struct segment_arena *arena = segment_arena(segment);
    if (!arena || metric >> SEGMENT_CHUNK_SHIFT >= SEGMENT_CHUNKS_MAX)
        return nowhere + slot;
    uint64_t signals = segment_arena_lock(arena);
    uint64_t *slots = slots_locked(segment, metric);
    segment_arena_unlock(arena, signals);
    return slots + slot;
}

void *segment_thread_memory(struct segment *segment, size_t bytes)
{
    struct segment_arena *arena = segment_arena(segment);
    if (!arena)
        return NULL;
    uint64_t signals = segment_arena_lock(arena);
    open_locked(segment);
    struct segment_thread *thread = segment->base ? find_thread(segment) : NULL;
    if (thread && !thread->chunks[thread->capacity])
        thread->chunks[thread->capacity] = segment_arena_alloc(segment, bytes);
    uint64_t *own = thread ? thread->chunks[thread->capacity] : NULL;
    segment_arena_unlock(arena, signals);
    return own;
}

void segment_add_f64_from_handler(uint64_t *slot, double value) /* NOLINT(readability-non-const-parameter) */
{
    uint64_t before = __atomic_load_n(slot, __ATOMIC_RELAXED), after;
    do {
        double sum;
        memcpy(&sum, &before, sizeof sum);
        sum += value;
        memcpy(&after, &sum, sizeof after);
    } while (!__atomic_compare_exchange_n(slot, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void segment_gauge_add(uint64_t *slot, double value) /* NOLINT(readability-non-const-parameter) */
{
    uint64_t before = __atomic_load_n(slot, __ATOMIC_RELAXED), after;
    do {
        double now = segment_gauge_value(before);
        after = segment_gauge_bits((before ? now : 0) + value);
    } while (!__atomic_compare_exchange_n(slot, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

size_t segment_append_label(char *labels, size_t size, size_t capacity, const char *name, const char *value)
{
    size_t at = size;
    for (const char *part = size ? "," : ""; *part && at < capacity; part++)
        labels[at++] = *part;
    for (; *name && at < capacity; name++)
        labels[at++] = *name;
    for (const char *part = "=\""; *part && at < capacity; part++)
        labels[at++] = *part;
    for (; *value && at + 1 < capacity; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n')
            labels[at++] = '\\';
        labels[at++] = *value == '\n' ? 'n' : *value;
    }
    if (at + 2 > capacity || *value) {
        if (size < capacity)
            labels[size] = '\0';
        return size;
    }
    labels[at++] = '"';
    labels[at] = '\0';
    return at;
}
