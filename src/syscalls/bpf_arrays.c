/* Made, mapped, and put into place by a thread that lives until the kernel lets it go. */
#include "syscalls/bpf_arrays.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOOK_PAUSE_NS 20000

int bpf_arrays_make(size_t value_size, uint32_t count)
{
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    return bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_numbers", sizeof(uint32_t), (uint32_t)value_size, count, &options);
}

static size_t round_to_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

void *bpf_arrays_share(int array_fd, size_t size)
{
    void *memory = mmap(NULL, round_to_pages(size), PROT_READ | PROT_WRITE, MAP_SHARED, array_fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void bpf_arrays_unshare(const void *memory, size_t size)
{
    if (memory)
        munmap((void *)memory, round_to_pages(size));
}

static void *put(void *argument)
{
    struct bpf_arrays_wait *wait = argument;
    wait->failed = bpf_map_update_elem(wait->map_fd, &wait->key, &wait->array_fd, BPF_ANY);
    atomic_store_explicit(&wait->is_over, true, memory_order_release);
    return NULL;
}

/* Signals are for those who were here before. */
static bool start(struct bpf_arrays_wait *wait)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&wait->thread, NULL, put, wait) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* Is there an array in this place? The kernel answers with its number. */
static bool is_there(const struct bpf_arrays_wait *wait)
{
    uint32_t id;
    return bpf_map_lookup_elem(wait->map_fd, &wait->key, &id) == 0;
}

/* Until it is in its place, or failed. */
static int put_beside_us(struct bpf_arrays_waits *waits, struct bpf_arrays_wait wait)
{
    if (waits->count == BPF_ARRAYS_WAITS)
        bpf_arrays_await(waits);
    struct bpf_arrays_wait *new = &waits->all[waits->count];
    *new = wait;
    if (!start(new)) {
        put(new);
        close(new->array_fd);
        return new->failed;
    }
    waits->count++;
    while (!atomic_load_explicit(&new->is_over, memory_order_acquire))
        if (is_there(new))
            return 0;
        else
            nanosleep(&(struct timespec){ 0, LOOK_PAUSE_NS }, NULL);
    return new->failed;
}

int bpf_arrays_add(struct bpf_arrays_waits *waits, int map_fd, uint32_t key, size_t value_size, uint32_t count, void **memory)
{
    *memory = NULL;
    int fd = bpf_arrays_make(value_size, count);
    if (fd < 0)
        return fd;
    void *made = bpf_arrays_share(fd, value_size * count);
    if (!made) {
        int failed = -errno;
        close(fd);
        return failed;
    }
    int failed = put_beside_us(waits, (struct bpf_arrays_wait){ .map_fd = map_fd, .array_fd = fd, .key = key });
    if (failed)
        bpf_arrays_unshare(made, value_size * count);
    else
        *memory = made;
    return failed;
}

void bpf_arrays_await(struct bpf_arrays_waits *waits)
{
    for (size_t i = 0; i < waits->count; i++) {
        pthread_join(waits->all[i].thread, NULL);
        close(waits->all[i].array_fd);
    }
    waits->count = 0;
}
