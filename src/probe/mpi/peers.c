/* The numbers of the metrics, in memory that is touched only where there is something. */
#include "probe/mpi/peers.h"

#include "model/rank_name.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

static uint32_t *peers; /* metrics of the messages, those of the bytes stand behind them; BOARD_NONE: not made yet, or no room */
static int peer_count;  /* ranks of the world; behind them stand all of other worlds as one */

static uint32_t describe(const char *name, const char *unit, const char *help, int rank)
{
    char labels[32];
    if (rank == peer_count)
        snprintf(labels, sizeof labels, "to=\"%s\"", RANK_NAME_ELSEWHERE);
    else
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
    int peer = rank == CALL_NO_RANK ? peer_count : rank;
    if (!peers || (unsigned)peer > (unsigned)peer_count)
        return false;
    uint32_t metric = __atomic_load_n(&peers[peer], __ATOMIC_RELAXED);
    if (metric == BOARD_NONE)
        metric = make(peer);
    place->slots = board_slots(&call_board, metric);
    place->key = metric == BOARD_NONE ? 0 : (uint64_t)(uint32_t)rank + 1;
    return true;
}

void peers_begin(int size)
{
    int saved = errno;
    if (peers || size <= 0)
        return;
    size_t bytes = ((size_t)size + 1) * sizeof *peers;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    if (memory == MAP_FAILED)
        return;
    peer_count = size;
    peers = memory;
}
