/* Table of the live threads of this process. It is lock-free, so that starting and ending a thread never blocks and
 * a signal handler or fork finds it usable at any moment. Each entry becomes a record when its thread ends. */
#include "probe/process/probe.h"

#include <sys/mman.h>
#include <sys/prctl.h>

/* Before glibc 2.34 only multi-threaded programs have these. No other calls them, but under LD_BIND_NOW all symbols
 * must resolve at program start. */
#pragma weak pthread_once
#pragma weak pthread_key_create
#pragma weak pthread_setspecific

#define THREAD_WORTH_READING_NS NS_PER_MS /* a shorter thread has no I/O worth 10 us of reading /proc */
#define SLABS 14
#define SLAB_FIRST 256 /* entries of the first slab; each further slab has twice as many */

/* ThreadSanitizer (in tests) destroys its own state in the last round of destructors. */
#ifdef __SANITIZE_THREAD__
#define LAST_ROUND (PTHREAD_DESTRUCTOR_ITERATIONS - 1)
#else
#define LAST_ROUND PTHREAD_DESTRUCTOR_ITERATIONS
#endif

/* Any other value marks a live thread of this process or of one it was forked from. Only entries with the current
 * mark are live here, so fork does not need to clear the table. */
enum { SLOT_FREE, SLOT_DONE, SLOT_LIVE_FIRST };

static unsigned live_mark = SLOT_LIVE_FIRST; /* incremented in the child at each fork */
static _Atomic(struct thread_slot *) slabs[SLABS];
static _Atomic uint32_t used;      /* entries ever allocated */
static _Atomic uint64_t free_list; /* low half: index of an entry + 1; high half: changes with each removal (ABA) */
static _Atomic unsigned made;
static pthread_key_t key;
static bool key_made;

static struct thread_slot *slab_map(unsigned slab)
{
    size_t size = ((size_t)SLAB_FIRST << slab) * sizeof(struct thread_slot);
    long map = sys6(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map < 0 && map > -4096)
        return NULL;
    struct thread_slot *other = NULL;
    if (atomic_compare_exchange_strong(&slabs[slab], &other, (struct thread_slot *)map))
        return (struct thread_slot *)map;
    sys2(SYS_munmap, map, size);
    return other;
}

static struct thread_slot *slot_at(uint32_t number, bool make)
{
    unsigned slab = 31u - (unsigned)__builtin_clz(number / SLAB_FIRST + 1);
    if (slab >= SLABS)
        return NULL;
    struct thread_slot *first = atomic_load_explicit(&slabs[slab], memory_order_acquire);
    if (!first && make)
        first = slab_map(slab);
    return first ? first + (number - SLAB_FIRST * ((1u << slab) - 1)) : NULL;
}

static struct thread_slot *claim_used(void)
{
    uint64_t head = atomic_load(&free_list);
    while ((uint32_t)head) {
        struct thread_slot *slot = slot_at((uint32_t)head - 1, false);
        uint64_t rest = ((head >> 32) + 1) << 32 | atomic_load_explicit(&slot->next_free, memory_order_relaxed);
        if (atomic_compare_exchange_weak(&free_list, &head, rest))
            return slot;
    }
    return NULL;
}

struct thread_slot *threads_claim(void)
{
    struct thread_slot *slot = claim_used();
    if (slot)
        return slot;
    uint32_t number = atomic_fetch_add(&used, 1);
    slot = slot_at(number, true);
    if (slot)
        slot->number = number;
    return slot;
}

void threads_release(struct thread_slot *slot)
{
    atomic_store(&slot->state, SLOT_FREE);
    uint64_t head = atomic_load(&free_list), mine;
    do {
        atomic_store_explicit(&slot->next_free, (uint32_t)head, memory_order_relaxed);
        mine = (head >> 32) << 32 | (slot->number + 1);
    } while (!atomic_compare_exchange_weak(&free_list, &head, mine));
}

static void emit_thread(const struct thread_record *record)
{
    uint8_t frame[EMIT_BOUND(1)];
    struct packer packer = emit_begin(frame, sizeof frame);
    record_pack_thread(&packer, record);
    emit_later(frame, &packer, RECORD_KIND_thread);
}

/* The calling thread. */
static void emit_this(const struct thread_slot *slot, bool alive)
{
    char name[17] = "";
    struct thread_record record = {
        .pid = (uint64_t)sys_getpid(),
        .tid = (uint64_t)slot->tid,
        .start_ns = slot->start_ns,
        .end_ns = probe_now_ns(),
        .alive = alive,
    };
    bool read = !probe.has_taskstats && record.end_ns - record.start_ns >= THREAD_WORTH_READING_NS;
    read_this_thread(&record.counters, read ? "/proc/thread-self" : NULL, READ_OTHER);
    if (sys2(SYS_prctl, PR_GET_NAME, name) == 0)
        record.name = (struct bytes){ name, strlen(name) };
    emit_thread(&record);
}

static void emit_other(pid_t tid, uint64_t start_ns)
{
    struct read_stat stat = { 0 };
    struct thread_record record = {
        .pid = (uint64_t)probe.pid,
        .tid = (uint64_t)tid,
        .start_ns = start_ns,
        .end_ns = probe_now_ns(),
        .alive = 1,
    };
    if (probe.has_taskstats)
        read_other_clock(&record.counters, tid);
    else
        read_other_thread(&record.counters, tid, &stat);
    record.name = (struct bytes){ stat.name, stat.name_size };
    emit_thread(&record);
}

/* Runs when a thread ends, however it ends. Destructors of other keys (up to four rounds) are still part of the
 * thread: reschedule until the last round. */
static void thread_end(void *value)
{
    struct thread_slot *slot = value;
    if (++slot->rounds < LAST_ROUND && pthread_setspecific(key, slot) == 0)
        return;
    unsigned live = live_mark;
    if (probe_is_active() && atomic_compare_exchange_strong(&slot->state, &live, SLOT_DONE))
        emit_this(slot, false);
    threads_release(slot);
}

void threads_begin(struct thread_slot *slot)
{
    slot->tid = sys_gettid();
    slot->rounds = 0;
    slot->start_ns = probe_now_ns();
    atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    if (pthread_setspecific(key, slot) != 0) {
        threads_release(slot);
        return;
    }
    atomic_store(&slot->state, live_mark);
}

static void make_key(void)
{
    next_find_all();
    key_made = pthread_key_create(&key, thread_end) == 0;
}

/* Not at program start: most programs have no threads, and libc's table of keys costs a page. */
bool threads_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    next_find_first();
    if (!probe_is_active())
        return false;
    pthread_once(&once, make_key);
    return key_made;
}

void threads_reset(void)
{
    if (key_made)
        pthread_setspecific(key, NULL);
    used = 0;
    free_list = 0;
    made = 0;
    live_mark++;
}

unsigned threads_made(void)
{
    return made;
}

unsigned threads_emit_live(void)
{
    unsigned count = 0;
    pid_t self = sys_gettid();
    for (uint32_t i = 0, end = atomic_load(&used); i < end; i++) {
        struct thread_slot *slot = slot_at(i, false);
        unsigned live = live_mark;
        if (!slot || !atomic_compare_exchange_strong(&slot->state, &live, SLOT_DONE))
            continue;
        if (slot->tid == self)
            emit_this(slot, true);
        else
            emit_other(slot->tid, slot->start_ns);
        count++;
    }
    return count;
}

void threads_emit_others(void)
{
    uint32_t end = atomic_load(&used);
    pid_t self = end ? sys_gettid() : probe.pid;
    if (self != probe.pid)
        emit_other(probe.pid, 0);
    for (uint32_t i = 0; i < end; i++) {
        struct thread_slot *slot = slot_at(i, false);
        if (slot && atomic_load(&slot->state) == live_mark && slot->tid != self)
            emit_other(slot->tid, slot->start_ns);
    }
}
