/* The file of a board: made in $SONDE_BOARDS or, where that is not, in /dev/shm, mapped once and whole, its descriptor closed at
 * once. Pages are populated before anybody touches them, because a full /dev/shm would be a SIGBUS. Where there can be no file
 * there is anonymous memory in its place, at the same cost. */
#include "probe/segment/internal.h"

#include "base/clock.h"
#include "base/sys.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define BYTES_MIN (256u << 10)
#define USABLE_STEP (64u << 10) /* what cannot be touched yet cannot be populated by mlockall either */
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

/* As large as the program's limits allow without harm to it: a file larger than RLIMIT_FSIZE would be a signal. */
static size_t bytes_wanted(bool is_file)
{
    uint64_t bytes = is_file ? BOARD_BYTES_MAX : BOARD_BYTES_MAX / 4;
    uint64_t space = limit_of(RLIMIT_AS) / 32, file = is_file ? limit_of(RLIMIT_FSIZE) : UINT64_MAX;
    bytes = space < bytes ? space : bytes;
    bytes = file < bytes ? file : bytes;
    return (size_t)(bytes / BOARD_PAGE * BOARD_PAGE);
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

static void name_file(struct board *board, const char *folder)
{
    uint64_t random = 0;
    if (sys3(SYS_getrandom, &random, sizeof random, 1 /* GRND_NONBLOCK */) != sizeof random)
        random = board_ticks();
    const char *end = board->path + sizeof board->path - 1;
    char *at = append(board->path, end, folder);
    at = append(at, end, "/" BOARD_PREFIX);
    at = append_number(at, end, (uint64_t)board->pid, 10);
    at = append(at, end, ".");
    at = append(at, end, board->library);
    at = append(at, end, ".");
    at = append_number(at, end, random | 1ull << 63, 16);
    const char *socket = secure_getenv(BOARD_ENV_SOCKET);
    if (socket && *socket)
        at = append_number(append(at, end, "."), end, board_socket_number(socket), 16);
    if (at == end)
        board->path[0] = '\0'; /* would be cut */
}

static long create(struct board *board, const char *folder)
{
    name_file(board, folder);
    if (!board->path[0])
        return -ENAMETOOLONG;
    return sys4(SYS_openat, AT_FDCWD, board->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* The folder of the environment is not for programs that run with the rights of another. Where there is none of that name, as on
 * the other nodes of a job whose launcher has passed the environment on, the node's own agent may read it. */
static long create_in_folder(struct board *board)
{
    const char *named = secure_getenv(BOARD_ENV_FOLDER);
    long fd = named && *named ? create(board, named) : -ENOENT;
    return fd == -ENOENT || fd == -ENOTDIR ? create(board, BOARD_FOLDER) : fd;
}

static int make_file(struct board *board, size_t bytes)
{
    int fd = (int)create_in_folder(board);
    if (fd < 0)
        return -1;
    sys2(SYS_fchmod, fd, 0600); /* whatever the umask says */
    if (sys2(SYS_ftruncate, fd, bytes) == 0)
        return fd;
    sys_close(fd);
    sys3(SYS_unlinkat, AT_FDCWD, board->path, 0);
    return -1;
}

/* Smaller and smaller, where address space is scarce. */
static bool map(struct board *board, size_t bytes, int flags, int fd)
{
    for (; bytes >= BYTES_MIN; bytes = bytes / 4 / BOARD_PAGE * BOARD_PAGE) {
        long got = sys6(SYS_mmap, NULL, bytes, PROT_NONE, flags | MAP_NORESERVE, fd, 0);
        if (is_error(got))
            continue;
        board->base = (char *)got;
        board->bytes = bytes;
        board->usable = 0;
        sys3(SYS_madvise, got, bytes, MADV_DONTDUMP);
        return true;
    }
    return false;
}

static bool make_ready(struct board *board, uint64_t at, size_t bytes);

static bool map_file(struct board *board)
{
    size_t bytes = bytes_wanted(true);
    int fd = bytes < BYTES_MIN ? -1 : make_file(board, bytes);
    if (fd < 0)
        return false;
    board->is_file = true;
    bool is_mapped = map(board, bytes, MAP_SHARED, fd);
    sys_close(fd);
    if (is_mapped && make_ready(board, 0, BOARD_PAGE))
        return true;
    if (is_mapped)
        sys2(SYS_munmap, board->base, board->bytes);
    sys3(SYS_unlinkat, AT_FDCWD, board->path, 0);
    return false;
}

static bool map_memory(struct board *board)
{
    board->is_file = false;
    board->path[0] = '\0';
    size_t bytes = bytes_wanted(false);
    return map(board, bytes < BYTES_MIN ? BYTES_MIN : bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1)
           && make_ready(board, 0, BOARD_PAGE);
}

void board_file_make(struct board *board)
{
    board->base = NULL;
    board->pages = 0;
    board->block = board->block_used = 0;
    if (!map_file(board) && !map_memory(board)) {
        board->base = NULL;
        return;
    }
    struct board_header *header = board_header(board);
    board_facts_fill(board, header);
    board->pages = header->pages = 1;
    uint64_t magic; /* last, and at once: then the header is whole */
    memcpy(&magic, BOARD_MAGIC, sizeof magic);
    __atomic_store_n((uint64_t *)(void *)header->magic, magic, __ATOMIC_RELEASE);
}

void board_file_move(struct board *board, const struct board *parent)
{
    if (!board->base || parent->bytes != board->bytes || parent->usable > board->bytes)
        return;
    if (board->usable < parent->usable) /* for an addition that the fork interrupted */
        sys3(SYS_mprotect, board->base, parent->usable, PROT_READ | PROT_WRITE);
    board->usable = parent->usable > board->usable ? parent->usable : board->usable;
    /* Two mappings of other rights cannot be moved in one. */
    size_t rest = board->bytes - board->usable;
    long moved = sys5(SYS_mremap, board->base, board->usable, board->usable, MREMAP_MAYMOVE | MREMAP_FIXED, parent->base);
    if (is_error(moved))
        return;
    if (rest
        && is_error(sys5(SYS_mremap, board->base + board->usable, rest, rest, MREMAP_MAYMOVE | MREMAP_FIXED,
                         parent->base + board->usable)))
        board->bytes = board->usable; /* what follows there is the parent's */
    board->base = parent->base;
}

/* For kernels that cannot populate: through the file, if it is still there. */
static bool allocate(const struct board *board, uint64_t at, size_t bytes)
{
    int fd = sys_open(AT_FDCWD, board->path, O_RDWR | O_NOFOLLOW);
    if (fd < 0)
        return false;
    struct stat st;
    long result = sys4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
    if (result == 0)
        result = (uint64_t)st.st_size < at + bytes ? -EINVAL : sys4(SYS_fallocate, fd, 0, at, bytes);
    sys_close(fd);
    return result == 0;
}

static bool populate(const struct board *board, uint64_t at, size_t bytes)
{
    if (!board->is_file)
        return true;
    long result;
    do
        result = sys3(SYS_madvise, board->base + at, bytes, POPULATE_WRITE);
    while (result == -EINTR || result == -EAGAIN);
    return result == 0 || (result == -EINVAL && allocate(board, at, bytes));
}

static bool make_usable(struct board *board, uint64_t end)
{
    if (end <= board->usable)
        return true;
    uint64_t usable = end + (board->usable / 4 > USABLE_STEP ? board->usable / 4 : USABLE_STEP);
    usable = usable < board->bytes ? usable / BOARD_PAGE * BOARD_PAGE : board->bytes;
    if (sys3(SYS_mprotect, board->base, usable, PROT_READ | PROT_WRITE))
        return false;
    board->usable = usable;
    return true;
}

static bool make_ready(struct board *board, uint64_t at, size_t bytes)
{
    return at + bytes <= board->bytes && make_usable(board, at + bytes) && populate(board, at, bytes);
}

uint64_t board_file_reserve(struct board *board, uint32_t pages)
{
    uint64_t at = board->pages * BOARD_PAGE;
    return board->base && make_ready(board, at, (size_t)pages * BOARD_PAGE) ? at : 0;
}

void board_file_publish(struct board *board, uint32_t pages)
{
    board->pages += pages;
    __atomic_store_n(&board_header(board)->pages, board->pages, __ATOMIC_RELEASE);
}

/* An agent of the node, or of this user, is there or comes back. Who else made such a file is not asked. */
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
    return is_ours && (is_locked || now.tv_sec - st.st_mtim.tv_sec < BOARD_CLAIM_LASTS_S);
}

/* By an agent of root or of this user (claimer); socket: by one that has those alone which name it. */
static bool is_claimed_by(uint32_t claimer, const char *socket, uint32_t uid)
{
    char path[96], *end = path + sizeof path - 1, *at = append(path, end, BOARD_FOLDER "/" BOARD_CLAIM);
    if (claimer || *socket)
        at = append_number(append(at, end, "."), end, claimer, 10);
    if (*socket)
        append(append(at, end, "."), end, socket);
    return is_claimed(path, uid);
}

void board_file_leave(const struct board *board)
{
    uint32_t uid = (uint32_t)sys0(SYS_geteuid);
    size_t folder_size = sizeof BOARD_FOLDER - 1;
    bool is_of_node = memcmp(board->path, BOARD_FOLDER "/" BOARD_PREFIX, folder_size + sizeof BOARD_PREFIX) == 0;
    if (!board->is_file || !is_of_node)
        return;
    const char *socket = board_name_socket(board->path + sizeof BOARD_FOLDER);
    bool is_named = *socket && (is_claimed_by(0, socket, uid) || is_claimed_by(uid, socket, uid));
    if (!is_named && !is_claimed_by(0, "", uid) && !is_claimed_by(uid, "", uid))
        sys3(SYS_unlinkat, AT_FDCWD, board->path, 0);
}
