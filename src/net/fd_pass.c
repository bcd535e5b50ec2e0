/* One control message each way. The kernel closes files that do not fit into it. */
#include "net/fd_pass.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
    struct cmsghdr aligned;
    char bytes[CMSG_SPACE(sizeof(int))];
};

ssize_t fd_pass_send(int socket, const void *data, size_t size, int fd)
{
    union control control = { .bytes = { 0 } };
    struct iovec part = { (void *)data, size };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

/* Because of alignment there can be space for two. */
static void take_files(const struct cmsghdr *head, int *fd)
{
    size_t size = head->cmsg_len > CMSG_LEN(0) ? head->cmsg_len - CMSG_LEN(0) : 0;
    for (size_t at = 0; at + sizeof *fd <= size; at += sizeof *fd) {
        int received;
        memcpy(&received, CMSG_DATA(head) + at, sizeof received);
        if (*fd >= 0)
            close(received);
        else
            *fd = received;
    }
}

ssize_t fd_pass_receive(int socket, void *data, size_t size, int *fd)
{
    union control control;
    struct iovec part = { data, size };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return got;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
            take_files(head, fd);
    return got;
}
