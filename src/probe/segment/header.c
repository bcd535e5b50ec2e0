/* Fills the header of a segment with facts about its process: from /proc, the environment and the clocks. */
#include "probe/segment/internal.h"

#include "base/clock.h"
#include "base/sys.h"

#include <stdlib.h>
#include <sys/stat.h>

static size_t read_file(const char *path, char *text, size_t capacity)
{
    int fd = sys_open(AT_FDCWD, path, O_RDONLY);
    long got = fd < 0 ? 0 : sys_read(fd, text, capacity - 1);
    if (fd >= 0)
        sys_close(fd);
    got = got > 0 ? got : 0;
    text[got] = '\0';
    return (size_t)got;
}

/* Field 22 of stat; the name, field 2, may contain blanks and parentheses. */
static uint64_t start_ticks(void)
{
    char text[512];
    read_file("/proc/self/stat", text, sizeof text);
    const char *at = strrchr(text, ')');
    for (int blanks = 0; at && *at && blanks < 20; at++)
        blanks += *at == ' ';
    uint64_t ticks = 0;
    for (; at && *at >= '0' && *at <= '9'; at++)
        ticks = ticks * 10 + (uint64_t)(*at - '0');
    return ticks;
}

static void fill_command(char *command, size_t capacity)
{
    size_t size = read_file("/proc/self/cmdline", command, capacity);
    while (size && !command[size - 1])
        size--;
    for (size_t i = 0; i < size; i++)
        if (!command[i])
            command[i] = ' ';
}

/* Not in set-uid programs: the caller must not choose the job that they count for. */
static void fill_job(char *job, size_t capacity)
{
    static const char *const variables[] = { "SONDE_JOB",  "SLURM_JOB_ID", "SLURM_JOBID", "OAR_JOB_ID",
                                            "PBS_JOBID", "PBS_JOB_ID",   NULL };
    for (const char *const *variable = variables; *variable; variable++) {
        const char *value = secure_getenv(*variable);
        if (value && *value && strlen(value) < capacity) {
            memcpy(job, value, strlen(value) + 1);
            return;
        }
    }
}

static bool stat_file(const char *path, struct stat *st)
{
    return sys4(SYS_newfstatat, AT_FDCWD, path, st, 0) == 0;
}

static uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec t = { 0 };
    sys2(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* A pair of tick counter and clock, taken as simultaneously as possible: the closest of three. */
static void fill_clocks(struct segment_header *header)
{
    uint64_t width = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = segment_ticks(), now_ns = clock_now_ns(CLOCK_MONOTONIC), after = segment_ticks();
        if (after - before >= width)
            continue;
        width = after - before;
        header->ticks = before + width / 2;
        header->monotonic_ns = now_ns;
    }
    header->realtime_ns = segment_header_now_ns();
}

uint64_t segment_header_now_ns(void)
{
    return clock_now_ns(CLOCK_REALTIME);
}

void segment_header_fill(const struct segment *segment, struct segment_header *header)
{
    struct stat st;
    header->version = SEGMENT_VERSION;
    header->state = SEGMENT_ALIVE;
    header->bytes = segment->bytes;
    header->pid = segment->pid;
    header->rank = segment->rank;
    header->size = segment->size;
    header->program = segment->program;
    header->world = segment->world;
    header->start_ticks = start_ticks();
    header->parent_pid = (int32_t)sys0(SYS_getppid);
    if (stat_file("/proc/self/ns/pid", &st))
        header->pid_space = st.st_ino;
    if (stat_file("/proc/self/exe", &st)) {
        header->exe_device = st.st_dev;
        header->exe_inode = st.st_ino;
    }
    fill_clocks(header);
    memcpy(header->library, segment->library, sizeof header->library);
    header->subject_pid = segment->subject.pid;
    header->subject_uid = segment->subject.uid;
    if (!segment->subject.pid)
        fill_job(header->job, sizeof header->job);
    else
        memcpy(header->job, segment->subject.job, strnlen(segment->subject.job, sizeof header->job - 1));
    fill_command(header->command, sizeof header->command);
}
