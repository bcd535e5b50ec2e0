/* Memory of the writer of a board that is this process' alone: tables of chunks and of names. It is taken with mmap, never given
 * back, and empty in a child of fork, however that was made: that is how the child finds out that it needs a board of its own. */
#include "probe/segment/internal.h"

#include "base/sys.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define PIECE_BYTES (128u << 10)

static struct board *forked_by_hand; /* of kernels before 4.14 */

static void *map(size_t bytes)
{
    long got = sys6(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got < 0 && got > -4096 ? NULL : (void *)got;
}

static void after_fork(void)
{
    board_forget();
    forked_by_hand->piece_used = forked_by_hand->piece_bytes;
    memset(forked_by_hand->arena, 0, sizeof *forked_by_hand->arena);
}

static void empty_at_fork(struct board *board, void *memory, size_t bytes)
{
    if (sys3(SYS_madvise, memory, bytes, MADV_WIPEONFORK) == 0 || forked_by_hand)
        return;
    forked_by_hand = board;
    pthread_atfork(NULL, NULL, after_fork);
}

struct board_arena *board_arena(struct board *board)
{
    struct board_arena *arena = __atomic_load_n(&board->arena, __ATOMIC_ACQUIRE), *expected = NULL;
    if (arena)
        return arena;
    arena = map(BOARD_PAGE);
    if (!arena)
        return NULL;
    if (!__atomic_compare_exchange_n(&board->arena, &expected, arena, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        sys2(SYS_munmap, arena, BOARD_PAGE);
        return expected;
    }
    empty_at_fork(board, arena, BOARD_PAGE);
    return arena;
}

/* In a child the piece goes on behind what its parent used: a thread may still have a pointer to that, and finds zeros. */
void *board_arena_take(struct board *board, size_t bytes)
{
    bytes = (bytes + 63) & ~(size_t)63;
    if (board->piece_bytes - board->piece_used < bytes) {
        size_t size = bytes > PIECE_BYTES ? (bytes + BOARD_PAGE - 1) / BOARD_PAGE * BOARD_PAGE : PIECE_BYTES;
        char *piece = map(size);
        if (!piece)
            return NULL;
        empty_at_fork(board, piece, size);
        board->piece = piece;
        board->piece_used = 0;
        board->piece_bytes = size;
    }
    void *taken = board->piece + board->piece_used;
    board->piece_used += bytes;
    return taken;
}

/* 0: free, 1: taken, 2: taken and waited for. */
uint64_t board_arena_lock(struct board_arena *arena)
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

void board_arena_unlock(struct board_arena *arena, uint64_t signals)
{
    if (__atomic_exchange_n(&arena->lock, 0, __ATOMIC_RELEASE) == 2)
        sys3(SYS_futex, &arena->lock, FUTEX_WAKE_PRIVATE, 1);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &signals, NULL, sizeof signals);
}
