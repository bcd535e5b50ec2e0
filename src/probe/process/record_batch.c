/* Records that are written several at once, since an append costs a thread more than all else that is done for it. Where the
 * kernel tells the same, they wait in our own memory; else those of threads, when a process has had a few, in a page that
 * outlives it (spool/record_batch.h). */
#include "probe/process/probe.h"

#include "spool/record_batch.h"
#include "spool/spool.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE_FROM 8 /* a page costs as much as four or five appends */
#define OWN_ROOM 768u

/* One thread at a time; who finds another there, or is a signal handler in the midst of it, does without. */
static _Atomic bool in_use;
static bool is_closed;                 /* nobody will write them any more */
static unsigned asked;                 /* records of threads that came while there was no page */
static struct held_records *page;
static union {
    struct held_records records;
    uint8_t room[sizeof(struct held_records) + OWN_ROOM];
} own;

static bool hold_begin(void)
{
    return !atomic_exchange_explicit(&in_use, true, memory_order_acquire);
}

static void hold_end(void)
{
    atomic_store_explicit(&in_use, false, memory_order_release);
}

static void page_path(char path[PROBE_PAGES_MAX + sizeof HELD_PAGE_PREFIX + ARGS_DIGITS_MAX])
{
    size_t size = strlen(probe.pages);
    memcpy(path, probe.pages, size);
    path[size] = '/';
    memcpy(path + size + 1, HELD_PAGE_PREFIX, sizeof HELD_PAGE_PREFIX);
    args_digits(path + size + sizeof HELD_PAGE_PREFIX, (unsigned)probe.pid);
}

/* Under a limit of file sizes the kernel would send a signal. */
static bool may_grow(void)
{
    struct rlimit limit;
    return sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

static struct held_records *page_map(int flags, int fd)
{
    long map = sys6(SYS_mmap, NULL, HELD_PAGE_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    return map < 0 && map > -4096 ? NULL : (struct held_records *)map;
}

/* A file that is there is a killed process's of this pid, or that of one in another pid namespace. Memory for it is taken now: to
 * touch a mapping for which there is none would raise SIGBUS. */
static struct held_records *page_make_file(void)
{
    char path[PROBE_PAGES_MAX + sizeof HELD_PAGE_PREFIX + ARGS_DIGITS_MAX];
    page_path(path);
    int fd = may_grow() ? (int)sys4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return NULL;
    struct held_records *made = sys4(SYS_fallocate, fd, 0, 0, HELD_PAGE_BYTES) == 0 ? page_map(MAP_SHARED, fd) : NULL;
    sys_close(fd);
    return made;
}

/* Without a file it is shared all the same: of such a page fork makes no copy, for which both would have to wait. */
static struct held_records *page_make(void)
{
    return probe.kernel_listens ? page_map(MAP_SHARED | MAP_ANONYMOUS, -1) : probe.pages[0] ? page_make_file() : NULL;
}

/* NULL: none yet, or none is to be had. */
static struct held_records *page_ready(void)
{
    if (!page && asked++ == PAGE_FROM)
        page = page_make();
    return page;
}

static void page_leave(void)
{
    char path[PROBE_PAGES_MAX + sizeof HELD_PAGE_PREFIX + ARGS_DIGITS_MAX];
    if (!page)
        return;
    if (!probe.kernel_listens) {
        page_path(path);
        sys3(SYS_unlinkat, AT_FDCWD, path, 0);
    }
    sys2(SYS_munmap, page, HELD_PAGE_BYTES);
    page = NULL;
    asked = 0;
}

static void write_all(struct held_records *held)
{
    if (held->size)
        emit_frames(held->frames, held->size, held->count, spool_append_open(probe.spool));
    held->count = 0;
    atomic_store_explicit(&held->size, 0, memory_order_release);
}

static void add(struct held_records *held, size_t room, const uint8_t *frame, size_t size)
{
    if (held->size + size > room)
        write_all(held);
    memcpy(held->frames + held->size, frame, size);
    held->count++;
    atomic_store_explicit(&held->size, held->size + (uint32_t)size, memory_order_release);
}

bool held_add(const uint8_t *frame, size_t size, enum record_kind kind)
{
    bool is_thread = kind == RECORD_KIND_thread;
    if (size > OWN_ROOM || !(is_thread || probe.kernel_listens) || !probe_mine() || !hold_begin())
        return false;
    struct held_records *held = is_closed || !is_thread ? NULL : page_ready();
    bool is_held = held || (probe.kernel_listens && !is_closed);
    if (held)
        add(held, HELD_PAGE_ROOM, frame, size);
    else if (is_held)
        add(&own.records, OWN_ROOM, frame, size);
    hold_end();
    return is_held;
}

/* Where another thread is in the midst of it, the page stays for sonde run; of our own memory the kernel tells. */
static void leave(bool closes)
{
    if (!hold_begin())
        return;
    write_all(&own.records);
    if (page)
        write_all(page);
    page_leave();
    is_closed |= closes;
    hold_end();
}

void held_write(void)
{
    if ((own.records.size || page) && probe_mine())
        leave(false);
}

void held_close(void)
{
    leave(true);
}

void held_forget(void)
{
    own.records.size = own.records.count = 0;
    page = NULL;
    asked = 0;
    is_closed = false;
    hold_end();
}
