/* The pieces that nobody uses stand in a row; who takes one leaves NULL. */
#include "probe/mpi/scratch.h"

#include <errno.h>
#include <sys/mman.h>

enum { SPARES = 4, ROOM_MIN = 64 };
static struct scratch *spares[SPARES];

static struct scratch *make(size_t room)
{
    int saved = errno;
    size_t one = sizeof(MPI_Status) + sizeof(MPI_Request) + sizeof(uint32_t);
    size_t bytes = (sizeof(struct scratch) + 64 + room * one + 4095) & ~(size_t)4095;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (memory == MAP_FAILED)
        return NULL;
    struct scratch *scratch = memory;
    scratch->bytes = bytes;
    scratch->room = room;
    scratch->statuses = (MPI_Status *)((char *)memory + 64);
    scratch->requests = (MPI_Request *)(scratch->statuses + room);
    scratch->notes = (uint32_t *)(scratch->requests + room);
    return scratch;
}

static void drop(struct scratch *scratch)
{
    int saved = errno;
    munmap(scratch, scratch->bytes);
    errno = saved;
}

struct scratch *scratch_get(struct scratch_few *few, int count)
{
    size_t room = ROOM_MIN;
    if (count <= SCRATCH_FEW) {
        few->head = (struct scratch){ 0, SCRATCH_FEW, few->requests, few->statuses, few->notes };
        return &few->head;
    }
    for (size_t i = 0; i < SPARES; i++) {
        struct scratch *spare = spares[i] ? __atomic_exchange_n(&spares[i], NULL, __ATOMIC_ACQUIRE) : NULL;
        if (spare && spare->room >= (size_t)count)
            return spare;
        if (spare)
            drop(spare);
    }
    while (room < (size_t)count)
        room *= 2;
    return make(room);
}

void scratch_put(struct scratch *scratch)
{
    if (!scratch->bytes)
        return;
    for (size_t i = 0; i < SPARES; i++) {
        scratch = __atomic_exchange_n(&spares[i], scratch, __ATOMIC_ACQ_REL);
        if (!scratch)
            return;
    }
    drop(scratch);
}
