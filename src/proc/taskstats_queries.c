/* The kernel answers each message of a datagram while it is being sent, so all answers are there when sendto returns;
 * each carries the sequence number of its query. */
#include "proc/taskstats_queries.h"

#include "proc/genetlink.h"
#include "proc/netlink.h"

#include <linux/taskstats.h>
#include <string.h>
#include <unistd.h>

#define QUERIES_PER_BATCH 64 /* their answers fit into the smallest receive buffer */
#define ANSWER_MAX 2048

struct taskstats_query {
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

enum err taskstats_queries_open(struct taskstats_queries *queries)
{
    *queries = (struct taskstats_queries){ .fd = -1 };
    uint32_t self = (uint32_t)getpid();
    size_t answers = 0;
    enum err err = netlink_open(&queries->fd, NETLINK_GENERIC, 0);
    if (!err)
        err = genetlink_find_family(queries->fd, TASKSTATS_GENL_NAME, &queries->family);
    if (!err)
        err = taskstats_queries_run(queries, TASKSTATS_SUBJECT_THREAD, &self, 1, count_answer, &answers);
    if (!err && answers == 0)
        err = DENIED; /* the only reason why it does not answer about ourselves */
    if (err)
        taskstats_queries_close(queries);
    return err;
}

void taskstats_queries_close(struct taskstats_queries *queries)
{
    if (queries->fd >= 0)
        close(queries->fd);
    queries->fd = -1;
}

struct query_batch {
    const struct taskstats_queries *queries;
    size_t base, count; /* index and number of the ids in this batch */
    uint32_t first;     /* sequence number of the first query */
    enum taskstats_subject subject;
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

void taskstats_queries_parse(struct bytes datagram, uint16_t family, uint32_t first, size_t count,
                             void (*each)(void *context, size_t place, struct bytes stats), void *context)
{
    struct nlmsghdr head;
    struct bytes body, stats;
    while (genetlink_next(&datagram, &head, &body)) {
        uint32_t place = head.nlmsg_seq - first; /* may wrap */
        if (head.nlmsg_type == family && place < count && find_stats(genetlink_attributes(body), &stats))
            each(context, place, stats);
    }
}

static void pass_answer(void *context, size_t place, struct bytes stats)
{
    const struct query_batch *batch = context;
    batch->each(batch->context, batch->base + place, stats);
}

static void pass_datagram(void *context, struct bytes datagram)
{
    struct query_batch *batch = context;
    taskstats_queries_parse(datagram, batch->queries->family, batch->first, batch->count, pass_answer, batch);
}

static enum err send_queries(const struct taskstats_queries *queries, const struct query_batch *batch,
                             const uint32_t *ids)
{
    struct taskstats_query queries_out[QUERIES_PER_BATCH];
    uint16_t attribute = batch->subject == TASKSTATS_SUBJECT_PROCESS ? TASKSTATS_CMD_ATTR_TGID : TASKSTATS_CMD_ATTR_PID;
    for (size_t i = 0; i < batch->count; i++)
        queries_out[i] = (struct taskstats_query){
            .netlink = { .nlmsg_len = sizeof *queries_out, .nlmsg_type = queries->family,
                         .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = batch->first + (uint32_t)i },
            .generic = { .cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION },
            .attribute = { NLA_HDRLEN + sizeof *ids, attribute },
            .id = ids[i],
        };
    return netlink_send(queries->fd, queries_out, batch->count * sizeof *queries_out);
}

enum err taskstats_queries_run(struct taskstats_queries *queries, enum taskstats_subject subject, const uint32_t *ids,
                               size_t count,
                               void (*each)(void *context, size_t place, struct bytes stats), void *context)
{
    enum err err = OK;
    for (size_t base = 0; base < count && !err; base += QUERIES_PER_BATCH) {
        size_t part = count - base < QUERIES_PER_BATCH ? count - base : QUERIES_PER_BATCH;
        struct query_batch batch = { queries, base, part, queries->sequence, subject, each, context };
        queries->sequence += (uint32_t)part;
        err = send_queries(queries, &batch, ids + base);
        if (!err)
            err = netlink_drain(queries->fd, ANSWER_MAX, &queries->lost, pass_datagram, &batch);
    }
    return err;
}
