/* Arrays that programs in the kernel and we see, and maps of such arrays; a part of sample-bpf.so. Errors are negative errnos, as
 * libbpf's. */
#ifndef SONDE_SYSCALLS_EBPF_ARRAYS_H
#define SONDE_SYSCALLS_EBPF_ARRAYS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBPF_PENDING_INSERTS_MAX 3

/* An array is being put into a map of arrays: by then programs see it, and the kernel waits until none is left that may have
 * begun before, some 10 ms. Nobody needs that, since before there was none: a thread waits for us. */
struct ebpf_pending_insert {
    int map_fd, array_fd;
    uint32_t key;
    int failed;
    _Atomic bool is_done;
    pthread_t thread;
};

struct ebpf_pending_inserts {
    struct ebpf_pending_insert all[EBPF_PENDING_INSERTS_MAX];
    size_t count;
};

/* A descriptor. */
int ebpf_arrays_create(size_t value_size, uint32_t count);

/* NULL: failed. */
void *ebpf_arrays_map(int array_fd, size_t size);
void ebpf_arrays_unmap(const void *memory, size_t size); /* accepts NULL */

/* A new array into a map of arrays, in a place where there is none: the map keeps it, and so does *memory, which is NULL when it
 * failed. Its place must not be emptied before ebpf_arrays_wait. */
int ebpf_arrays_insert(struct ebpf_pending_inserts *pending, int map_fd, uint32_t key, size_t value_size,
                       uint32_t count, void **memory);

/* Until the kernel has done with all that were added. */
void ebpf_arrays_wait(struct ebpf_pending_inserts *pending);

#endif
