/* The writer of a board: its life from the first metric to the program's end, and the slots of threads. */
#include "probe/segment/segment.h"

#include "base/sys.h"
#include "probe/segment/internal.h"

#define THREAD_CHUNKS 8u /* room at first */
#define LOOKS 4          /* at threads that may be gone, for each new one: memory stays within a few times what is needed */

/* Where counts go that have no room anywhere: into nobody's chunk 0. */
static uint64_t nowhere[BOARD_CHUNK_SLOTS];
static struct board_thread nobody = { .count = 1, .chunks = { nowhere } };
BOARD_TLS struct board_thread *board_mine = &nobody;

void board_forget(void)
{
    board_mine = &nobody;
}

/* Another thread may fork meanwhile, and its child goes by what it finds in struct board: that of the parent until all is there.
 * Without a block that grows, each says itself how far it is filled. */
static void replace(struct board *board, struct board *with)
{
    uint64_t block = with->block;
    with->block = 0;
    __atomic_store_n(&board->block, 0, __ATOMIC_SEQ_CST);
    *board = *with;
    __atomic_store_n(&board->block, block, __ATOMIC_SEQ_CST);
}

/* A child of fork finds its arena empty and what its parent had in struct board. */
static void open_locked(struct board *board)
{
    if (board->arena->is_open || !board->library[0])
        return;
    struct board own = *board;
    board_forget();
    own.pid = sys_getpid();
    own.rank = own.size = -1;
    own.program = 0;
    own.world = 0;
    board_file_make(&own);
    if (board->base && own.base) {
        board_names_copy(&own, board);
        board_file_move(&own, board);
    }
    replace(board, &own);
    __atomic_store_n(&board->arena->is_open, 1, __ATOMIC_RELEASE);
}

void board_open(struct board *board, const char *library)
{
    struct board_arena *arena = board_arena(board);
    if (!arena)
        return;
    uint64_t signals = board_arena_lock(arena);
    if (!board->library[0])
        memcpy(board->library, library, strnlen(library, sizeof board->library - 1));
    open_locked(board);
    board_arena_unlock(arena, signals);
}

void board_speak_for(struct board *board, const struct board_subject *subject)
{
    board->subject = *subject;
}

static void count_lost(const struct board *board)
{
    if (board->base)
        __atomic_fetch_add(&board_header(board)->lost, 1, __ATOMIC_RELAXED);
}

enum err board_make(struct board *board, const struct board_description *description, uint32_t *metric)
{
    *metric = BOARD_NONE;
    struct board_arena *arena = board_arena(board);
    if (!arena)
        return FULL;
    uint64_t signals = board_arena_lock(arena);
    open_locked(board);
    enum err err = board->base ? board_names_make(board, description, metric) : FULL;
    if (err == FULL)
        count_lost(board);
    board_arena_unlock(arena, signals);
    return err;
}

uint32_t board_metric(struct board *board, const struct board_description *description)
{
    uint32_t metric;
    return board_make(board, description, &metric) == OK ? metric : BOARD_NONE;
}

void board_keep_together(struct board *board, uint32_t slots)
{
    struct board_arena *arena = board_arena(board);
    if (!arena)
        return;
    uint64_t signals = board_arena_lock(arena);
    open_locked(board);
    board_names_keep_together(board, slots);
    board_arena_unlock(arena, signals);
}

void board_set_rank(struct board *board, int rank, int size)
{
    struct board_arena *arena = board_arena(board);
    if (!arena)
        return;
    uint64_t signals = board_arena_lock(arena);
    open_locked(board);
    board->rank = rank;
    board->size = size;
    if (board->base) {
        __atomic_store_n(&board_header(board)->size, size, __ATOMIC_RELAXED);
        __atomic_store_n(&board_header(board)->rank, rank, __ATOMIC_RELEASE);
    }
    board_arena_unlock(arena, signals);
}

void board_set_world(struct board *board, uint64_t program, uint32_t world)
{
    struct board_arena *arena = board_arena(board);
    if (!arena)
        return;
    uint64_t signals = board_arena_lock(arena);
    open_locked(board);
    board->program = program;
    board->world = world;
    if (board->base) {
        board_header(board)->program = program;
        board_header(board)->world = world;
    }
    board_arena_unlock(arena, signals);
}

/* Not in a child that has none of its own yet, nor in one of vfork. */
void board_end(struct board *board)
{
    struct board_arena *arena = board->arena;
    if (!arena)
        return;
    uint64_t signals = board_arena_lock(arena);
    if (arena->is_open && board->base && board->pid == sys_getpid()) {
        board_header(board)->ended_ns = board_facts_now_ns();
        __atomic_store_n(&board_header(board)->state, BOARD_ENDED, __ATOMIC_RELEASE);
        board_file_leave(board);
    }
    board_arena_unlock(arena, signals);
}

static bool is_gone(const struct board *board, const struct board_thread *thread)
{
    return sys3(SYS_tgkill, board->pid, thread->tid, 0) == -ESRCH;
}

/* Of a thread in whose name a child of vfork has counted first: who that is cannot be told in the child, and no thread has this
 * number, so that nobody takes it for gone. Not 0, which stands in all that fork has emptied. */
#define TID_OF_PARENT (-1)

/* One whose thread has ended, values and all, so that sums stay right; the tid may have been given to the caller. */
static struct board_thread *take_over(struct board *board, int32_t tid)
{
    struct board_arena *arena = board->arena;
    for (int i = 0; i < LOOKS && arena->threads; i++) {
        struct board_thread *thread = arena->looked ? arena->looked : arena->threads;
        arena->looked = thread->next;
        if ((thread->tid == tid && tid != TID_OF_PARENT) || is_gone(board, thread))
            return thread;
    }
    return NULL;
}

static struct board_thread *new_thread(struct board *board, uint32_t room)
{
    struct board_thread *thread = board_arena_take(board, sizeof *thread + room * sizeof *thread->chunks);
    if (!thread)
        return NULL;
    thread->room = room;
    thread->count = 1;
    thread->chunks[0] = nowhere;
    return thread;
}

/* Does board_mine belong to the thread with this number? */
static bool is_mine(int32_t tid)
{
    return board_mine != &nobody && (tid == TID_OF_PARENT || board_mine->tid == TID_OF_PARENT || board_mine->tid == tid);
}

static struct board_thread *my_thread(struct board *board)
{
    struct board_arena *arena = board->arena;
    bool is_vfork_child = sys_getpid() != board->pid;
    int32_t tid = is_vfork_child ? TID_OF_PARENT : (int32_t)sys_gettid();
    if (is_mine(tid)) {
        if (!is_vfork_child)
            board_mine->tid = tid;
        return board_mine;
    }
    struct board_thread *thread = take_over(board, tid);
    if (!thread && (thread = new_thread(board, THREAD_CHUNKS))) {
        thread->number = ++arena->thread_count;
        thread->next = arena->threads;
        arena->threads = thread;
        __atomic_store_n(&board_header(board)->threads, arena->thread_count, __ATOMIC_RELAXED);
    }
    if (thread) {
        thread->tid = tid;
        thread->busy = 0; /* it may have ended in a handler */
        board_mine = thread;
    }
    return thread;
}

/* A larger one takes its place in the list. */
static struct board_thread *grow(struct board *board, struct board_thread *thread, uint32_t chunk)
{
    if (chunk < thread->room)
        return thread;
    uint32_t room = thread->room;
    while (room <= chunk)
        room *= 2;
    struct board_thread *larger = new_thread(board, room);
    if (!larger)
        return NULL;
    memcpy(larger->chunks, thread->chunks, thread->count * sizeof *thread->chunks);
    larger->chunks[room] = thread->chunks[thread->room];
    larger->tid = thread->tid;
    larger->number = thread->number;
    larger->count = thread->count;
    larger->next = thread->next;
    struct board_thread **link = &board->arena->threads;
    while (*link != thread)
        link = &(*link)->next;
    *link = larger;
    board->arena->looked = NULL;
    board_mine = larger;
    return larger;
}

/* Where the file has no room for it, memory does as well: nobody sees it, but the program runs as before. */
static uint64_t *new_chunk(struct board *board, uint32_t chunk, uint32_t thread)
{
    uint64_t at = board_file_reserve(board, 1);
    if (!at) {
        count_lost(board);
        return board_arena_take(board, BOARD_PAGE);
    }
    struct board_block *block = board_at(board, at);
    *block = (struct board_block){ .kind = BOARD_BLOCK_CHUNK, .pages = 1, .chunk = chunk, .thread = thread };
    board_file_publish(board, 1);
    return (uint64_t *)(void *)block;
}

static uint64_t *process_chunk(struct board *board, uint32_t chunk)
{
    struct board_arena *arena = board->arena;
    if (chunk >= arena->process_room) {
        uint32_t room = arena->process_room ? arena->process_room : THREAD_CHUNKS;
        while (room <= chunk)
            room *= 2;
        uint64_t **chunks = board_arena_take(board, room * sizeof *chunks);
        if (!chunks)
            return NULL;
        if (arena->process)
            memcpy(chunks, arena->process, arena->process_room * sizeof *chunks);
        arena->process = chunks;
        arena->process_room = room;
    }
    if (!arena->process[chunk])
        arena->process[chunk] = new_chunk(board, chunk, 0);
    return arena->process[chunk];
}

static uint64_t *slots_locked(struct board *board, uint32_t metric)
{
    uint32_t chunk = metric >> BOARD_CHUNK_SHIFT;
    open_locked(board);
    struct board_thread *thread = board->base ? my_thread(board) : NULL;
    thread = thread ? grow(board, thread, chunk) : NULL;
    if (!thread)
        return nowhere;
    if (chunk >= thread->count)
        thread->count = chunk + 1;
    uint64_t **slots = &thread->chunks[chunk];
    if (!*slots)
        *slots = board_is_of_process(chunk) ? process_chunk(board, chunk) : new_chunk(board, chunk, thread->number);
    return *slots ? *slots : nowhere;
}

uint64_t *board_slots_slow(struct board *board, uint32_t metric)
{
    uint32_t slot = metric & (BOARD_CHUNK_SLOTS - 1);
    struct board_arena *arena = board_arena(board);
    if (!arena || metric >> BOARD_CHUNK_SHIFT >= BOARD_CHUNKS_MAX)
        return nowhere + slot;
    uint64_t signals = board_arena_lock(arena);
    uint64_t *slots = slots_locked(board, metric);
    board_arena_unlock(arena, signals);
    return slots + slot;
}

void *board_own(struct board *board, size_t bytes)
{
    struct board_arena *arena = board_arena(board);
    if (!arena)
        return NULL;
    uint64_t signals = board_arena_lock(arena);
    open_locked(board);
    struct board_thread *thread = board->base ? my_thread(board) : NULL;
    if (thread && !thread->chunks[thread->room])
        thread->chunks[thread->room] = board_arena_take(board, bytes);
    uint64_t *own = thread ? thread->chunks[thread->room] : NULL;
    board_arena_unlock(arena, signals);
    return own;
}

void board_add_f64_interrupting(uint64_t *slot, double value) /* NOLINT(readability-non-const-parameter) */
{
    uint64_t before = __atomic_load_n(slot, __ATOMIC_RELAXED), after;
    do {
        double sum;
        memcpy(&sum, &before, sizeof sum);
        sum += value;
        memcpy(&after, &sum, sizeof after);
    } while (!__atomic_compare_exchange_n(slot, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void board_gauge_add(uint64_t *slot, double value) /* NOLINT(readability-non-const-parameter) */
{
    uint64_t before = __atomic_load_n(slot, __ATOMIC_RELAXED), after;
    do {
        double now = board_gauge_value(before);
        after = board_gauge_bits((before ? now : 0) + value);
    } while (!__atomic_compare_exchange_n(slot, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

size_t board_label(char *labels, size_t size, size_t room, const char *name, const char *value)
{
    size_t at = size;
    for (const char *part = size ? "," : ""; *part && at < room; part++)
        labels[at++] = *part;
    for (; *name && at < room; name++)
        labels[at++] = *name;
    for (const char *part = "=\""; *part && at < room; part++)
        labels[at++] = *part;
    for (; *value && at + 1 < room; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n')
            labels[at++] = '\\';
        labels[at++] = *value == '\n' ? 'n' : *value;
    }
    if (at + 2 > room || *value) {
        if (size < room)
            labels[size] = '\0';
        return size;
    }
    labels[at++] = '"';
    labels[at] = '\0';
    return at;
}
