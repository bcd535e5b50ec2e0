/* Netlink sockets without a library, read with recvmmsg, many datagrams per call. */
#include "proc/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVE_BUFFER_BYTES (32 << 20) /* in the kernel, charged only while messages are waiting */
#define BATCH_MAX 64
#define BATCH_BYTES (64 << 10)
#define BATCHES_MAX (1 << 16)

static void enlarge_receive_buffer(int fd)
{
    int size = RECEIVE_BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

enum err netlink_open(int *fd, int protocol, uint32_t groups)
{
    *fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (*fd < 0)
        return errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT ? ABSENT : err_from_errno(errno);
    struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = groups };
    if (bind(*fd, (struct sockaddr *)&address, sizeof address)) {
        enum err err = err_from_errno(errno);
        close(*fd);
        *fd = -1;
        return err;
    }
    enlarge_receive_buffer(*fd);
    return OK;
}

enum err netlink_send(int fd, const void *message, size_t size)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    ssize_t sent = sendto(fd, message, size, 0, (struct sockaddr *)&kernel, sizeof kernel);
    return sent == (ssize_t)size ? OK : sent < 0 ? err_from_errno(errno) : IO;
}

enum err netlink_wait(int fd, int timeout_ms)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    int ready = poll(&poll_fd, 1, timeout_ms);
    return ready > 0 ? OK : ready == 0 ? AGAIN : err_from_errno(errno);
}

/* The kernel counts dropped messages. Before Linux 4.12 the count is not available, and each overflow counts as one. */
static void count_overflow(int fd, uint64_t *lost)
{
    uint32_t meminfo[SK_MEMINFO_VARS];
    socklen_t size = sizeof meminfo;
    if (!getsockopt(fd, SOL_SOCKET, SO_MEMINFO, meminfo, &size) && size > SK_MEMINFO_DROPS * sizeof *meminfo)
        *lost = meminfo[SK_MEMINFO_DROPS];
    else
        ++*lost;
}

struct batch_slots {
    struct mmsghdr messages[BATCH_MAX];
    struct iovec parts[BATCH_MAX];
    struct sockaddr_nl senders[BATCH_MAX];
    char bytes[BATCH_BYTES] __attribute__((aligned(8)));
};

static unsigned prepare_slots(struct batch_slots *slots, size_t message_max, size_t most)
{
    size_t slot = (message_max + 7) & ~(size_t)7;
    size_t count = slot ? BATCH_BYTES / slot : 0;
    if (count > most)
        count = most;
    for (size_t i = 0; i < count; i++) {
        slots->parts[i] = (struct iovec){ slots->bytes + i * slot, slot };
        slots->messages[i].msg_hdr = (struct msghdr){
            .msg_name = &slots->senders[i],
            .msg_namelen = sizeof slots->senders[i],
            .msg_iov = &slots->parts[i],
            .msg_iovlen = 1,
        };
    }
    return (unsigned)count;
}

/* Reads and passes on what one system call returns. AGAIN: there may be more. (The loop is not a function of its own: GCC 12
 * at -O1 takes such a function for one without effect, and removes its calls.) */
static enum err read_batch(int fd, size_t message_max, size_t most, uint64_t *lost, bool *is_empty,
                           void (*each)(void *context, struct bytes datagram), void *context)
{
    struct batch_slots slots;
    unsigned capacity = prepare_slots(&slots, message_max, most);
    int count = recvmmsg(fd, slots.messages, capacity, MSG_DONTWAIT, NULL);
    if (count < 0 && errno == ENOBUFS) {
        count_overflow(fd, lost);
        return AGAIN;
    }
    *is_empty = count < 0 && errno == EAGAIN;
    if (count < 0)
        return *is_empty ? OK : err_from_errno(errno);
    for (int i = 0; i < count; i++)
        if (slots.senders[i].nl_pid == 0)
            each(context, (struct bytes){ slots.parts[i].iov_base, slots.messages[i].msg_len });
    return count == (int)capacity ? AGAIN : OK;
}

enum err netlink_read_some(int fd, size_t message_max, uint64_t *lost,
                           void (*each)(void *context, struct bytes datagram), void *context)
{
    bool is_empty = false;
    return read_batch(fd, message_max, NETLINK_READ_MAX, lost, &is_empty, each, context);
}

/* Continues even if fewer came than fit: only the next call reports an overflow after them. */
enum err netlink_drain(int fd, size_t message_max, uint64_t *lost,
                       void (*each)(void *context, struct bytes datagram), void *context)
{
    bool is_empty = false;
    for (int batch = 0; batch < BATCHES_MAX && !is_empty; batch++) {
        enum err err = read_batch(fd, message_max, BATCH_MAX, lost, &is_empty, each, context);
        if (err && err != AGAIN)
            return err;
    }
    return OK;
}
