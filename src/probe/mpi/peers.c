/* The numbers of the metrics, in memory that is touched only where there is something. */
#include "probe/mpi/peers.h"

#include "probe/mpi/handles.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

struct peer {
    uint32_t messages, bytes; /* metrics; BOARD_NONE: not made yet, or no room for them */
};
static struct peer *peers;
static int peer_count;

static uint32_t describe(const char *name, const char *unit, const char *help, int rank)
{
    char labels[32];
    snprintf(labels, sizeof labels, "to=\"%d\"", rank);
    return board_metric(&call_board, &(struct board_description){
        .name = name, .labels = labels, .unit = unit, .help = help, .kind = BOARD_COUNTER, .type = BOARD_U64,
    });
}

/* Two threads may do the same here, and get the same. */
static void make(struct peer *peer, int rank)
{
    uint32_t messages = describe("mpi_peer_messages_total", NULL, "Messages sent to this rank, one to one", rank);
    uint32_t bytes = describe("mpi_peer_bytes_total", "bytes", "Bytes sent to this rank, one to one", rank);
    __atomic_store_n(&peer->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&peer->messages, messages, __ATOMIC_RELEASE);
}

static struct peer *find(int rank)
{
    struct peer *all = __atomic_load_n(&peers, __ATOMIC_ACQUIRE), *none = NULL;
    if (all)
        return rank < peer_count ? &all[rank] : NULL;
    int saved = errno;
    size_t bytes = (size_t)handles_world_size() * sizeof *all;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    if (memory == MAP_FAILED)
        return NULL;
    peer_count = handles_world_size();
    if (!__atomic_compare_exchange_n(&peers, &none, (struct peer *)memory, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        munmap(memory, bytes);
    return rank < peer_count ? &peers[rank] : NULL;
}

void peers_add(int rank, uint64_t messages, uint64_t bytes)
{
    struct peer *peer = rank >= 0 && handles_world_size() > 0 ? find(rank) : NULL;
    if (!peer)
        return;
    if (__builtin_expect(__atomic_load_n(&peer->messages, __ATOMIC_ACQUIRE) == BOARD_NONE, 0))
        make(peer, rank);
    board_add_u64(board_slots(&call_board, peer->messages), messages);
    board_add_u64(board_slots(&call_board, peer->bytes), bytes);
}
