/* Taskstats over generic netlink: finds the family, registers for the exits on all CPUs, reads the records. */
#include "proc/taskstats_exits.h"

#include "base/clock.h"
#include "base/file.h"
#include "proc/delays.h"
#include "proc/genetlink.h"
#include "proc/netlink.h"
#include "proc/taskstats.h"

#include <linux/taskstats.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX 4096

/* The kernel answers EINVAL outside of the initial pid and user namespace. */
static enum err listen_to_cpus(struct exits *exits)
{
    enum err err = file_read_line("", "/sys/devices/system/cpu/possible", exits->cpus, sizeof exits->cpus);
    if (!err)
        err = genetlink_send_text(exits->fd, exits->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                                  exits->cpus);
    if (!err)
        err = genetlink_await(exits->fd, NULL);
    return err == USAGE ? ABSENT : err;
}

void exits_learn_meaning(struct exits_meaning *meaning, const char *root)
{
    char path[FILE_PATH_MAX];
    meaning->io = !file_path(path, root, "/proc/self/io") && access(path, F_OK) == 0;
    meaning->delays = delays_find(root) == DELAYS_ON;
}

enum err exits_open(struct exits *exits)
{
    *exits = (struct exits){ .fd = -1 };
    enum err err = netlink_open(&exits->fd, NETLINK_GENERIC, 0);
    if (!err)
        err = genetlink_find_family(exits->fd, TASKSTATS_GENL_NAME, &exits->family);
    if (!err)
        err = listen_to_cpus(exits);
    if (err) {
        exits_close(exits);
        return err;
    }
    exits_learn_meaning(&exits->meaning, "");
    exits->lost = 0;
    return OK;
}

/* The record of a thread in the attributes of a message. The sum over the group comes with the last of several threads:
 * not needed, but it names the process. */
static bool find_thread(struct bytes attributes, struct exits_thread *thread)
{
    struct bytes aggregate, process, process_id;
    *thread = (struct exits_thread){ 0 };
    if (!genetlink_find(attributes, TASKSTATS_TYPE_AGGR_PID, &aggregate)
        || !genetlink_find(aggregate, TASKSTATS_TYPE_STATS, &thread->stats))
        return false;
    thread->process_ended = genetlink_find(attributes, TASKSTATS_TYPE_AGGR_TGID, &process);
    if (thread->process_ended && genetlink_find(process, TASKSTATS_TYPE_TGID, &process_id)
        && process_id.size >= sizeof thread->pid)
        memcpy(&thread->pid, process_id.data, sizeof thread->pid);
    return true;
}

void exits_parse_threads(struct bytes datagram, uint16_t family,
                         void (*each)(void *context, const struct exits_thread *thread), void *context)
{
    struct nlmsghdr head;
    struct bytes body;
    struct exits_thread thread;
    while (genetlink_next(&datagram, &head, &body))
        if (head.nlmsg_type == family && find_thread(genetlink_attributes(body), &thread))
            each(context, &thread);
}

struct conversion {
    const struct exits_meaning *meaning;
    void (*each)(void *context, const struct taskstats_record *record);
    void *context;
};

static void convert_thread(void *context, const struct exits_thread *thread)
{
    const struct conversion *conversion = context;
    struct taskstats_record record;
    if (taskstats_convert(thread->stats, conversion->meaning, &record))
        return;
    if (thread->process_ended)
        record.process_ended = 1;
    if (!record.pid)
        record.pid = thread->pid;
    conversion->each(conversion->context, &record);
}

void exits_parse(struct bytes datagram, uint16_t family, const struct exits_meaning *meaning,
                 void (*each)(void *context, const struct taskstats_record *record), void *context)
{
    struct conversion conversion = { meaning, each, context };
    exits_parse_threads(datagram, family, convert_thread, &conversion);
}

struct reading {
    struct exits *exits;
    void (*each)(void *context, const struct taskstats_record *record);
    void *context;
};

static void give_datagram(void *context, struct bytes datagram)
{
    const struct reading *reading = context;
    /* Not once for all: a record that comes while others are read would seem to have ended before it began. */
    reading->exits->meaning.now_ns = clock_realtime_ns();
    exits_parse(datagram, reading->exits->family, &reading->exits->meaning, reading->each, reading->context);
}

enum err exits_read(struct exits *exits, void (*each)(void *context, const struct taskstats_record *record),
                    void *context)
{
    if (exits->fd < 0)
        return ABSENT;
    struct reading reading = { exits, each, context };
    return netlink_drain(exits->fd, MESSAGE_MAX, &exits->lost, give_datagram, &reading);
}

struct thread_reading {
    uint16_t family;
    void (*each)(void *context, const struct exits_thread *thread);
    void *context;
};

static void give_threads(void *context, struct bytes datagram)
{
    const struct thread_reading *reading = context;
    exits_parse_threads(datagram, reading->family, reading->each, reading->context);
}

enum err exits_read_threads(struct exits *exits, void (*each)(void *context, const struct exits_thread *thread),
                            void *context)
{
    if (exits->fd < 0)
        return ABSENT;
    struct thread_reading reading = { exits->family, each, context };
    return netlink_drain(exits->fd, MESSAGE_MAX, &exits->lost, give_threads, &reading);
}

void exits_close(struct exits *exits)
{
    if (exits->fd < 0)
        return;
    if (exits->cpus[0])
        genetlink_send_text(exits->fd, exits->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK,
                            exits->cpus);
    close(exits->fd);
    exits->fd = -1;
}
