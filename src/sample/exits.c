/* Taskstats over generic netlink: finds the family, registers for the exits on all CPUs, reads the records. */
#include "sample/exits.h"

#include "base/clock.h"
#include "base/file.h"
#include "sample/netlink.h"
#include "sample/taskstats.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX 4096
#define ANSWER_WAIT_MS 500
#define REQUEST_MAX 2048

struct message {
    struct nlmsghdr netlink;
    struct genlmsghdr generic;
    char attributes[REQUEST_MAX];
};

static enum err send_command(int fd, uint16_t family, uint8_t command, uint16_t attribute, const char *text)
{
    struct message message = {
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

/* Takes the next message off a datagram. */
static bool next_message(struct bytes *rest, struct nlmsghdr *head, struct bytes *body)
{
    if (rest->size < sizeof *head)
        return false;
    memcpy(head, rest->data, sizeof *head);
    if (head->nlmsg_len < sizeof *head || head->nlmsg_len > rest->size)
        return false;
    *body = (struct bytes){ rest->data + NLMSG_HDRLEN, head->nlmsg_len - NLMSG_HDRLEN };
    size_t skip = NLMSG_ALIGN(head->nlmsg_len);
    skip = skip < rest->size ? skip : rest->size;
    *rest = (struct bytes){ rest->data + skip, rest->size - skip };
    return true;
}

/* Takes the next attribute off a list of them. */
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

static bool find_attribute(struct bytes list, uint16_t wanted, struct bytes *value)
{
    uint16_t type;
    while (next_attribute(&list, &type, value))
        if (type == wanted)
            return true;
    return false;
}

/* The bytes behind the generic header, or none. */
static struct bytes attributes_of(struct bytes body)
{
    if (body.size < GENL_HDRLEN)
        return (struct bytes){ 0 };
    return (struct bytes){ body.data + GENL_HDRLEN, body.size - GENL_HDRLEN };
}

struct answer {
    bool acknowledged;
    int number;      /* errno of the acknowledgement */
    uint16_t family; /* found in a description of a family */
};

static void look_for_answer(void *context, struct bytes datagram)
{
    struct answer *answer = context;
    struct nlmsghdr head;
    struct bytes body, value;
    while (next_message(&datagram, &head, &body)) {
        int number = 0;
        if (head.nlmsg_type == NLMSG_ERROR && body.size >= sizeof number) {
            memcpy(&number, body.data, sizeof number);
            answer->acknowledged = true;
            answer->number = -number;
        } else if (head.nlmsg_type == GENL_ID_CTRL
                   && find_attribute(attributes_of(body), CTRL_ATTR_FAMILY_ID, &value)
                   && value.size >= sizeof answer->family) {
            memcpy(&answer->family, value.data, sizeof answer->family);
        }
    }
}

static enum err await_answer(struct exits *exits, struct answer *answer)
{
    *answer = (struct answer){ 0 };
    uint64_t until_ns = clock_monotonic_ns() + ANSWER_WAIT_MS * NS_PER_MS;
    while (!answer->acknowledged && clock_monotonic_ns() < until_ns) {
        netlink_wait(exits->fd, ANSWER_WAIT_MS);
        enum err err = netlink_drain(exits->fd, MESSAGE_MAX, &exits->lost, look_for_answer, answer);
        if (err)
            return err;
    }
    return answer->acknowledged ? err_from_errno(answer->number) : ABSENT;
}

static enum err find_family(struct exits *exits)
{
    struct answer answer;
    enum err err = send_command(exits->fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
                                TASKSTATS_GENL_NAME);
    if (!err)
        err = await_answer(exits, &answer);
    if (!err && !answer.family)
        err = ABSENT;
    if (!err)
        exits->family = answer.family;
    return err;
}

/* The kernel answers EINVAL outside of the initial pid and user namespace. */
static enum err listen_to_cpus(struct exits *exits)
{
    struct answer answer;
    enum err err = file_read_line("", "/sys/devices/system/cpu/possible", exits->cpus, sizeof exits->cpus);
    if (!err)
        err = send_command(exits->fd, exits->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                           exits->cpus);
    if (!err)
        err = await_answer(exits, &answer);
    return err == USAGE ? ABSENT : err;
}

static void learn_meaning(struct exits_meaning *meaning)
{
    char text[16];
    meaning->io = access("/proc/self/io", F_OK) == 0;
    /* Before Linux 5.14 there is no switch: then it is on unless the boot parameter nodelayacct says otherwise. */
    enum err err = file_read_line("", "/proc/sys/kernel/task_delayacct", text, sizeof text);
    meaning->delays = !err && strcmp(text, "0") != 0;
}

enum err exits_open(struct exits *exits)
{
    *exits = (struct exits){ .fd = -1 };
    enum err err = netlink_open(&exits->fd, NETLINK_GENERIC, 0);
    if (!err)
        err = find_family(exits);
    if (!err)
        err = listen_to_cpus(exits);
    if (err) {
        exits_close(exits);
        return err;
    }
    learn_meaning(&exits->meaning);
    exits->lost = 0;
    return OK;
}

static void give_record(struct bytes attributes, const struct exits_meaning *meaning,
                        void (*each)(void *context, const struct taskstats_record *record), void *context)
{
    struct bytes thread, stats, process, process_id;
    struct taskstats_record record;
    if (!find_attribute(attributes, TASKSTATS_TYPE_AGGR_PID, &thread)
        || !find_attribute(thread, TASKSTATS_TYPE_STATS, &stats)
        || taskstats_convert(stats, meaning, &record))
        return;
    /* The sum over the group comes with the last of several threads: not needed, but it names the process. */
    if (find_attribute(attributes, TASKSTATS_TYPE_AGGR_TGID, &process)) {
        uint32_t pid = 0;
        record.process_ended = 1;
        if (!record.pid && find_attribute(process, TASKSTATS_TYPE_TGID, &process_id) && process_id.size >= sizeof pid) {
            memcpy(&pid, process_id.data, sizeof pid);
            record.pid = pid;
        }
    }
    each(context, &record);
}

void exits_parse(struct bytes datagram, uint16_t family, const struct exits_meaning *meaning,
                 void (*each)(void *context, const struct taskstats_record *record), void *context)
{
    struct nlmsghdr head;
    struct bytes body;
    while (next_message(&datagram, &head, &body))
        if (head.nlmsg_type == family)
            give_record(attributes_of(body), meaning, each, context);
}

struct reading {
    const struct exits *exits;
    void (*each)(void *context, const struct taskstats_record *record);
    void *context;
};

static void give_datagram(void *context, struct bytes datagram)
{
    const struct reading *reading = context;
    exits_parse(datagram, reading->exits->family, &reading->exits->meaning, reading->each, reading->context);
}

enum err exits_read(struct exits *exits, void (*each)(void *context, const struct taskstats_record *record),
                    void *context)
{
    if (exits->fd < 0)
        return ABSENT;
    exits->meaning.now_ns = clock_realtime_ns();
    struct reading reading = { exits, each, context };
    return netlink_drain(exits->fd, MESSAGE_MAX, &exits->lost, give_datagram, &reading);
}

void exits_close(struct exits *exits)
{
    if (exits->fd < 0)
        return;
    if (exits->cpus[0])
        send_command(exits->fd, exits->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK, exits->cpus);
    close(exits->fd);
    exits->fd = -1;
}
