/* Arrays that programs in the kernel and we see, and maps of such arrays; a part of sample-bpf.so. Errors are negative errnos, as
 * libbpf's. */
#ifndef SONDE_SYSCALLS_BPF_ARRAYS_H
#define SONDE_SYSCALLS_BPF_ARRAYS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BPF_ARRAYS_WAITS 3

/* An array is being put into a map of arrays: by then programs see it, and the kernel waits until none is left that may have
 * begun before, some 10 ms. Nobody needs that, since before there was none: a thread waits for us. */
struct bpf_arrays_wait {
    int map_fd, array_fd;
    uint32_t key;
    int failed;
    _Atomic bool is_over;
    pthread_t thread;
};

struct bpf_arrays_waits {
    struct bpf_arrays_wait all[BPF_ARRAYS_WAITS];
    size_t count;
};

/* A descriptor. */
int bpf_arrays_make(size_t value_size, uint32_t count);

/* NULL: failed. */
void *bpf_arrays_share(int array_fd, size_t size);
void bpf_arrays_unshare(const void *memory, size_t size); /* accepts NULL */

/* A new array into a map of arrays, in a place where there is none: the map keeps it, and so does *memory, which is NULL when it
 * failed. Its place must not be emptied before bpf_arrays_await. */
int bpf_arrays_add(struct bpf_arrays_waits *waits, int map_fd, uint32_t key, size_t value_size, uint32_t count, void **memory);

/* Until the kernel has done with all that were added. */
void bpf_arrays_await(struct bpf_arrays_waits *waits);

#endif
