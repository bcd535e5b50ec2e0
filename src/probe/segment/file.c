/* The file of a segment: created in $SONDE_BOARDS or, if that does not exist, in /dev/shm, mapped once as a whole,
 * its descriptor closed immediately. Pages are populated before they are touched, because a full /dev/shm would
 * raise SIGBUS. If no file can be created, anonymous memory is used instead, at the same cost. */
#include "probe/segment/internal.h"

#include "base/clock.h"
#include "base/sys.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define BYTES_MIN (256u << 10)
#define USABLE_STEP (64u << 10) /* pages that are not accessible yet are not populated by mlockall either */
#define POPULATE_WRITE 23       /* MADV_POPULATE_WRITE: Linux 5.14 */

static bool is_error(long result)
{
    return result < 0 && result > -4096;
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (sys4(SYS_prlimit64, 0, resource, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

/* As large as the program's limits allow: exceeding RLIMIT_FSIZE would raise SIGXFSZ. */
static size_t bytes_wanted(bool is_file)
{
    uint64_t bytes = is_file ? SEGMENT_BYTES_MAX : SEGMENT_BYTES_MAX / 4;
    uint64_t space = limit_of(RLIMIT_AS) / 32, file = is_file ? limit_of(RLIMIT_FSIZE) : UINT64_MAX;
    bytes = space < bytes ? space : bytes;
    bytes = file < bytes ? file : bytes;
    return (size_t)(bytes / SEGMENT_PAGE * SEGMENT_PAGE);
}

static char *append(char *at, const char *end, const char *text)
{
    while (*text && at < end)
        *at++ = *text++;
    *at = '\0';
    return at;
}

static char *append_number(char *at, const char *end, uint64_t value, unsigned base)
{
    char digits[24], *digit = digits + sizeof digits - 1;
    *digit = '\0';
    do
        *--digit = "0123456789abcdef"[value % base];
    while (value /= base);
    return append(at, end, digit);
}

static void name_file(struct segment *segment, const char *dir)
{
    uint64_t random = 0;
    if (sys3(SYS_getrandom, &random, sizeof random, 1 /* GRND_NONBLOCK */) != sizeof random)
        random = segment_ticks();
    const char *end = segment->path + sizeof segment->path - 1;
    char *at = append(segment->path, end, dir);
    at = append(at, end, "/" SEGMENT_PREFIX);
    at = append_number(at, end, (uint64_t)segment->pid, 10);
    at = append(at, end, ".");
    at = append(at, end, segment->library);
    at = append(at, end, ".");
    at = append_number(at, end, random | 1ull << 63, 16);
    const char *socket = secure_getenv(SEGMENT_ENV_SOCKET);
    if (socket && *socket)
        at = append_number(append(at, end, "."), end, segment_socket_hash(socket), 16);
    if (at == end)
        segment->path[0] = '\0'; /* would be truncated */
}

static long create(struct segment *segment, const char *dir)
{
    name_file(segment, dir);
    if (!segment->path[0])
        return -ENAMETOOLONG;
    return sys4(SYS_openat, AT_FDCWD, segment->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* The directory from the environment is ignored in set-uid programs. If it does not exist, as on the other nodes of
 * a job whose launcher has forwarded the environment, use /dev/shm, where the node's agent may read it. */
static long create_in_dir(struct segment *segment)
{
    const char *named = secure_getenv(SEGMENT_ENV_DIR);
    long fd = named && *named ? create(segment, named) : -ENOENT;
    return fd == -ENOENT || fd == -ENOTDIR ? create(segment, SEGMENT_DIR) : fd;
}

static int create_file(struct segment *segment, size_t bytes)
{
    int fd = (int)create_in_dir(segment);
    if (fd < 0)
        return -1;
    sys2(SYS_fchmod, fd, 0600); /* regardless of the umask */
    if (sys2(SYS_ftruncate, fd, bytes) == 0)
        return fd;
    sys_close(fd);
    sys3(SYS_unlinkat, AT_FDCWD, segment->path, 0);
    return -1;
}

/* Tries smaller sizes if address space is scarce. */
static bool map(struct segment *segment, size_t bytes, int flags, int fd)
{
    for (; bytes >= BYTES_MIN; bytes = bytes / 4 / SEGMENT_PAGE * SEGMENT_PAGE) {
        long got = sys6(SYS_mmap, NULL, bytes, PROT_NONE, flags | MAP_NORESERVE, fd, 0);
        if (is_error(got))
            continue;
        segment->base = (char *)got;
        segment->bytes = bytes;
        segment->accessible = 0;
        sys3(SYS_madvise, got, bytes, MADV_DONTDUMP);
        return true;
    }
    return false;
}

static bool prepare(struct segment *segment, uint64_t at, size_t bytes);

static bool map_file(struct segment *segment)
{
    size_t bytes = bytes_wanted(true);
    int fd = bytes < BYTES_MIN ? -1 : create_file(segment, bytes);
    if (fd < 0)
        return false;
    segment->is_file = true;
    bool is_mapped = map(segment, bytes, MAP_SHARED, fd);
    sys_close(fd);
    if (is_mapped && prepare(segment, 0, SEGMENT_PAGE))
        return true;
    if (is_mapped)
        sys2(SYS_munmap, segment->base, segment->bytes);
    sys3(SYS_unlinkat, AT_FDCWD, segment->path, 0);
    return false;
}

static bool map_memory(struct segment *segment)
{
    segment->is_file = false;
    segment->path[0] = '\0';
    size_t bytes = bytes_wanted(false);
    return map(segment, bytes < BYTES_MIN ? BYTES_MIN : bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1)
           && prepare(segment, 0, SEGMENT_PAGE);
}

void segment_file_create(struct segment *segment)
{
    segment->base = NULL;
    segment->pages = 0;
    segment->block = segment->block_used = 0;
    if (!map_file(segment) && !map_memory(segment)) {
        segment->base = NULL;
        return;
    }
    struct segment_header *header = segment_header(segment);
    segment_header_fill(segment, header);
    segment->pages = header->pages = 1;
    uint64_t magic; /* written last and atomically: then the header is complete */
    memcpy(&magic, SEGMENT_MAGIC, sizeof magic);
    __atomic_store_n((uint64_t *)(void *)header->magic, magic, __ATOMIC_RELEASE);
}

void segment_file_move(struct segment *segment, const struct segment *parent)
{
    if (!segment->base || parent->bytes != segment->bytes || parent->accessible > segment->bytes)
        return;
    if (segment->accessible < parent->accessible) /* for an addition that was interrupted by the fork */
        sys3(SYS_mprotect, segment->base, parent->accessible, PROT_READ | PROT_WRITE);
    segment->accessible = parent->accessible > segment->accessible ? parent->accessible : segment->accessible;
    /* Mappings with different protection cannot be moved in one call. */
    size_t rest = segment->bytes - segment->accessible;
    long moved = sys5(SYS_mremap, segment->base, segment->accessible, segment->accessible,
                      MREMAP_MAYMOVE | MREMAP_FIXED, parent->base);
    if (is_error(moved))
        return;
    if (rest
        && is_error(sys5(SYS_mremap, segment->base + segment->accessible, rest, rest, MREMAP_MAYMOVE | MREMAP_FIXED,
                         parent->base + segment->accessible)))
        segment->bytes = segment->accessible; /* what follows there is the parent's */
    segment->base = parent->base;
}

/* For kernels without MADV_POPULATE_WRITE: through the file, if it still exists. */
static bool allocate(const struct segment *segment, uint64_t at, size_t bytes)
{
    int fd = sys_open(AT_FDCWD, segment->path, O_RDWR | O_NOFOLLOW);
    if (fd < 0)
        return false;
    struct stat st;
    long result = sys4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
    if (result == 0)
        result = (uint64_t)st.st_size < at + bytes ? -EINVAL : sys4(SYS_fallocate, fd, 0, at, bytes);
    sys_close(fd);
    return result == 0;
}

static bool populate(const struct segment *segment, uint64_t at, size_t bytes)
{
    if (!segment->is_file)
        return true;
    long result;
    do
        result = sys3(SYS_madvise, segment->base + at, bytes, POPULATE_WRITE);
    while (result == -EINTR || result == -EAGAIN);
    return result == 0 || (result == -EINVAL && allocate(segment, at, bytes));
}

static bool make_accessible(struct segment *segment, uint64_t end)
{
    if (end <= segment->accessible)
        return true;
    uint64_t accessible = end + (segment->accessible / 4 > USABLE_STEP ? segment->accessible / 4 : USABLE_STEP);
    accessible = accessible < segment->bytes ? accessible / SEGMENT_PAGE * SEGMENT_PAGE : segment->bytes;
    if (sys3(SYS_mprotect, segment->base, accessible, PROT_READ | PROT_WRITE))
        return false;
    segment->accessible = accessible;
    return true;
}

static bool prepare(struct segment *segment, uint64_t at, size_t bytes)
{
    return at + bytes <= segment->bytes && make_accessible(segment, at + bytes) && populate(segment, at, bytes);
}

uint64_t segment_file_reserve(struct segment *segment, uint32_t pages)
{
    uint64_t at = segment->pages * SEGMENT_PAGE;
    return segment->base && prepare(segment, at, (size_t)pages * SEGMENT_PAGE) ? at : 0;
}

void segment_file_publish(struct segment *segment, uint32_t pages)
{
    segment->pages += pages;
    __atomic_store_n(&segment_header(segment)->pages, segment->pages, __ATOMIC_RELEASE);
}

/* An agent of the node or of this user runs, or is about to return. It does not matter who else created such a file. */
static bool is_claimed(const char *path, uint32_t uid)
{
    int fd = sys_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    struct stat st;
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct timespec now = { 0 };
    sys2(SYS_clock_gettime, CLOCK_REALTIME, &now);
    bool is_ours = sys4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 && (st.st_uid == 0 || st.st_uid == uid);
    bool is_locked = sys3(SYS_fcntl, fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    sys_close(fd);
    return is_ours && (is_locked || now.tv_sec - st.st_mtim.tv_sec < SEGMENT_CLAIM_LASTS_S);
}

/* claimer: the agent's user, root or this one; socket: the claim of an agent that only reads segments naming its
 * socket. */
static bool is_claimed_by(uint32_t claimer, const char *socket, uint32_t uid)
{
    char path[96], *end = path + sizeof path - 1, *at = append(path, end, SEGMENT_DIR "/" SEGMENT_CLAIM);
    if (claimer || *socket)
        at = append_number(append(at, end, "."), end, claimer, 10);
    if (*socket)
        append(append(at, end, "."), end, socket);
    return is_claimed(path, uid);
}

void segment_file_release(const struct segment *segment)
{
    uint32_t uid = (uint32_t)sys0(SYS_geteuid);
    size_t dir_size = sizeof SEGMENT_DIR - 1;
    bool is_of_node = memcmp(segment->path, SEGMENT_DIR "/" SEGMENT_PREFIX, dir_size + sizeof SEGMENT_PREFIX) == 0;
    if (!segment->is_file || !is_of_node)
        return;
    const char *socket = segment_name_socket(segment->path + sizeof SEGMENT_DIR);
    bool is_named = *socket && (is_claimed_by(0, socket, uid) || is_claimed_by(uid, socket, uid));
    if (!is_named && !is_claimed_by(0, "", uid) && !is_claimed_by(uid, "", uid))
        sys3(SYS_unlinkat, AT_FDCWD, segment->path, 0);
}
