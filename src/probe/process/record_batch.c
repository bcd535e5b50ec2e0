/* Batches records, since one append costs more than everything else the probe does for a thread. Where the kernel
 * reports the same data, records are kept in private memory; otherwise thread records of processes with many threads
 * go to a shared page that outlives the process (spool/record_batch.h). */
#include "probe/process/probe.h"

#include "spool/record_batch.h"
#include "spool/spool.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE_AFTER_RECORDS 8 /* a page costs as much as four or five appends */
#define OWN_CAPACITY 768u

/* A try-lock: another thread, or a signal handler that interrupted the owner, writes its record without batching. */
static _Atomic bool in_use;
static bool is_closed;                 /* nothing would flush the batch any more */
static unsigned thread_records;                 /* thread records since there was no page */
static struct record_batch *page;
static union {
    struct record_batch records;
    uint8_t bytes[sizeof(struct record_batch) + OWN_CAPACITY];
} own;

static bool try_lock(void)
{
    return !atomic_exchange_explicit(&in_use, true, memory_order_acquire);
}

static void unlock(void)
{
    atomic_store_explicit(&in_use, false, memory_order_release);
}

static void page_path(char path[PROBE_BATCH_DIR_MAX + sizeof RECORD_BATCH_PREFIX + ARGS_DIGITS_MAX])
{
    size_t size = strlen(probe.batch_dir);
    memcpy(path, probe.batch_dir, size);
    path[size] = '/';
    memcpy(path + size + 1, RECORD_BATCH_PREFIX, sizeof RECORD_BATCH_PREFIX);
    args_digits(path + size + sizeof RECORD_BATCH_PREFIX, (unsigned)probe.pid);
}

/* With RLIMIT_FSIZE set, growing a file may raise SIGXFSZ. */
static bool may_grow(void)
{
    struct rlimit limit;
    return sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

static struct record_batch *page_map(int flags, int fd)
{
    long map = sys6(SYS_mmap, NULL, RECORD_BATCH_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    return map < 0 && map > -4096 ? NULL : (struct record_batch *)map;
}

/* An existing file belongs to a killed process with this pid, or to one in another pid namespace. Memory is
 * allocated now: touching a mapping without backing memory would raise SIGBUS. */
static struct record_batch *page_create_file(void)
{
    char path[PROBE_BATCH_DIR_MAX + sizeof RECORD_BATCH_PREFIX + ARGS_DIGITS_MAX];
    page_path(path);
    int fd = may_grow() ? (int)sys4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return NULL;
    struct record_batch *created = sys4(SYS_fallocate, fd, 0, 0, RECORD_BATCH_BYTES) == 0 ? page_map(MAP_SHARED, fd) : NULL;
    sys_close(fd);
    return created;
}

/* Shared even without a file: fork does not copy such a page, which would cost parent and child a page fault. */
static struct record_batch *page_create(void)
{
    return probe.has_taskstats ? page_map(MAP_SHARED | MAP_ANONYMOUS, -1) : probe.batch_dir[0] ? page_create_file() : NULL;
}

/* NULL: not yet, or not available. */
static struct record_batch *page_get(void)
{
    if (!page && thread_records++ == PAGE_AFTER_RECORDS)
        page = page_create();
    return page;
}

static void page_release(void)
{
    char path[PROBE_BATCH_DIR_MAX + sizeof RECORD_BATCH_PREFIX + ARGS_DIGITS_MAX];
    if (!page)
        return;
    if (!probe.has_taskstats) {
        page_path(path);
        sys3(SYS_unlinkat, AT_FDCWD, path, 0);
    }
    sys2(SYS_munmap, page, RECORD_BATCH_BYTES);
    page = NULL;
    thread_records = 0;
}

static void write_all(struct record_batch *batch)
{
    if (batch->size)
        emit_frames(batch->frames, batch->size, batch->count, spool_append_open(probe.spool));
    batch->count = 0;
    atomic_store_explicit(&batch->size, 0, memory_order_release);
}

static void add(struct record_batch *batch, size_t capacity, const uint8_t *frame, size_t size)
{
    if (batch->size + size > capacity)
        write_all(batch);
    memcpy(batch->frames + batch->size, frame, size);
    batch->count++;
    atomic_store_explicit(&batch->size, batch->size + (uint32_t)size, memory_order_release);
}

bool record_batch_add(const uint8_t *frame, size_t size, enum record_kind kind)
{
    bool is_thread = kind == RECORD_KIND_thread;
    if (size > OWN_CAPACITY || !(is_thread || probe.has_taskstats) || !probe_is_own_process() || !try_lock())
        return false;
    struct record_batch *batch = is_closed || !is_thread ? NULL : page_get();
    bool is_added = batch || (probe.has_taskstats && !is_closed);
    if (batch)
        add(batch, RECORD_BATCH_CAPACITY, frame, size);
    else if (is_added)
        add(&own.records, OWN_CAPACITY, frame, size);
    unlock();
    return is_added;
}

/* If another thread holds the lock, the shared page is left for sonde run to read; the kernel reports what was in
 * private memory. */
static void flush(bool closes)
{
    if (!try_lock())
        return;
    write_all(&own.records);
    if (page)
        write_all(page);
    page_release();
    is_closed |= closes;
    unlock();
}

void record_batch_flush(void)
{
    if ((own.records.size || page) && probe_is_own_process())
        flush(false);
}

void record_batch_close(void)
{
    flush(true);
}

void record_batch_reset(void)
{
    own.records.size = own.records.count = 0;
    page = NULL;
    thread_records = 0;
    is_closed = false;
    unlock();
}
