/* Unused buffers are kept in a small array; taking one leaves NULL. */
#include "probe/mpi/scratch.h"

#include <errno.h>
#include <sys/mman.h>

enum { SPARES = 4, CAPACITY_MIN = 64 };
static struct scratch *spares[SPARES];

static struct scratch *make(size_t capacity)
{
    int saved = errno;
    size_t one = sizeof(MPI_Status) + sizeof(MPI_Request) + sizeof(uint32_t);
    size_t bytes = (sizeof(struct scratch) + 64 + capacity * one + 4095) & ~(size_t)4095;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (memory == MAP_FAILED)
        return NULL;
    struct scratch *scratch = memory;
    scratch->bytes = bytes;
    scratch->capacity = capacity;
    scratch->statuses = (MPI_Status *)((char *)memory + 64);
    scratch->requests = (MPI_Request *)(scratch->statuses + capacity);
    scratch->tokens = (uint32_t *)(scratch->requests + capacity);
    return scratch;
}

static void drop(struct scratch *scratch)
{
    int saved = errno;
    munmap(scratch, scratch->bytes);
    errno = saved;
}

struct scratch *scratch_get(struct scratch_small *small, int count)
{
    size_t capacity = CAPACITY_MIN;
    if (count <= SCRATCH_SMALL) {
        small->head = (struct scratch){ 0, SCRATCH_SMALL, small->requests, small->statuses, small->tokens };
        return &small->head;
    }
    for (size_t i = 0; i < SPARES; i++) {
        struct scratch *spare = spares[i] ? __atomic_exchange_n(&spares[i], NULL, __ATOMIC_ACQUIRE) : NULL;
        if (spare && spare->capacity >= (size_t)count)
            return spare;
        if (spare)
            drop(spare);
    }
    while (capacity < (size_t)count)
        capacity *= 2;
    return make(capacity);
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
