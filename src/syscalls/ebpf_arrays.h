/* BPF arrays shared with user space, and maps of such arrays; part of sample-bpf.so. Errors are negative errnos, as in
 * libbpf. */
#ifndef SONDE_SYSCALLS_EBPF_ARRAYS_H
#define SONDE_SYSCALLS_EBPF_ARRAYS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EBPF_PENDING_INSERTS_MAX 3

/* An insertion into a map of arrays. Programs see the array at once, but the system call returns only after all
 * programs that may have started before have finished, some 10 ms later. There was no array before, so waiting is
 * pointless: a thread does it. */
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

/* Returns a descriptor. */
int ebpf_arrays_create(size_t value_size, uint32_t count);

/* NULL: failed. */
void *ebpf_arrays_map(int array_fd, size_t size);
void ebpf_arrays_unmap(const void *memory, size_t size); /* accepts NULL */

/* Creates an array and inserts it at an empty key of a map of arrays. Both the map and *memory, NULL on failure, refer
 * to it. The key must not be deleted before ebpf_arrays_wait. */
int ebpf_arrays_insert(struct ebpf_pending_inserts *pending, int map_fd, uint32_t key, size_t value_size,
                       uint32_t count, void **memory);

/* Waits until the kernel has completed all insertions. */
void ebpf_arrays_wait(struct ebpf_pending_inserts *pending);

#endif
