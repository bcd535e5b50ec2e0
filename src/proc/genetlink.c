/* Generic netlink without a library: taskstats needs only a few messages. */
#include "proc/genetlink.h"

#include "base/clock.h"
#include "proc/netlink.h"

#include <string.h>

#define MESSAGE_MAX 4096
#define ANSWER_WAIT_MS 500
#define REQUEST_MAX 2048

struct genetlink_request {
    struct nlmsghdr netlink;
    struct genlmsghdr generic;
    char attributes[REQUEST_MAX];
};

enum err genetlink_send_string(int fd, uint16_t family, uint8_t command, uint16_t attribute, const char *text)
{
    struct genetlink_request message = {
        .netlink = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
        .generic = { .cmd = command, .version = 1 },
    };
    struct nlattr head = { .nla_type = attribute };
    size_t size = strlen(text) + 1;
    if (NLA_HDRLEN + size > sizeof message.attributes)
        return USAGE;
    head.nla_len = (uint16_t)(NLA_HDRLEN + size);
    memcpy(message.attributes, &head, sizeof head);
    memcpy(message.attributes + NLA_HDRLEN, text, size);
    message.netlink.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(head.nla_len));
    return netlink_send(fd, &message, message.netlink.nlmsg_len);
}

bool genetlink_next(struct bytes *datagram, struct nlmsghdr *head, struct bytes *body)
{
    if (datagram->size < sizeof *head)
        return false;
    memcpy(head, datagram->data, sizeof *head);
    if (head->nlmsg_len < sizeof *head || head->nlmsg_len > datagram->size)
        return false;
    *body = (struct bytes){ datagram->data + NLMSG_HDRLEN, head->nlmsg_len - NLMSG_HDRLEN };
    size_t skip = NLMSG_ALIGN(head->nlmsg_len);
    skip = skip < datagram->size ? skip : datagram->size;
    *datagram = (struct bytes){ datagram->data + skip, datagram->size - skip };
    return true;
}

/* Takes the next attribute off a list. */
static bool next_attribute(struct bytes *rest, uint16_t *type, struct bytes *value)
{
    struct nlattr head;
    if (rest->size < sizeof head)
        return false;
    memcpy(&head, rest->data, sizeof head);
    if (head.nla_len < NLA_HDRLEN || head.nla_len > rest->size)
        return false;
    *type = head.nla_type & NLA_TYPE_MASK;
    *value = (struct bytes){ rest->data + NLA_HDRLEN, (size_t)(head.nla_len - NLA_HDRLEN) };
    size_t skip = NLA_ALIGN(head.nla_len);
    skip = skip < rest->size ? skip : rest->size;
    *rest = (struct bytes){ rest->data + skip, rest->size - skip };
    return true;
}

bool genetlink_find(struct bytes list, uint16_t wanted, struct bytes *value)
{
    uint16_t type;
    while (next_attribute(&list, &type, value))
        if (type == wanted)
            return true;
    return false;
}

struct bytes genetlink_attributes(struct bytes body)
{
    if (body.size < GENL_HDRLEN)
        return (struct bytes){ 0 };
    return (struct bytes){ body.data + GENL_HDRLEN, body.size - GENL_HDRLEN };
}

struct genetlink_reply {
    bool acknowledged;
    int number;      /* errno in the acknowledgement */
    uint16_t family; /* from a family description */
};

static void take_reply(void *context, struct bytes datagram)
{
    struct genetlink_reply *answer = context;
    struct nlmsghdr head;
    struct bytes body, value;
    while (genetlink_next(&datagram, &head, &body)) {
        int number = 0;
        if (head.nlmsg_type == NLMSG_ERROR && body.size >= sizeof number) {
            memcpy(&number, body.data, sizeof number);
            answer->acknowledged = true;
            answer->number = -number;
        } else if (head.nlmsg_type == GENL_ID_CTRL
                   && genetlink_find(genetlink_attributes(body), CTRL_ATTR_FAMILY_ID, &value)
                   && value.size >= sizeof answer->family) {
            memcpy(&answer->family, value.data, sizeof answer->family);
        }
    }
}

enum err genetlink_await(int fd, uint16_t *family)
{
    struct genetlink_reply answer = { 0 };
    uint64_t until_ns = clock_monotonic_ns() + ANSWER_WAIT_MS * NS_PER_MS, lost = 0;
    while (!answer.acknowledged && clock_monotonic_ns() < until_ns) {
        netlink_wait(fd, ANSWER_WAIT_MS);
        enum err err = netlink_drain(fd, MESSAGE_MAX, &lost, take_reply, &answer);
        if (err)
            return err;
    }
    if (family)
        *family = answer.family;
    return answer.acknowledged ? err_from_errno(answer.number) : ABSENT;
}

enum err genetlink_find_family(int fd, const char *name, uint16_t *family)
{
    enum err err = genetlink_send_string(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, name);
    if (!err)
        err = genetlink_await(fd, family);
    return !err && !*family ? ABSENT : err;
}
