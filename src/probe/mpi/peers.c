/* The metric numbers by rank, in memory that is only touched for ranks that were sent to. */
#include "probe/mpi/peers.h"

#include "model/rank_name.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

/* metrics of the messages; that of the bytes is the next. SEGMENT_METRIC_NONE: not created yet, or no space */
static uint32_t *peers;
static int peer_count;  /* ranks of the world; the entry after them is for all other worlds together */

static uint32_t describe(const char *name, const char *unit, const char *help, int rank)
{
    char labels[32];
    if (rank == peer_count)
        snprintf(labels, sizeof labels, "to=\"%s\"", RANK_NAME_ELSEWHERE);
    else
        snprintf(labels, sizeof labels, "to=\"%d\"", rank);
    return segment_metric(&call_segment, &(struct segment_description){
        .name = name, .labels = labels, .unit = unit, .help = help, .kind = SEGMENT_COUNTER, .type = SEGMENT_U64,
    });
}

/* Adds the metrics of a rank. */
static uint32_t make(int rank)
{
    call_lock_metrics(true);
    segment_keep_adjacent(&call_segment, 2);
    uint32_t messages = describe("mpi_peer_messages_total", NULL, "Point-to-point messages sent to this rank", rank);
    uint32_t bytes = describe("mpi_peer_bytes_total", "bytes", "Bytes sent to this rank, point to point", rank);
    call_lock_metrics(false);
    if (bytes != messages + 1)
        return SEGMENT_METRIC_NONE;
    __atomic_store_n(&peers[rank], messages, __ATOMIC_RELAXED);
    return messages;
}

bool peers_find(struct call_peer *place, int rank)
{
    int peer = rank == CALL_NO_RANK ? peer_count : rank;
    if (!peers || (unsigned)peer > (unsigned)peer_count)
        return false;
    uint32_t metric = __atomic_load_n(&peers[peer], __ATOMIC_RELAXED);
    if (metric == SEGMENT_METRIC_NONE)
        metric = make(peer);
    place->slots = segment_slots(&call_segment, metric);
    place->key = metric == SEGMENT_METRIC_NONE ? 0 : (uint64_t)(uint32_t)rank + 1;
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
