/* Taskstats queries. The kernel answers each message of a datagram while it is being sent, so that all answers are there
 * when sendto returns; each carries the number of its question. */
#include "proc/taskstats_queries.h"

#include "proc/genetlink.h"
#include "proc/netlink.h"

#include <linux/taskstats.h>
#include <string.h>
#include <unistd.h>

#define ASKED_AT_ONCE 64 /* their answers fit into the smallest receive buffer */
#define ANSWER_MAX 2048

struct question {
    struct nlmsghdr netlink;
    struct genlmsghdr generic;
    struct nlattr attribute;
    uint32_t id;
};

static void count_answer(void *context, size_t place, struct bytes stats)
{
    (void)place, (void)stats;
    ++*(size_t *)context;
}

enum err queries_open(struct queries *queries)
{
    *queries = (struct queries){ .fd = -1 };
    uint32_t self = (uint32_t)getpid();
    size_t answers = 0;
    enum err err = netlink_open(&queries->fd, NETLINK_GENERIC, 0);
    if (!err)
        err = genetlink_find_family(queries->fd, TASKSTATS_GENL_NAME, &queries->family);
    if (!err)
        err = queries_ask(queries, QUERIES_THREAD, &self, 1, count_answer, &answers);
    if (!err && answers == 0)
        err = DENIED; /* the only reason for which it does not tell us about ourselves */
    if (err)
        queries_close(queries);
    return err;
}

void queries_close(struct queries *queries)
{
    if (queries->fd >= 0)
        close(queries->fd);
    queries->fd = -1;
}

struct asked {
    const struct queries *queries;
    size_t base, count; /* of the ids */
    uint32_t first;     /* number of the first question */
    enum queries_subject subject;
    void (*each)(void *context, size_t place, struct bytes stats);
    void *context;
};

static bool find_stats(struct bytes attributes, struct bytes *stats)
{
    struct bytes aggregate;
    return (genetlink_find(attributes, TASKSTATS_TYPE_AGGR_PID, &aggregate)
            || genetlink_find(attributes, TASKSTATS_TYPE_AGGR_TGID, &aggregate))
           && genetlink_find(aggregate, TASKSTATS_TYPE_STATS, stats);
}

void queries_parse(struct bytes datagram, uint16_t family, uint32_t first, size_t count,
                   void (*each)(void *context, size_t place, struct bytes stats), void *context)
{
    struct nlmsghdr head;
    struct bytes body, stats;
    while (genetlink_next(&datagram, &head, &body)) {
        uint32_t place = head.nlmsg_seq - first; /* numbers may wrap */
        if (head.nlmsg_type == family && place < count && find_stats(genetlink_attributes(body), &stats))
            each(context, place, stats);
    }
}

static void give_answer(void *context, size_t place, struct bytes stats)
{
    const struct asked *asked = context;
    asked->each(asked->context, asked->base + place, stats);
}

static void give_datagram(void *context, struct bytes datagram)
{
    struct asked *asked = context;
    queries_parse(datagram, asked->queries->family, asked->first, asked->count, give_answer, asked);
}

static enum err send_questions(const struct queries *queries, const struct asked *asked, const uint32_t *ids)
{
    struct question questions[ASKED_AT_ONCE];
    for (size_t i = 0; i < asked->count; i++)
        questions[i] = (struct question){
            .netlink = { .nlmsg_len = sizeof *questions, .nlmsg_type = queries->family,
                         .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = asked->first + (uint32_t)i },
            .generic = { .cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION },
            .attribute = { NLA_HDRLEN + sizeof *ids, asked->subject == QUERIES_PROCESS ? TASKSTATS_CMD_ATTR_TGID
                                                                                       : TASKSTATS_CMD_ATTR_PID },
            .id = ids[i],
        };
    return netlink_send(queries->fd, questions, asked->count * sizeof *questions);
}

enum err queries_ask(struct queries *queries, enum queries_subject subject, const uint32_t *ids, size_t count,
                     void (*each)(void *context, size_t place, struct bytes stats), void *context)
{
    enum err err = OK;
    for (size_t base = 0; base < count && !err; base += ASKED_AT_ONCE) {
        size_t part = count - base < ASKED_AT_ONCE ? count - base : ASKED_AT_ONCE;
        struct asked asked = { queries, base, part, queries->sequence, subject, each, context };
        queries->sequence += (uint32_t)part;
        err = send_questions(queries, &asked, ids + base);
        if (!err)
            err = netlink_drain(queries->fd, ANSWER_MAX, &queries->lost, give_datagram, &asked);
    }
    return err;
}
