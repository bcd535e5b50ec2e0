/* Creates and maps arrays; a thread waits for the kernel to complete each insertion. */
#include "syscalls/ebpf_arrays.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 20000

int ebpf_arrays_create(size_t value_size, uint32_t count)
{
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    return bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_numbers", sizeof(uint32_t), (uint32_t)value_size, count, &options);
}

static size_t round_to_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

void *ebpf_arrays_map(int array_fd, size_t size)
{
    void *memory = mmap(NULL, round_to_pages(size), PROT_READ | PROT_WRITE, MAP_SHARED, array_fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void ebpf_arrays_unmap(const void *memory, size_t size)
{
    if (memory)
        munmap((void *)memory, round_to_pages(size));
}

static void *insert(void *argument)
{
    struct ebpf_pending_insert *insert_request = argument;
    insert_request->failed = bpf_map_update_elem(insert_request->map_fd, &insert_request->key,
                                                 &insert_request->array_fd, BPF_ANY);
    atomic_store_explicit(&insert_request->is_done, true, memory_order_release);
    return NULL;
}

/* All signals are blocked in the thread. */
static bool start(struct ebpf_pending_insert *insert_request)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&insert_request->thread, NULL, insert, insert_request) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* Is there an array at this key? The kernel returns its id. */
static bool is_inserted(const struct ebpf_pending_insert *insert_request)
{
    uint32_t id;
    return bpf_map_lookup_elem(insert_request->map_fd, &insert_request->key, &id) == 0;
}

/* Returns as soon as it is inserted, or has failed. */
static int insert_in_thread(struct ebpf_pending_inserts *pending, struct ebpf_pending_insert insert_request)
{
    if (pending->count == EBPF_PENDING_INSERTS_MAX)
        ebpf_arrays_wait(pending);
    struct ebpf_pending_insert *new = &pending->all[pending->count];
    *new = insert_request;
    if (!start(new)) {
        insert(new);
        close(new->array_fd);
        return new->failed;
    }
    pending->count++;
    while (!atomic_load_explicit(&new->is_done, memory_order_acquire))
        if (is_inserted(new))
            return 0;
        else
            nanosleep(&(struct timespec){ 0, POLL_NS }, NULL);
    return new->failed;
}

int ebpf_arrays_insert(struct ebpf_pending_inserts *pending, int map_fd, uint32_t key, size_t value_size,
                       uint32_t count, void **memory)
{
    *memory = NULL;
    int fd = ebpf_arrays_create(value_size, count);
    if (fd < 0)
        return fd;
    void *made = ebpf_arrays_map(fd, value_size * count);
    if (!made) {
        int failed = -errno;
        close(fd);
        return failed;
    }
    int failed = insert_in_thread(pending,
                                  (struct ebpf_pending_insert){ .map_fd = map_fd, .array_fd = fd, .key = key });
    if (failed)
        ebpf_arrays_unmap(made, value_size * count);
    else
        *memory = made;
    return failed;
}

void ebpf_arrays_wait(struct ebpf_pending_inserts *pending)
{
    for (size_t i = 0; i < pending->count; i++) {
        pthread_join(pending->all[i].thread, NULL);
        close(pending->all[i].array_fd);
    }
    pending->count = 0;
}
