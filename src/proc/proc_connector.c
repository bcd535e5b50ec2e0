/* Subscribes to the kernel's process events and reads them. */
#include "proc/proc_connector.h"

#include "base/clock.h"
#include "proc/netlink.h"

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX 256
#define ACK_WAIT_MS 200
#define LARGE_BUFFER_BYTES (8 << 20)

#define WHAT_FORK 0x00000001u
#define WHAT_EXEC 0x00000002u
#define WHAT_EXIT 0x80000000u

/* Since Linux 6.6 a listener may select events; older headers have no struct for it. */
struct listen_request {
    struct nlmsghdr netlink;
    char connector[sizeof(struct cn_msg)];
    uint32_t operation;
    uint32_t events;
};

static enum err send_request(int fd, uint32_t operation, uint32_t events)
{
    size_t body = events ? 2 * sizeof(uint32_t) : sizeof(uint32_t);
    struct listen_request request = {
        .netlink = { .nlmsg_len = (uint32_t)(offsetof(struct listen_request, operation) + body),
                     .nlmsg_type = NLMSG_DONE },
        .operation = operation,
        .events = events,
    };
    struct cn_msg connector = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = (uint16_t)body };
    memcpy(request.connector, &connector, sizeof connector);
    return netlink_send(fd, &request, request.netlink.nlmsg_len);
}

static bool connector_body(struct bytes datagram, struct bytes *body)
{
    struct nlmsghdr netlink;
    struct cn_msg connector;
    size_t head = sizeof netlink + sizeof connector;
    if (datagram.size < head)
        return false;
    memcpy(&netlink, datagram.data, sizeof netlink);
    memcpy(&connector, datagram.data + sizeof netlink, sizeof connector);
    if (connector.id.idx != CN_IDX_PROC || connector.id.val != CN_VAL_PROC)
        return false;
    if (netlink.nlmsg_len > datagram.size || netlink.nlmsg_len < head || connector.len > netlink.nlmsg_len - head)
        return false;
    *body = (struct bytes){ datagram.data + head, connector.len };
    return true;
}

static uint32_t number_at(struct bytes body, size_t offset)
{
    uint32_t value = 0;
    if (offset + sizeof value <= body.size)
        memcpy(&value, body.data + offset, sizeof value);
    return value;
}

#define MEMBER(body, kind, member) number_at(body, offsetof(struct proc_event, event_data.kind.member))
#define HAS(body, kind, member) (offsetof(struct proc_event, event_data.kind.member) + sizeof(uint32_t) <= (body).size)

static void event_of_fork(struct bytes body, struct proc_connector_event *event)
{
    event->kind = PROC_CONNECTOR_FORK;
    event->pid = MEMBER(body, fork, child_tgid);
    event->tid = MEMBER(body, fork, child_pid);
    event->parent_pid = MEMBER(body, fork, parent_tgid);
}

static void event_of_exec(struct bytes body, struct proc_connector_event *event)
{
    event->kind = PROC_CONNECTOR_EXEC;
    event->pid = MEMBER(body, exec, process_tgid);
    event->tid = MEMBER(body, exec, process_pid);
}

static void event_of_exit(struct bytes body, struct proc_connector_event *event)
{
    event->kind = PROC_CONNECTOR_EXIT;
    event->pid = MEMBER(body, exit, process_tgid);
    event->tid = MEMBER(body, exit, process_pid);
    event->status = (int)MEMBER(body, exit, exit_code);
    event->parent_pid = MEMBER(body, exit, parent_tgid);
}

enum proc_connector_message proc_connector_parse(struct bytes datagram, struct proc_connector_event *event)
{
    struct bytes body;
    *event = (struct proc_connector_event){ 0 };
    if (!connector_body(datagram, &body) || body.size < offsetof(struct proc_event, event_data) + sizeof(uint32_t))
        return PROC_CONNECTOR_OTHER;
    uint32_t what = number_at(body, offsetof(struct proc_event, what));
    memcpy(&event->time_ns, body.data + offsetof(struct proc_event, timestamp_ns), sizeof event->time_ns);
    if (what == 0) {
        event->status = (int)MEMBER(body, ack, err);
        return PROC_CONNECTOR_ACK;
    }
    if (what == WHAT_FORK && HAS(body, fork, child_tgid))
        event_of_fork(body, event);
    else if (what == WHAT_EXEC && HAS(body, exec, process_tgid))
        event_of_exec(body, event);
    else if (what == WHAT_EXIT && HAS(body, exit, exit_code))
        event_of_exit(body, event);
    else
        return PROC_CONNECTOR_OTHER;
    return PROC_CONNECTOR_EVENT;
}

struct connector_ack {
    bool seen;
    int number;
};

static void take_ack(void *context, struct bytes datagram)
{
    struct connector_ack *ack = context;
    struct proc_connector_event event;
    if (proc_connector_parse(datagram, &event) != PROC_CONNECTOR_ACK || ack->seen)
        return;
    ack->seen = true;
    ack->number = event.status;
}

/* A kernel that refuses us (older than 6.6 without root, or another namespace) may say so or not answer at all: only an
 * acknowledgement means that we are subscribed. Earlier events belong to other listeners and are dropped. */
static enum err await_ack(struct proc_connector *connector)
{
    struct connector_ack ack = { 0 };
    uint64_t until_ns = clock_monotonic_ns() + ACK_WAIT_MS * NS_PER_MS;
    do {
        enum err err = netlink_drain(connector->fd, MESSAGE_MAX, &connector->lost, take_ack, &ack);
        if (err || ack.seen)
            return err ? err : err_from_errno(ack.number);
        netlink_wait(connector->fd, ACK_WAIT_MS / 4);
    } while (clock_monotonic_ns() < until_ns);
    return ABSENT;
}

static uint32_t wanted(unsigned kinds)
{
    return (kinds >> PROC_CONNECTOR_FORK & 1 ? WHAT_FORK : 0) | (kinds >> PROC_CONNECTOR_EXEC & 1 ? WHAT_EXEC : 0)
           | (kinds >> PROC_CONNECTOR_EXIT & 1 ? WHAT_EXIT : 0);
}

static enum err listen_to_kernel(struct proc_connector *connector)
{
    enum err err = send_request(connector->fd, PROC_CN_MCAST_LISTEN, 0);
    if (!err)
        err = await_ack(connector);
    if (err)
        return err;
    /* The filter is sent only now, because it would filter the acknowledgement too. Older kernels ignore it. */
    send_request(connector->fd, PROC_CN_MCAST_LISTEN, wanted(connector->kinds));
    connector->lost = 0;
    return OK;
}

enum err proc_connector_open(struct proc_connector *connector)
{
    return proc_connector_open_kinds(connector,
                                     1u << PROC_CONNECTOR_FORK | 1u << PROC_CONNECTOR_EXEC | 1u << PROC_CONNECTOR_EXIT);
}

enum err proc_connector_open_kinds(struct proc_connector *connector, unsigned kinds)
{
    *connector = (struct proc_connector){ .fd = -1, .kinds = kinds };
    enum err err = netlink_open(&connector->fd, NETLINK_CONNECTOR, CN_IDX_PROC);
    if (!err)
        err = listen_to_kernel(connector);
    if (err)
        proc_connector_close(connector);
    return err;
}

bool proc_connector_has_large_buffer(const struct proc_connector *connector)
{
    int size = 0;
    socklen_t length = sizeof size;
    return connector->fd >= 0 && getsockopt(connector->fd, SOL_SOCKET, SO_RCVBUF, &size,
                                            &length) == 0 && size >= LARGE_BUFFER_BYTES;
}

struct connector_reading {
    unsigned kinds;
    uint64_t clock_offset_ns;
    void (*each)(void *context, const struct proc_connector_event *event);
    void *context;
};

static void pass_event(void *context, struct bytes datagram)
{
    const struct connector_reading *reading = context;
    struct proc_connector_event event;
    if (proc_connector_parse(datagram, &event) != PROC_CONNECTOR_EVENT || !(reading->kinds >> event.kind & 1))
        return;
    event.time_ns += reading->clock_offset_ns;
    reading->each(reading->context, &event);
}

enum err proc_connector_read(struct proc_connector *connector,
                             void (*each)(void *context, const struct proc_connector_event *event), void *context)
{
    if (connector->fd < 0)
        return ABSENT;
    connector->clock_offset_ns = clock_offset_ns();
    struct connector_reading reading = { connector->kinds, connector->clock_offset_ns, each, context };
    return netlink_drain(connector->fd, MESSAGE_MAX, &connector->lost, pass_event, &reading);
}

_Static_assert(NETLINK_READ_MAX == PROC_CONNECTOR_READ_MAX, "as the header promises");

enum err proc_connector_read_some(struct proc_connector *connector,
                                  void (*each)(void *context, const struct proc_connector_event *event), void *context)
{
    if (connector->fd < 0)
        return ABSENT;
    struct connector_reading reading = { connector->kinds, connector->clock_offset_ns, each, context };
    return netlink_read_some(connector->fd, MESSAGE_MAX, &connector->lost, pass_event, &reading);
}

void proc_connector_close(struct proc_connector *connector)
{
    if (connector->fd < 0)
        return;
    send_request(connector->fd, PROC_CN_MCAST_IGNORE, 0);
    close(connector->fd);
    connector->fd = -1;
}
