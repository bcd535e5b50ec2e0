/* The overhead of system call counting for a command that makes many calls: without counting; while another process is counted in the
 * kernel; counted in the kernel, also with time; counted in libc ($LIBSONDE_CALLS), also with time; and on request under strace -c.
 * For comparison the floor: eBPF programs at the same hooks that do nothing, or only read the clock. The variants alternate; prints
 * the best of each, in CPU time of the command, since the node may have other load, and in wall time.
 *
 *   bench-syscalls WAYS ROUNDS CALLS COMMAND ARGUMENT…     WAYS: "all" (without strace), or a list like "bare,timed" */
#include "syscalls/ebpf.h"

#include "base/clock.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum way { BARE, FLOOR, BESIDE, COUNTED, FLOOR_TIMED, TIMED, BESIDE_TIMED, LIBC, LIBC_TIMED, STRACE, WAYS };

static const struct {
    const char *key, *name;
    double goal; /* ratio to bare; 0: none */
    enum way floor; /* the minimum for programs at the same hooks; BARE: none */
    bool is_open, with_time, is_its;
} ways[WAYS] = {
    [BARE] = { "bare", "bare", 0, BARE, false, false, false },
    [FLOOR] = { "floor", "floor: an empty program at each return", 0, BARE, false, false, false },
    [BESIDE] = { "beside", "not counted, while another is", 0, BARE, true, false, false },
    [COUNTED] = { "counted", "calls, errors, bytes, classes", 1.35, FLOOR, true, false, true },
    [FLOOR_TIMED] = { "floor-timed", "floor: the clock at entry and return", 0, BARE, false, false, false },
    [TIMED] = { "timed", "the same with time", 2.0, FLOOR_TIMED, true, true, true },
    [BESIDE_TIMED] = { "beside-timed", "not counted, while another is, with time", 0, BARE, true, true, false },
    [LIBC] = { "libc", "in libc: calls, errors, bytes", 1.35, BARE, false, false, false },
    [LIBC_TIMED] = { "libc-timed", "in libc: the same with time", 2.0, BARE, false, true, false },
    [STRACE] = { "strace", "strace -c", 0, BARE, false, false, false },
};

struct cost {
    double cpu_ns, wall_ns;
};

static double ns_of(struct timeval time)
{
    return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3;
}

static void become(char **command, enum way way)
{
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    if (way == LIBC || way == LIBC_TIMED)
        setenv("LD_PRELOAD", getenv("LIBSONDE_CALLS"), 1);
    if (way == LIBC_TIMED)
        setenv("SONDE_CALLS", "time", 1);
    if (way == STRACE) {
        *--command = "/dev/null";
        *--command = "-o";
        *--command = "-c";
        *--command = "strace";
    }
    execvp(command[0], command);
    _exit(127);
}

/* Returns false if it could not be run. */
static bool run(char **command, enum way way, struct ebpf_job *job, struct cost *best)
{
    struct rusage usage;
    int status;
    if (job)
        ebpf_job_add_at_exec(job, getpid());
    uint64_t begin_ns = clock_monotonic_ns();
    pid_t pid = fork();
    if (pid == 0)
        become(command, way);
    if (job)
        ebpf_job_remove_at_exec(job, getpid());
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return false;
    double wall_ns = (double)(clock_monotonic_ns() - begin_ns), cpu_ns = ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
    if (!best->cpu_ns || cpu_ns < best->cpu_ns)
        best->cpu_ns = cpu_ns;
    if (!best->wall_ns || wall_ns < best->wall_ns)
        best->wall_ns = wall_ns;
    return true;
}

/* An eBPF program at the entry or exit of system calls that returns at once, or after reading the clock. */
static int attach_idle(const char *tracepoint, bool reads_clock)
{
    static const struct bpf_insn clock = { .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns };
    static const struct bpf_insn zero = { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 };
    struct bpf_insn program[] = { reads_clock ? clock : zero, zero, { .code = BPF_JMP | BPF_EXIT } };
    union bpf_attr load = { .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insn_cnt = sizeof program / sizeof *program,
                            .insns = (uintptr_t)program, .license = (uintptr_t)"GPL" };
    int loaded = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load);
    union bpf_attr open = { .raw_tracepoint.name = (uintptr_t)tracepoint, .raw_tracepoint.prog_fd = (unsigned)loaded };
    int attached = loaded < 0 ? -1 : (int)syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &open, sizeof open);
    if (loaded >= 0)
        close(loaded);
    return attached;
}

static bool run_floor(enum way way, char **command, struct cost *best)
{
    bool with_time = way == FLOOR_TIMED;
    int returns = attach_idle("sys_exit", with_time), entries = with_time ? attach_idle("sys_enter", true) : -1;
    bool is_done = returns >= 0 && (entries >= 0 || !with_time) && run(command, way, NULL, best);
    if (returns >= 0)
        close(returns);
    if (entries >= 0)
        close(entries);
    return is_done;
}

static bool run_way(enum way way, char **command, struct cost *best)
{
    struct ebpf *syscalls = NULL;
    struct ebpf_job *job = NULL;
    char why[512];
    if (way == FLOOR || way == FLOOR_TIMED)
        return run_floor(way, command, best);
    unsigned may = ways[way].with_time ? EBPF_MAY_TIME : 0; /* like sonde run */
    if (ways[way].is_open && (ebpf_open(&syscalls, may, why, sizeof why) || ebpf_job_begin(syscalls, may, &job))) {
        fprintf(stderr, "bench-syscalls: %s\n", why);
        return false;
    }
    bool is_done = run(command, way, ways[way].is_its ? job : NULL, best);
    ebpf_close(&syscalls);
    return is_done;
}

/* strace stops the command at each call: it takes a minute instead of a second. */
static bool is_wanted(const char *list, enum way way)
{
    const char *key = ways[way].key;
    size_t size = strlen(key);
    if (strcmp(list, "all") == 0)
        return way != STRACE && (getenv("LIBSONDE_CALLS") || (way != LIBC && way != LIBC_TIMED));
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, key, size) == 0 && (at[size] == ',' || !at[size]))
            return true;
    return false;
}

static void print(enum way way, const struct cost *best, double calls)
{
    const struct cost *cost = &best[way], *bare = &best[BARE], *floor = &best[ways[way].floor];
    printf("   %-42s cpu %7.1f ms", ways[way].name, cost->cpu_ns / 1e6);
    if (bare->cpu_ns > 0)
        printf(" x%5.2f %+7.0f ns/call", cost->cpu_ns / bare->cpu_ns, (cost->cpu_ns - bare->cpu_ns) / calls);
    printf("   wall %7.1f ms", cost->wall_ns / 1e6);
    if (bare->wall_ns > 0)
        printf(" x%5.2f", cost->wall_ns / bare->wall_ns);
    if (ways[way].goal > 0)
        printf("   goal x%.2f", ways[way].goal);
    if (ways[way].floor != BARE && floor->cpu_ns > 0)
        printf(", %+.0f ns/call above the floor", (cost->cpu_ns - floor->cpu_ns) / calls);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct cost best[WAYS] = { 0 };
    if (argc < 5)
        return 2;
    int rounds = (int)strtol(argv[2], NULL, 10);
    double calls = strtod(argv[3], NULL);
    char *command[64] = { 0 };
    for (int i = 4; i < argc && i < 59; i++)
        command[i] = argv[i]; /* after four elements for strace */
    for (int round = 0; round < rounds; round++)
        for (enum way way = 0; way < WAYS; way++)
            if (is_wanted(argv[1], way) && !run_way(way, command + 4, &best[way]) && way != STRACE)
                return 1;
    for (enum way way = 0; way < WAYS; way++)
        if (best[way].cpu_ns > 0)
            print(way, best, calls);
    return 0;
}
