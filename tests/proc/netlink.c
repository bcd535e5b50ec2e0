/* Reading a netlink socket: the links of this network namespace, which every user may list. */
#include "proc/netlink.h"

#include "tools/unit.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX 16384
#define WAIT_MS 10000

struct answer {
    size_t datagrams, links;
    bool is_complete;
};

static void count_links(void *context, struct bytes datagram)
{
    struct answer *answer = context;
    struct nlmsghdr head;
    answer->datagrams++;
    for (size_t at = 0; at + sizeof head <= datagram.size; at += NLMSG_ALIGN(head.nlmsg_len)) {
        memcpy(&head, datagram.data + at, sizeof head);
        assert_true(head.nlmsg_len >= sizeof head);
        answer->links += head.nlmsg_type == RTM_NEWLINK;
        answer->is_complete |= head.nlmsg_type == NLMSG_DONE;
    }
}

typedef enum err (*reader)(int fd, size_t message_max, uint64_t *lost,
                           void (*each)(void *context, struct bytes datagram), void *context);

static void list_links(reader read)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg body;
    } request = { .head = { .nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
    struct answer answer = { 0 };
    uint64_t lost = 0;
    int fd = -1;
    assert_int_equal(netlink_open(&fd, NETLINK_ROUTE, 0), OK);
    assert_int_equal(netlink_send(fd, &request, sizeof request), OK);
    while (!answer.is_complete) {
        size_t before = answer.datagrams;
        assert_int_equal(netlink_wait(fd, WAIT_MS), OK);
        enum err err = read(fd, MESSAGE_MAX, &lost, count_links, &answer);
        assert_true(err == OK || err == AGAIN);
        assert_true(answer.datagrams > before);
    }
    assert_true(answer.links >= 1); /* the loopback device */
    assert_int_equal(lost, 0);
    close(fd);
}

static void drain_passes_every_datagram(void **state)
{
    (void)state;
    list_links(netlink_drain);
}

static void read_some_passes_the_datagrams_of_one_call(void **state)
{
    (void)state;
    list_links(netlink_read_some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drain_passes_every_datagram),
        cmocka_unit_test(read_some_passes_the_datagrams_of_one_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
