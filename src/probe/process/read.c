/* What the kernel knows about this process and its threads: getrusage and the files below /proc/self. */
#include "probe/process/probe.h"

#include "model/rusage.h"

#define READ_MAX 640 /* stat is the longest: 52 numbers, most of them short */

void read_usage_from(struct counters *c, const struct rusage *usage)
{
    rusage_set(c, usage);
}

void read_usage(struct counters *counters, int who)
{
    struct rusage usage;
    if (sys2(SYS_getrusage, who, &usage) == 0)
        read_usage_from(counters, &usage);
}

static void read_clock(struct counters *counters, clockid_t clock)
{
    struct timespec t;
    if (sys2(SYS_clock_gettime, clock, &t) == 0)
        counters_set(counters, COUNTER_time_oncpu, (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec);
}

/* Also makes the kernel charge the thread for what it ran since the last tick or switch, up to 4 ms: what getrusage and
 * schedstat tell of it is up to date behind this, and not before. */
static void read_own_clock(struct counters *counters)
{
    read_clock(counters, CLOCK_THREAD_CPUTIME_ID);
}

/* The kernel's name of the CPU clock of a thread: its number in the upper bits, "of a thread, exact" in the lowest. */
void read_other_clock(struct counters *counters, pid_t tid)
{
    read_clock(counters, (clockid_t)(~(unsigned)tid << 3 | 6));
}

uint64_t read_ticks_us(uint64_t ticks)
{
    return ticks * 1000000 / probe.ticks_per_s;
}

/* Reads at most size - 1 bytes and ends them with a NUL. */
static bool read_file(int folder, const char *path, char *text, size_t size)
{
    int fd = sys_open(folder, path, O_RDONLY);
    if (fd < 0)
        return false;
    long got = sys_read(fd, text, size - 1);
    sys_close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    emit_own((struct probe_own){ .rchar = (uint64_t)got, .syscr = 1 });
    return true;
}

static uint64_t number_at(const char **at)
{
    uint64_t value = 0;
    while (**at == ' ')
        ++*at;
    for (; **at >= '0' && **at <= '9'; ++*at)
        value = value * 10 + (uint64_t)(**at - '0');
    return value;
}

/* Names and numbers beside one another, without pointers that would have to be relocated. */
#define IO_LINE(name) { #name, sizeof #name - 1, COUNTER_##name }
static const struct {
    char name[22];
    uint8_t size, counter;
} io_lines[] = {
    IO_LINE(rchar), IO_LINE(wchar), IO_LINE(syscr), IO_LINE(syscw), IO_LINE(read_bytes), IO_LINE(write_bytes),
    IO_LINE(cancelled_write_bytes),
};

static void io_line(struct counters *counters, const char *line, const char *colon)
{
    for (size_t i = 0; i < sizeof io_lines / sizeof *io_lines; i++) {
        size_t size = io_lines[i].size;
        if ((size_t)(colon - line) == size && memcmp(line, io_lines[i].name, size) == 0) {
            colon++;
            counters_set(counters, io_lines[i].counter, number_at(&colon));
            return;
        }
    }
}

static struct probe_own own_of(enum read_whose whose)
{
    const struct probe_own *a = &probe.own_main, *b = &probe.own_others;
    if (whose == READ_MAIN || whose == READ_ALONE)
        return (struct probe_own){ a->rchar, a->syscr, a->wchar, a->syscw };
    if (whose == READ_PROCESS)
        return (struct probe_own){ a->rchar + b->rchar, a->syscr + b->syscr, a->wchar + b->wchar, a->syscw + b->syscw };
    return (struct probe_own){ 0 };
}

bool read_io(struct counters *counters, int folder, const char *path, enum read_whose whose)
{
    char text[256];
    struct probe_own own = own_of(whose); /* before: the kernel counts a read when it is done */
    if (!read_file(folder, path, text, sizeof text))
        return false;
    for (const char *line = text, *colon; (colon = strchr(line, ':')); line++) {
        io_line(counters, line, colon);
        line = strchrnul(colon, '\n');
        if (!*line)
            break;
    }
    counters_take_off(counters, COUNTER_rchar, own.rchar);
    counters_take_off(counters, COUNTER_syscr, own.syscr);
    counters_take_off(counters, COUNTER_wchar, own.wchar);
    counters_take_off(counters, COUNTER_syscw, own.syscw);
    return true;
}

static bool read_schedstat(struct counters *counters, int folder, const char *path)
{
    char text[72];
    if (!read_file(folder, path, text, sizeof text))
        return false;
    const char *at = text;
    uint64_t oncpu_ns = number_at(&at);
    if (!counters_has(counters, COUNTER_time_oncpu)) /* the clock tells it without a lag */
        counters_set(counters, COUNTER_time_oncpu, oncpu_ns);
    counters_set(counters, COUNTER_time_waiting, number_at(&at));
    counters_set(counters, COUNTER_timeslices, number_at(&at));
    return true;
}

__attribute__((noinline)) bool read_stat(struct read_stat *stat, int folder, const char *path)
{
    char text[READ_MAX];
    if (!read_file(folder, path, text, sizeof text))
        return false;
    const char *name = strchr(text, '('), *at = strrchr(text, ')');
    if (!name || !at)
        return false;
    stat->name_size = (size_t)(at - name - 1) < sizeof stat->name ? (size_t)(at - name - 1) : sizeof stat->name;
    memcpy(stat->name, name + 1, stat->name_size);
    at += at[1] == ' ' ? 2 : 1;
    for (int field = 3; field < STAT_FIELDS; field++) {
        stat->field[field] = number_at(&at);
        at = strchrnul(at, ' ');
        at += *at == ' ';
    }
    return true;
}

static void from_stat(struct counters *counters, const struct read_stat *stat)
{
    counters_set(counters, COUNTER_guest_time, read_ticks_us(stat->field[STAT_GUEST]));
    if (probe.delays)
        counters_set(counters, COUNTER_delayacct_blkio_time, read_ticks_us(stat->field[STAT_BLKIO]));
}

/* On its own, so that threads with small stacks pay for the text of stat only where it is read. */
__attribute__((noinline)) static void add_stat(struct counters *counters, int folder)
{
    struct read_stat stat;
    if (read_stat(&stat, folder, "stat"))
        from_stat(counters, &stat);
}

/* stat counts guest time in ticks: it is 0 for whoever used less than one. */
static bool guest_time_is_0(const struct counters *counters)
{
    return counters_has(counters, COUNTER_usertime) && counters->value[COUNTER_usertime] < read_ticks_us(1);
}

/* Whose only thread this is: what the scheduler counted stands in the kernel's exit record too. */
static bool is_told_by_kernel(enum read_whose whose)
{
    return probe.kernel_listens && whose == READ_ALONE;
}

static void read_folder(struct counters *counters, const char *folder_path, enum read_whose whose)
{
    bool needs_stat = probe.delays || !counters_has(counters, COUNTER_guest_time);
    if (is_told_by_kernel(whose) && !needs_stat) { /* one file: no folder for it */
        read_io(counters, AT_FDCWD, "/proc/self/io", whose);
        return;
    }
    int folder = sys_open(AT_FDCWD, folder_path, O_PATH | O_DIRECTORY);
    if (folder < 0)
        return;
    read_io(counters, folder, "io", whose);
    if (!is_told_by_kernel(whose))
        read_schedstat(counters, folder, "schedstat");
    if (needs_stat)
        add_stat(counters, folder);
    sys_close(folder);
}

void read_this_thread(struct counters *counters, const char *folder_path, enum read_whose whose)
{
    unsigned cpu;
    read_own_clock(counters);
    read_usage(counters, RUSAGE_THREAD);
    if (guest_time_is_0(counters))
        counters_set(counters, COUNTER_guest_time, 0);
    if (folder_path)
        read_folder(counters, folder_path, whose);
    if (sys3(SYS_getcpu, &cpu, NULL, NULL) == 0)
        counters_set(counters, COUNTER_processor, cpu);
}

/* user and system time of stat are in ticks of 10 ms, but in the right proportion; the clock has their exact sum. */
static void usage_from_stat(struct counters *counters, const struct read_stat *stat)
{
    uint64_t user = read_ticks_us(stat->field[STAT_UTIME]), system = read_ticks_us(stat->field[STAT_STIME]);
    if (counters_has(counters, COUNTER_time_oncpu)) {
        uint64_t sum = counters->value[COUNTER_time_oncpu] / NS_PER_US;
        system = system < sum ? system : sum;
        user = sum - system;
    }
    counters_set(counters, COUNTER_usertime, user);
    counters_set(counters, COUNTER_systemtime, system);
    counters_set(counters, COUNTER_minflt, stat->field[STAT_MINFLT]);
    counters_set(counters, COUNTER_majflt, stat->field[STAT_MAJFLT]);
    counters_set(counters, COUNTER_processor, stat->field[STAT_PROCESSOR]);
}

static int open_task(pid_t tid)
{
    static const char folder[] = "/proc/self/task/";
    char path[sizeof folder + ARGS_DIGITS_MAX];
    memcpy(path, folder, sizeof folder);
    args_digits(path + sizeof folder - 1, (unsigned)tid);
    return sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY);
}

void read_other_thread(struct counters *counters, pid_t tid, struct read_stat *stat)
{
    int folder = open_task(tid);
    if (folder < 0)
        return;
    read_io(counters, folder, "io", tid == probe.pid ? READ_MAIN : READ_OTHER);
    read_other_clock(counters, tid);
    read_schedstat(counters, folder, "schedstat");
    if (read_stat(stat, folder, "stat")) {
        usage_from_stat(counters, stat);
        from_stat(counters, stat);
    }
    sys_close(folder);
}
