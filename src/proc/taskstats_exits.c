/* Exit records over generic netlink: finds the family, registers for exits on all CPUs, reads the records. */
#include "proc/taskstats_exits.h"

#include "base/clock.h"
#include "base/file.h"
#include "proc/delay_accounting.h"
#include "proc/genetlink.h"
#include "proc/netlink.h"
#include "proc/taskstats.h"

#include <linux/taskstats.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX 4096

/* The kernel answers EINVAL outside of the initial pid and user namespace. */
static enum err listen_to_cpus(struct taskstats_exits *exits)
{
    enum err err = file_read_line("", "/sys/devices/system/cpu/possible", exits->cpus, sizeof exits->cpus);
    if (!err)
        err = genetlink_send_string(exits->fd, exits->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                                    exits->cpus);
    if (!err)
        err = genetlink_await(exits->fd, NULL);
    return err == USAGE ? ABSENT : err;
}

void taskstats_accounting_read(struct taskstats_accounting *accounting, const char *root)
{
    char path[FILE_PATH_MAX];
    accounting->io = !file_path(path, root, "/proc/self/io") && access(path, F_OK) == 0;
    accounting->delays = delay_accounting_read(root) == DELAY_ACCOUNTING_ON;
}

enum err taskstats_exits_open(struct taskstats_exits *exits)
{
    *exits = (struct taskstats_exits){ .fd = -1 };
    enum err err = netlink_open(&exits->fd, NETLINK_GENERIC, 0);
    if (!err)
        err = genetlink_find_family(exits->fd, TASKSTATS_GENL_NAME, &exits->family);
    if (!err)
        err = listen_to_cpus(exits);
    if (err) {
        taskstats_exits_close(exits);
        return err;
    }
    taskstats_accounting_read(&exits->accounting, "");
    exits->lost = 0;
    return OK;
}

/* Finds the record of a thread in a message. The last of several threads also has the sum over the process: not needed,
 * but it names the process. */
static bool find_thread(struct bytes attributes, struct taskstats_exit *thread)
{
    struct bytes aggregate, process, process_id;
    *thread = (struct taskstats_exit){ 0 };
    if (!genetlink_find(attributes, TASKSTATS_TYPE_AGGR_PID, &aggregate)
        || !genetlink_find(aggregate, TASKSTATS_TYPE_STATS, &thread->stats))
        return false;
    thread->process_ended = genetlink_find(attributes, TASKSTATS_TYPE_AGGR_TGID, &process);
    if (thread->process_ended && genetlink_find(process, TASKSTATS_TYPE_TGID, &process_id)
        && process_id.size >= sizeof thread->pid)
        memcpy(&thread->pid, process_id.data, sizeof thread->pid);
    return true;
}

void taskstats_exits_parse_raw(struct bytes datagram, uint16_t family,
                               void (*each)(void *context, const struct taskstats_exit *thread), void *context)
{
    struct nlmsghdr head;
    struct bytes body;
    struct taskstats_exit thread;
    while (genetlink_next(&datagram, &head, &body))
        if (head.nlmsg_type == family && find_thread(genetlink_attributes(body), &thread))
            each(context, &thread);
}

struct exit_conversion {
    const struct taskstats_accounting *accounting;
    void (*each)(void *context, const struct taskstats_record *record);
    void *context;
};

static void convert_thread(void *context, const struct taskstats_exit *thread)
{
    const struct exit_conversion *conversion = context;
    struct taskstats_record record;
    if (taskstats_convert(thread->stats, conversion->accounting, &record))
        return;
    if (thread->process_ended)
        record.process_ended = 1;
    if (!record.pid)
        record.pid = thread->pid;
    conversion->each(conversion->context, &record);
}

void taskstats_exits_parse(struct bytes datagram, uint16_t family, const struct taskstats_accounting *accounting,
                           void (*each)(void *context, const struct taskstats_record *record), void *context)
{
    struct exit_conversion conversion = { accounting, each, context };
    taskstats_exits_parse_raw(datagram, family, convert_thread, &conversion);
}

struct exit_reading {
    struct taskstats_exits *exits;
    void (*each)(void *context, const struct taskstats_record *record);
    void *context;
};

static void pass_datagram(void *context, struct bytes datagram)
{
    const struct exit_reading *reading = context;
    /* Per datagram: a record that arrives while others are read would seem to end before it began. */
    reading->exits->accounting.now_ns = clock_realtime_ns();
    taskstats_exits_parse(datagram, reading->exits->family, &reading->exits->accounting, reading->each,
                          reading->context);
}

enum err taskstats_exits_read(struct taskstats_exits *exits,
                              void (*each)(void *context, const struct taskstats_record *record),
                              void *context)
{
    if (exits->fd < 0)
        return ABSENT;
    struct exit_reading reading = { exits, each, context };
    return netlink_drain(exits->fd, MESSAGE_MAX, &exits->lost, pass_datagram, &reading);
}

struct raw_exit_reading {
    uint16_t family;
    void (*each)(void *context, const struct taskstats_exit *thread);
    void *context;
};

static void pass_raw_exits(void *context, struct bytes datagram)
{
    const struct raw_exit_reading *reading = context;
    taskstats_exits_parse_raw(datagram, reading->family, reading->each, reading->context);
}

enum err taskstats_exits_read_raw(struct taskstats_exits *exits,
                                  void (*each)(void *context, const struct taskstats_exit *thread),
                                  void *context)
{
    if (exits->fd < 0)
        return ABSENT;
    struct raw_exit_reading reading = { exits->family, each, context };
    return netlink_drain(exits->fd, MESSAGE_MAX, &exits->lost, pass_raw_exits, &reading);
}

void taskstats_exits_close(struct taskstats_exits *exits)
{
    if (exits->fd < 0)
        return;
    if (exits->cpus[0])
        genetlink_send_string(exits->fd, exits->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK,
                              exits->cpus);
    close(exits->fd);
    exits->fd = -1;
}
