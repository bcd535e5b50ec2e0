/* What a board's header says of its process: from /proc, from the environment, from the clocks. */
#include "probe/segment/internal.h"

#include "base/clock.h"
#include "base/sys.h"

#include <stdlib.h>
#include <sys/stat.h>

static size_t read_file(const char *path, char *text, size_t room)
{
    int fd = sys_open(AT_FDCWD, path, O_RDONLY);
    long got = fd < 0 ? 0 : sys_read(fd, text, room - 1);
    if (fd >= 0)
        sys_close(fd);
    got = got > 0 ? got : 0;
    text[got] = '\0';
    return (size_t)got;
}

/* Field 22; the name, field 2, may hold blanks and brackets. */
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

static void fill_command(char *command, size_t room)
{
    size_t size = read_file("/proc/self/cmdline", command, room);
    while (size && !command[size - 1])
        size--;
    for (size_t i = 0; i < size; i++)
        if (!command[i])
            command[i] = ' ';
}

/* Who starts a program that has the rights of another does not say whose job it counts for. */
static void fill_job(char *job, size_t room)
{
    static const char *const variables[] = { "SONDE_JOB",  "SLURM_JOB_ID", "SLURM_JOBID", "OAR_JOB_ID",
                                            "PBS_JOBID", "PBS_JOB_ID",   NULL };
    for (const char *const *variable = variables; *variable; variable++) {
        const char *value = secure_getenv(*variable);
        if (value && *value && strlen(value) < room) {
            memcpy(job, value, strlen(value) + 1);
            return;
        }
    }
}

static bool look(const char *path, struct stat *st)
{
    return sys4(SYS_newfstatat, AT_FDCWD, path, st, 0) == 0;
}

static uint64_t clock_now_ns(clockid_t clock)
{
    struct timespec t = { 0 };
    sys2(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Ticks and time of the same moment, as nearly as one gets them: of the pair of three that lies closest. */
static void fill_clocks(struct board_header *header)
{
    uint64_t width = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = board_ticks(), now_ns = clock_now_ns(CLOCK_MONOTONIC), after = board_ticks();
        if (after - before >= width)
            continue;
        width = after - before;
        header->ticks = before + width / 2;
        header->monotonic_ns = now_ns;
    }
    header->realtime_ns = board_facts_now_ns();
}

uint64_t board_facts_now_ns(void)
{
    return clock_now_ns(CLOCK_REALTIME);
}

void board_facts_fill(const struct board *board, struct board_header *header)
{
    struct stat st;
    header->version = BOARD_VERSION;
    header->state = BOARD_ALIVE;
    header->bytes = board->bytes;
    header->pid = board->pid;
    header->rank = board->rank;
    header->size = board->size;
    header->program = board->program;
    header->world = board->world;
    header->start_ticks = start_ticks();
    header->parent_pid = (int32_t)sys0(SYS_getppid);
    if (look("/proc/self/ns/pid", &st))
        header->pid_space = st.st_ino;
    if (look("/proc/self/exe", &st)) {
        header->exe_device = st.st_dev;
        header->exe_inode = st.st_ino;
    }
    fill_clocks(header);
    memcpy(header->library, board->library, sizeof header->library);
    header->subject_pid = board->subject.pid;
    header->subject_uid = board->subject.uid;
    if (!board->subject.pid)
        fill_job(header->job, sizeof header->job);
    else
        memcpy(header->job, board->subject.job, strnlen(board->subject.job, sizeof header->job - 1));
    fill_command(header->command, sizeof header->command);
}
