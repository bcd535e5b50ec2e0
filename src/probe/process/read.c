/* Reads what the kernel counts for this process and its threads: getrusage, CPU clocks and /proc/self. */
#include "probe/process/probe.h"

#include "model/rusage.h"

#define STATUS_MAX 1024 /* VmHWM is in the first 500 bytes, unless the user is in a hundred groups */
#define READ_MAX 640 /* the longest file is stat: 52 numbers, most of them short */

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

/* Reading this clock also makes the kernel account the time since the last tick or context switch, up to 4 ms:
 * getrusage and schedstat are up to date only afterwards. */
static void read_own_clock(struct counters *counters)
{
    read_clock(counters, CLOCK_THREAD_CPUTIME_ID);
}

/* The kernel encodes the CPU clock of a thread as the inverted tid in the upper bits and CPUCLOCK_PERTHREAD |
 * CPUCLOCK_SCHED (6) in the lower three. */
void read_other_clock(struct counters *counters, pid_t tid)
{
    read_clock(counters, (clockid_t)(~(unsigned)tid << 3 | 6));
}

uint64_t read_ticks_us(uint64_t ticks)
{
    return ticks * 1000000 / probe.ticks_per_s;
}

/* Reads at most size - 1 bytes and adds a NUL. */
static bool read_file(int dir, const char *path, char *text, size_t size)
{
    int fd = sys_open(dir, path, O_RDONLY);
    if (fd < 0)
        return false;
    long got = sys_read(fd, text, size - 1);
    sys_close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    emit_add_overhead((struct probe_overhead){ .rchar = (uint64_t)got, .syscr = 1 });
    return true;
}

static uint64_t number_at(const char **at)
{
    uint64_t value = 0;
    while (**at == ' ' || **at == '\t')
        ++*at;
    for (; **at >= '0' && **at <= '9'; ++*at)
        value = value * 10 + (uint64_t)(**at - '0');
    return value;
}

__attribute__((noinline)) bool read_image_rss(uint64_t *kb)
{
    static const char label[] = "\nVmHWM:";
    char text[STATUS_MAX];
    if (!read_file(AT_FDCWD, "/proc/self/status", text, sizeof text))
        return false;
    const char *at = strstr(text, label);
    if (!at)
        return false;
    at += sizeof label - 1;
    *kb = number_at(&at);
    return true;
}

/* An array without pointers needs no relocations. */
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

static struct probe_overhead own_of(enum read_scope scope)
{
    const struct probe_overhead *a = &probe.overhead_main, *b = &probe.overhead_others;
    if (scope == READ_MAIN || scope == READ_ALONE)
        return (struct probe_overhead){ a->rchar, a->syscr, a->wchar, a->syscw };
    if (scope == READ_PROCESS)
        return (struct probe_overhead){ a->rchar + b->rchar, a->syscr + b->syscr, a->wchar + b->wchar, a->syscw + b->syscw };
    return (struct probe_overhead){ 0 };
}

bool read_io(struct counters *counters, int dir, const char *path, enum read_scope scope)
{
    char text[256];
    struct probe_overhead own = own_of(scope); /* first: the kernel counts a read when it is done */
    if (!read_file(dir, path, text, sizeof text))
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

static bool read_schedstat(struct counters *counters, int dir, const char *path)
{
    char text[72];
    if (!read_file(dir, path, text, sizeof text))
        return false;
    const char *at = text;
    uint64_t oncpu_ns = number_at(&at);
    if (!counters_has(counters, COUNTER_time_oncpu)) /* the clock has it without delay */
        counters_set(counters, COUNTER_time_oncpu, oncpu_ns);
    counters_set(counters, COUNTER_time_waiting, number_at(&at));
    counters_set(counters, COUNTER_timeslices, number_at(&at));
    return true;
}

__attribute__((noinline)) bool read_stat(struct read_stat *stat, int dir, const char *path)
{
    char text[READ_MAX];
    if (!read_file(dir, path, text, sizeof text))
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
    if (probe.has_delay_accounting)
        counters_set(counters, COUNTER_delayacct_blkio_time, read_ticks_us(stat->field[STAT_BLKIO]));
}

/* A function of its own, so that threads with small stacks pay for the buffer only where stat is read. */
__attribute__((noinline)) static void add_stat(struct counters *counters, int dir)
{
    struct read_stat stat;
    if (read_stat(&stat, dir, "stat"))
        from_stat(counters, &stat);
}

/* stat has guest time in ticks: it is 0 if the user time is less than one tick. */
static bool guest_time_is_0(const struct counters *counters)
{
    return counters_has(counters, COUNTER_usertime) && counters->value[COUNTER_usertime] < read_ticks_us(1);
}

/* For the only thread of a process, the kernel's exit record has the scheduler's counters too. */
static bool is_in_taskstats(enum read_scope scope)
{
    return probe.has_taskstats && scope == READ_ALONE;
}

static void read_dir(struct counters *counters, const char *dir_path, enum read_scope scope)
{
    bool needs_stat = probe.has_delay_accounting || !counters_has(counters, COUNTER_guest_time);
    if (is_in_taskstats(scope) && !needs_stat) { /* a single file: no need to open the directory */
        read_io(counters, AT_FDCWD, "/proc/self/io", scope);
        return;
    }
    int dir = sys_open(AT_FDCWD, dir_path, O_PATH | O_DIRECTORY);
    if (dir < 0)
        return;
    read_io(counters, dir, "io", scope);
    if (!is_in_taskstats(scope))
        read_schedstat(counters, dir, "schedstat");
    if (needs_stat)
        add_stat(counters, dir);
    sys_close(dir);
}

void read_this_thread(struct counters *counters, const char *dir_path, enum read_scope scope)
{
    unsigned cpu;
    read_own_clock(counters);
    read_usage(counters, RUSAGE_THREAD);
    if (guest_time_is_0(counters))
        counters_set(counters, COUNTER_guest_time, 0);
    if (dir_path)
        read_dir(counters, dir_path, scope);
    if (sys3(SYS_getcpu, &cpu, NULL, NULL) == 0)
        counters_set(counters, COUNTER_processor, cpu);
}

/* stat has user and system time in ticks of 10 ms, but in the right proportion; the clock has their exact sum. */
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
    static const char dir[] = "/proc/self/task/";
    char path[sizeof dir + ARGS_DIGITS_MAX];
    memcpy(path, dir, sizeof dir);
    args_digits(path + sizeof dir - 1, (unsigned)tid);
    return sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY);
}

void read_other_thread(struct counters *counters, pid_t tid, struct read_stat *stat)
{
    int dir = open_task(tid);
    if (dir < 0)
        return;
    read_io(counters, dir, "io", tid == probe.pid ? READ_MAIN : READ_OTHER);
    read_other_clock(counters, tid);
    read_schedstat(counters, dir, "schedstat");
    if (read_stat(stat, dir, "stat")) {
        usage_from_stat(counters, stat);
        from_stat(counters, stat);
    }
    sys_close(dir);
}
