/* The numbers of the metrics, in memory that is touched only where there is something. */
#include "probe/mpi/peers.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

static uint32_t *peers; /* metrics of the messages, those of the bytes stand behind them; BOARD_NONE: not made yet, or no room */
static int peer_count;

static uint32_t describe(const char *name, const char *unit, const char *help, int rank)
{
    char labels[32];
    snprintf(labels, sizeof labels, "to=\"%d\"", rank);
    return board_metric(&call_board, &(struct board_description){
        .name = name, .labels = labels, .unit = unit, .help = help, .kind = BOARD_COUNTER, .type = BOARD_U64,
    });
}

/* The metric of a rank that has none yet. */
static uint32_t make(int rank)
{
    call_describe_alone(true);
    board_keep_together(&call_board, 2);
    uint32_t messages = describe("mpi_peer_messages_total", NULL, "Messages sent to this rank, one to one", rank);
    uint32_t bytes = describe("mpi_peer_bytes_total", "bytes", "Bytes sent to this rank, one to one", rank);
    call_describe_alone(false);
    if (bytes != messages + 1)
        return BOARD_NONE;
    __atomic_store_n(&peers[rank], messages, __ATOMIC_RELAXED);
    return messages;
}

bool peers_find(struct call_peer *place, int rank)
{
    if ((unsigned)rank >= (unsigned)peer_count)
        return false;
    uint32_t metric = __atomic_load_n(&peers[rank], __ATOMIC_RELAXED);
    if (metric == BOARD_NONE)
        metric = make(rank);
    place->slots = board_slots(&call_board, metric);
    place->key = metric == BOARD_NONE ? 0 : (uint64_t)rank + 1;
    return true;
}

void peers_begin(int size)
{
    int saved = errno;
    if (peers || size <= 0)
        return;
    size_t bytes = (size_t)size * sizeof *peers;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    if (memory == MAP_FAILED)
        return;
    peers = memory;
    peer_count = size;
}
