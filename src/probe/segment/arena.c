/* Private memory of the segment writer: tables of chunks and of metric names. Allocated with mmap, never freed, and
 * zeroed in a child of any kind of fork: that is how the child notices that it needs a segment of its own. */
#include "probe/segment/internal.h"

#include "base/sys.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define PIECE_BYTES (128u << 10)

static struct segment *reset_at_fork; /* for kernels before 4.14, without MADV_WIPEONFORK */

static void *map(size_t bytes)
{
    long got = sys6(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got < 0 && got > -4096 ? NULL : (void *)got;
}

static void after_fork(void)
{
    segment_forget_thread();
    reset_at_fork->piece_used = reset_at_fork->piece_bytes;
    memset(reset_at_fork->arena, 0, sizeof *reset_at_fork->arena);
}

static void zero_at_fork(struct segment *segment, void *memory, size_t bytes)
{
    if (sys3(SYS_madvise, memory, bytes, MADV_WIPEONFORK) == 0 || reset_at_fork)
        return;
    reset_at_fork = segment;
    pthread_atfork(NULL, NULL, after_fork);
}

struct segment_arena *segment_arena(struct segment *segment)
{
    struct segment_arena *arena = __atomic_load_n(&segment->arena, __ATOMIC_ACQUIRE), *expected = NULL;
    if (arena)
        return arena;
    arena = map(SEGMENT_PAGE);
    if (!arena)
        return NULL;
    if (!__atomic_compare_exchange_n(&segment->arena, &expected, arena, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        sys2(SYS_munmap, arena, SEGMENT_PAGE);
        return expected;
    }
    zero_at_fork(segment, arena, SEGMENT_PAGE);
    return arena;
}

/* In a forked child, allocation continues after what the parent used: a thread may still hold a pointer to that, and
 * reads zeros. */
void *segment_arena_alloc(struct segment *segment, size_t bytes)
{
    bytes = (bytes + 63) & ~(size_t)63;
    if (segment->piece_bytes - segment->piece_used < bytes) {
        size_t size = bytes > PIECE_BYTES ? (bytes + SEGMENT_PAGE - 1) / SEGMENT_PAGE * SEGMENT_PAGE : PIECE_BYTES;
        char *piece = map(size);
        if (!piece)
            return NULL;
        zero_at_fork(segment, piece, size);
        segment->piece = piece;
        segment->piece_used = 0;
        segment->piece_bytes = size;
    }
    void *taken = segment->piece + segment->piece_used;
    segment->piece_used += bytes;
    return taken;
}

/* Futex: 0: free, 1: locked, 2: locked with waiters. */
uint64_t segment_arena_lock(struct segment_arena *arena)
{
    uint64_t all = ~0ull, signals = 0;
    uint32_t state = 0;
    sys4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &signals, sizeof all);
    if (__atomic_compare_exchange_n(&arena->lock, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return signals;
    while (__atomic_exchange_n(&arena->lock, 2, __ATOMIC_ACQUIRE) != 0)
        sys4(SYS_futex, &arena->lock, FUTEX_WAIT_PRIVATE, 2, NULL);
    return signals;
}

void segment_arena_unlock(struct segment_arena *arena, uint64_t signals)
{
    if (__atomic_exchange_n(&arena->lock, 0, __ATOMIC_RELEASE) == 2)
        sys3(SYS_futex, &arena->lock, FUTEX_WAKE_PRIVATE, 1);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &signals, NULL, sizeof signals);
}
