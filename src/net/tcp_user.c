/* One NETLINK_SOCK_DIAG request, which needs no privileges: the peer's socket is found by our two addresses, swapped.
 * /proc/net/tcp has the same data, but reading it costs time proportional to the number of connections. */
#include "net/tcp_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One end of a connection. IPv4 addresses mapped into IPv6 are stored as IPv4. */
struct end {
    uint8_t family;
    uint16_t port; /* network byte order, like the addresses */
    uint32_t address[4], scope;
};

static bool end_of(const struct sockaddr_storage *at, struct end *end)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
    *end = (struct end){ .family = AF_INET };
    if (at->ss_family == AF_INET) {
        end->port = v4->sin_port;
        end->address[0] = v4->sin_addr.s_addr;
        return true;
    }
    if (at->ss_family != AF_INET6)
        return false;
    end->port = v6->sin6_port;
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        memcpy(end->address, v6->sin6_addr.s6_addr + 12, 4);
        return true;
    }
    end->family = AF_INET6;
    end->scope = v6->sin6_scope_id;
    memcpy(end->address, &v6->sin6_addr, sizeof end->address);
    return true;
}

static bool is_loopback(const struct end *end)
{
    return end->family == AF_INET ? ntohl(end->address[0]) >> 24 == IN_LOOPBACKNET
                                  : memcmp(end->address, &in6addr_loopback, sizeof end->address) == 0;
}

static bool send_query(int fd, const struct end *theirs, const struct end *ours)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } query = {
        .head = { .nlmsg_len = sizeof query, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
        .body = { .sdiag_family = theirs->family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = UINT32_MAX,
                  .id = { .idiag_sport = theirs->port, .idiag_dport = ours->port, .idiag_if = theirs->scope,
                          .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
    };
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    memcpy(query.body.id.idiag_src, theirs->address, sizeof theirs->address);
    memcpy(query.body.id.idiag_dst, ours->address, sizeof ours->address);
    return sendto(fd, &query, sizeof query, 0, (struct sockaddr *)&kernel, sizeof kernel) == sizeof query;
}

/* The kernel answers before sendto returns. It can have found a listener on that port instead of the connection. A connection
 * that its process has closed is shown as root's, but has no inode. */
static bool receive_reply(int fd, const struct end *ours, uint32_t *uid)
{
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } reply;
    ssize_t got = recv(fd, &reply, sizeof reply, MSG_DONTWAIT);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    const struct inet_diag_msg *found = NLMSG_DATA(&reply.head);
    if (found->id.idiag_dport != ours->port || found->idiag_state == TCP_LISTEN || found->idiag_inode == 0)
        return false;
    *uid = found->idiag_uid;
    return true;
}

static bool look_up(const struct end *theirs, const struct end *ours, uint32_t *uid)
{
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    bool is_found = send_query(fd, theirs, ours) && receive_reply(fd, ours, uid);
    close(fd);
    return is_found;
}

bool tcp_user_is_local(int fd, uint32_t *uid)
{
    struct sockaddr_storage there = { 0 }, here = { 0 };
    socklen_t there_size = sizeof there, here_size = sizeof here;
    struct end theirs, ours;
    *uid = UINT32_MAX;
    if (getpeername(fd, (struct sockaddr *)&there, &there_size) < 0
        || getsockname(fd, (struct sockaddr *)&here, &here_size) < 0 || !end_of(&there, &theirs) || !end_of(&here, &ours))
        return true; /* already closed: an unknown local user has the fewest rights */
    return look_up(&theirs, &ours, uid) || is_loopback(&theirs);
}
