/* The agent itself: its cost and punctuality. From getrusage, /proc/self/stat, statm and io, the sizes of /proc/self/fd and
 * task, and what the agent reports (self_tick, self_uplink). Six system calls per reading. */
#include "samplers/self.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "proc/dirents.h"
#include "proc/textfile.h"
#include "samplers/all.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

static const struct metric metrics[] = {
    { "cpu_user", "us", COUNTER, U64, "CPU time of the agent in user mode", "utime" },
    { "cpu_system", "us", COUNTER, U64, "CPU time of the agent in the kernel", "stime" },
    { "rss", "B", GAUGE, U64, "resident memory of the agent" },
    { "rss_max", "B", GAUGE, U64, "peak resident memory of the agent" },
    { "virtual", "B", GAUGE, U64, "address space of the agent", "vsize" },
    { "shared", "B", GAUGE, U64, "resident file-backed memory", "share" },
    { "text", "B", GAUGE, U64, "size of the executable code" },
    { "data", "B", GAUGE, U64, "size of data and stacks" },
    { "page_size", "B", GAUGE, U64, "size of a page of memory" },
    { "threads", "1", GAUGE, U64, "threads of the agent", "num_threads" },
    { "fds", "1", GAUGE, U64, "open file descriptors of the agent" },
    { "faults_minor", "1", COUNTER, U64, "minor page faults", "minflt" },
    { "faults_major", "1", COUNTER, U64, "major page faults", "majflt" },
    { "switches_voluntary", "1", COUNTER, U64, "voluntary context switches" },
    { "switches_involuntary", "1", COUNTER, U64, "involuntary context switches" },
    { "rchar", "B", COUNTER, U64, "bytes read by system calls" },
    { "wchar", "B", COUNTER, U64, "bytes written by system calls" },
    { "syscr", "1", COUNTER, U64, "read system calls" },
    { "syscw", "1", COUNTER, U64, "write system calls" },
    { "read_bytes", "B", COUNTER, U64, "bytes fetched from storage" },
    { "write_bytes", "B", COUNTER, U64, "bytes sent to storage" },
    { "cancelled_write_bytes", "B", COUNTER, U64, "bytes truncated before they were sent to storage" },
    { "pid", "1", GAUGE, U64, "process id of the agent" },
    { "ppid", "1", GAUGE, U64, "process id of its parent" },
    { "faults_minor_children", "1", COUNTER, U64, "minor page faults of exited child processes", "cminflt" },
    { "faults_major_children", "1", COUNTER, U64, "major page faults of exited child processes", "cmajflt" },
    { "cpu_user_children", "us", COUNTER, U64, "CPU time of exited child processes in user mode", "cutime" },
    { "cpu_system_children", "us", COUNTER, U64, "CPU time of exited child processes in the kernel", "cstime" },
    { "priority", "1", GAUGE, I64, "scheduling priority of the kernel" },
    { "nice", "1", GAUGE, I64, "nice value" },
    { "rss_limit", "B", GAUGE, U64, "limit of resident memory", "rsslim" },
    { "signals_pending", "1", GAUGE, U64, "pending signals, as a bit mask", "signal" },
    { "processor", "1", GAUGE, U64, "CPU that the main thread ran on last" },
    { "rt_priority", "1", GAUGE, U64, "real-time priority" },
    { "policy", "1", GAUGE, U64, "scheduling policy" },
    { "io_delay", "us", COUNTER, U64, "time spent waiting for storage", "delayacct_blkio_ticks" },
    { "ticks", "1", COUNTER, U64, "ticks" },
    { "ticks_missed", "1", COUNTER, U64, "ticks skipped because the previous one took too long" },
    { "tick_delay", "ns", COUNTER, U64, "total delay of ticks" },
    { "tick_delay_max", "ns", GAUGE, U64, "largest delay of a tick since the previous reading" },
    { "ticks_late", "1", COUNTER, U64, "ticks that were late by more than 10 ms or half an interval" },
    { "collector_up", "1", GAUGE, U64, "1: connected to a collector" },
    { "sent_bytes", "B", COUNTER, U64, "bytes sent to collectors" },
    { "unsent_bytes", "B", GAUGE, U64, "bytes in the journal that no collector has acknowledged" },
    { "unsent_time", "ns", GAUGE, U64, "age of the oldest of them" },
    { "lost_records", "1", COUNTER, U64, "records lost because the journal was full" },
};

enum {
    CPU_USER, CPU_SYSTEM, RSS, RSS_MAX, VIRTUAL, SHARED, TEXT, DATA, PAGE_SIZE, THREADS, FDS, FAULTS_MINOR, FAULTS_MAJOR,
    SWITCHES_VOLUNTARY, SWITCHES_INVOLUNTARY, RCHAR, WCHAR, SYSCR, SYSCW, READ_BYTES, WRITE_BYTES, CANCELLED_WRITE_BYTES,
    PID, PPID, FAULTS_MINOR_CHILDREN, FAULTS_MAJOR_CHILDREN, CPU_USER_CHILDREN, CPU_SYSTEM_CHILDREN, PRIORITY, NICE,
    RSS_LIMIT, SIGNALS_PENDING, PROCESSOR, RT_PRIORITY, POLICY, IO_DELAY, TICKS, TICKS_MISSED, TICK_DELAY, TICK_DELAY_MAX,
    TICKS_LATE, COLLECTOR_UP, SENT_BYTES, UNSENT_BYTES, UNSENT_TIME, LOST_RECORDS, METRICS,
};

static const struct set set = { "self", metrics, METRICS };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

static _Atomic uint64_t ticks, ticks_late, ticks_missed, tick_delay_ns, tick_delay_max_ns;

void self_tick(uint64_t delay_ns, uint64_t late, uint64_t missed)
{
    ticks++;
    ticks_late += late;
    ticks_missed += missed;
    tick_delay_ns += delay_ns;
    uint64_t highest = tick_delay_max_ns;
    while (delay_ns > highest && !atomic_compare_exchange_weak(&tick_delay_max_ns, &highest, delay_ns)) { }
}

static _Atomic bool has_uplink, uplink_is_up;
static _Atomic uint64_t uplink_sent_bytes, uplink_unsent_bytes, uplink_unsent_ns, uplink_lost;

void self_uplink(const struct self_uplink *uplink)
{
    uplink_is_up = uplink->is_up;
    uplink_sent_bytes = uplink->sent_bytes;
    uplink_unsent_bytes = uplink->unsent_bytes;
    uplink_unsent_ns = uplink->unsent_ns;
    uplink_lost = uplink->lost;
    has_uplink = true;
}

struct self {
    struct textfile stat, statm, io;
    int fd_fd, task_fd; /* directories /proc/self/fd and task; -1: not available */
    bool is_proc;       /* a real procfs, not a captured tree */
    uint64_t page_bytes;
};

static int open_directory(const char *root, const char *path)
{
    char whole[FILE_PATH_MAX];
    return file_path(whole, root, path) ? -1 : open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void self_close(void *state)
{
    struct self *self = state;
    textfile_close(&self->stat);
    textfile_close(&self->statm);
    textfile_close(&self->io);
    if (self->fd_fd >= 0)
        close(self->fd_fd);
    if (self->task_fd >= 0)
        close(self->task_fd);
}

static enum err self_open(void *state, const struct sampler_context *context)
{
    struct self *self = state;
    enum err err = textfile_open(&self->statm, context->root, "/proc/self/statm", TEXTFILE_WHOLE);
    if (err)
        return err;
    textfile_open(&self->stat, context->root, "/proc/self/stat", TEXTFILE_WHOLE);
    textfile_open(&self->io, context->root, "/proc/self/io", TEXTFILE_WHOLE); /* depends on the kernel configuration */
    self->fd_fd = open_directory(context->root, "/proc/self/fd");
    self->task_fd = open_directory(context->root, "/proc/self/task");
    struct statfs system;
    self->is_proc = !fstatfs(self->statm.fd, &system) && system.f_type == PROC_SUPER_MAGIC;
    self->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return OK;
}

static uint64_t us_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void set_usage(struct sample *sample)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage))
        return;
    sample_set_u64(sample, CPU_USER, us_of(usage.ru_utime));
    sample_set_u64(sample, CPU_SYSTEM, us_of(usage.ru_stime));
    sample_set_u64(sample, RSS_MAX, (uint64_t)usage.ru_maxrss * 1024);
    sample_set_u64(sample, FAULTS_MINOR, (uint64_t)usage.ru_minflt);
    sample_set_u64(sample, FAULTS_MAJOR, (uint64_t)usage.ru_majflt);
    sample_set_u64(sample, SWITCHES_VOLUNTARY, (uint64_t)usage.ru_nvcsw);
    sample_set_u64(sample, SWITCHES_INVOLUNTARY, (uint64_t)usage.ru_nivcsw);
}

/* "size resident shared text lib data dirty" in pages; lib and dirty are always 0. */
static void set_memory(struct self *self, struct sample *sample)
{
    static const size_t places[] = { VIRTUAL, RSS, SHARED, TEXT, METRICS, DATA };
    sample_set_u64(sample, PAGE_SIZE, self->page_bytes);
    if (textfile_read(&self->statm) != OK)
        return;
    const char *at = self->statm.text;
    uint64_t pages;
    for (size_t i = 0; i < sizeof places / sizeof *places && scan_u64(&at, &pages); i++)
        if (places[i] != METRICS && !__builtin_mul_overflow(pages, self->page_bytes, &pages))
            sample_set_u64(sample, places[i], pages);
}

/* Fields of /proc/self/stat by their number in proc(5). USER_HZ is 100 on all supported platforms. */
static void set_stat(struct self *self, struct sample *sample)
{
    static const struct { size_t field, place; int64_t factor; } fields[] = {
        { 4, PPID, 1 }, { 11, FAULTS_MINOR_CHILDREN, 1 }, { 13, FAULTS_MAJOR_CHILDREN, 1 }, { 16, CPU_USER_CHILDREN, 10000 },
        { 17, CPU_SYSTEM_CHILDREN, 10000 }, { 18, PRIORITY, 1 }, { 19, NICE, 1 }, { 25, RSS_LIMIT, 1 },
        { 31, SIGNALS_PENDING, 1 }, { 39, PROCESSOR, 1 }, { 40, RT_PRIORITY, 1 }, { 41, POLICY, 1 }, { 42, IO_DELAY, 10000 },
    };
    if (!self->stat.is_open || textfile_read(&self->stat) != OK)
        return;
    const char *at = self->stat.text, *name_end = strrchr(at, ')');
    uint64_t pid, value;
    if (!name_end || !scan_u64(&at, &pid))
        return;
    sample_set_u64(sample, PID, pid);
    at = name_end + 1;
    for (size_t field = 3, i = 0; *at && i < sizeof fields / sizeof *fields; field++) {
        at += strspn(at, " ");
        bool is_negative = *at == '-';
        const char *digits = at + is_negative;
        if (field == fields[i].field && scan_u64(&digits, &value)) {
            value *= (uint64_t)fields[i].factor;
            sample_set_u64(sample, fields[i].place, is_negative ? -value : value);
        }
        i += field == fields[i].field;
        at += strcspn(at, " ");
    }
}

static void set_io(struct self *self, struct sample *sample)
{
    static const char *const keys[] = { "rchar:", "wchar:", "syscr:", "syscw:", "read_bytes:", "write_bytes:",
                                        "cancelled_write_bytes:" };
    if (!self->io.is_open || textfile_read(&self->io) != OK)
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint64_t value;
        if (scan_line_u64(self->io.text, keys[i], &value))
            sample_set_u64(sample, RCHAR + i, value);
    }
}

/* Counts the entries of a directory whose names do not start with a dot. */
static uint64_t count_names(int fd)
{
    struct dirents entries;
    uint64_t count = 0;
    if (lseek(fd, 0, SEEK_SET))
        return 0;
    dirents_begin(&entries, fd);
    for (const char *name; (name = dirents_next(&entries));)
        count += *name != '.';
    return count;
}

/* Since Linux 6.2 the size of /proc/self/fd is the number of descriptors; before, it is 0 and the entries must be
 * counted. The link count of /proc/self/task is the number of threads plus 2. */
static void set_directories(const struct self *self, struct sample *sample)
{
    struct stat directory;
    if (self->fd_fd >= 0 && !fstat(self->fd_fd, &directory))
        sample_set_u64(sample, FDS, self->is_proc
                       && directory.st_size > 0 ? (uint64_t)directory.st_size : count_names(self->fd_fd));
    if (self->is_proc && self->task_fd >= 0 && !fstat(self->task_fd, &directory) && directory.st_nlink > 2)
        sample_set_u64(sample, THREADS, (uint64_t)directory.st_nlink - 2);
}

static void set_ticks(struct sample *sample)
{
    sample_set_u64(sample, TICKS, ticks);
    sample_set_u64(sample, TICKS_LATE, ticks_late);
    sample_set_u64(sample, TICKS_MISSED, ticks_missed);
    sample_set_u64(sample, TICK_DELAY, tick_delay_ns);
    sample_set_u64(sample, TICK_DELAY_MAX, atomic_exchange(&tick_delay_max_ns, 0));
}

static void set_uplink(struct sample *sample)
{
    sample_set_u64(sample, COLLECTOR_UP, uplink_is_up);
    sample_set_u64(sample, SENT_BYTES, uplink_sent_bytes);
    sample_set_u64(sample, UNSENT_BYTES, uplink_unsent_bytes);
    sample_set_u64(sample, UNSENT_TIME, uplink_unsent_ns);
    sample_set_u64(sample, LOST_RECORDS, uplink_lost);
}

static enum err self_read(void *state, struct batch *out)
{
    struct self *self = state;
    struct sample *sample = batch_add(out, &set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    set_usage(sample);
    set_memory(self, sample);
    set_stat(self, sample);
    set_io(self, sample);
    set_directories(self, sample);
    if (ticks)
        set_ticks(sample);
    if (has_uplink)
        set_uplink(sample);
    return OK;
}

const struct sampler sampler_self = {
    .name = "self",
    .about = "the agent itself: CPU time, memory, late ticks",
    .set = &set,
    .state_size = sizeof(struct self),
    .open = self_open,
    .read = self_read,
    .close = self_close,
};
