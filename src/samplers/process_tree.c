/* Resource usage of a run: the live descendants of a process, from /proc and the CPU clocks of the processes. The
 * process is a child subreaper, so that all descendants stay below it; it is not counted itself.
 *
 * When a process is waited for, the kernel adds its CPU time and I/O to its parent's, or to ours if we waited for it.
 * So the whole run is the sum over live processes, each with its waited-for children, plus what we have waited for.
 * Parents are read before their children: a child that exits in between is missing from one reading (monotonic_sum.h)
 * but never counted twice.
 *
 * After the process has exited, a process forked from it, which is nobody's parent, may continue to monitor what was
 * left behind. Then the run consists of the processes of the last reading, their children, and those reported by
 * next_process(). What the exited ones had used is remembered from the last reading. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "proc/children.h"
#include "proc/context_switches.h"
#include "proc/monotonic_sum.h"
#include "proc/pidmap.h"
#include "proc/taskfile.h"
#include "samplers/cgroup_peak.h"
#include "samplers/pace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct metric metrics[] = {
    { "cpu", "us", COUNTER, U64, "CPU time of all processes, including exited ones" },
    { "rss", "B", GAUGE, U64, "resident memory, each process counted in full" },
    { "processes", "1", GAUGE, U64, "live processes" },
    { "threads", "1", GAUGE, U64, "live threads" },
    { "rchar", "B", COUNTER, U64, "bytes read by system calls, including 1 to 2 KB that the probe reads in each process" },
    { "wchar", "B", COUNTER, U64, "bytes written by system calls, without those of the probe" },
    { "read_bytes", "B", COUNTER, U64, "bytes fetched from storage" },
    { "write_bytes", "B", COUNTER, U64, "bytes sent to storage, lower bound: without pages that the probe wrote" },
    { "vol_ctxsw", "1", COUNTER, U64, "voluntary context switches, lower bound: of observed threads and exited processes" },
    { "invol_ctxsw", "1", COUNTER, U64, "involuntary context switches, lower bound: likewise" },
    { "pss", "B", GAUGE, U64, "resident memory, pages shared by several processes counted once" },
    { "cgroup_peak", "B", GAUGE, U64, "peak of the cgroup, if the run has one of its own; lower bound, without page cache" },
};

enum { CPU, RSS, PROCESSES, THREADS, RCHAR, WCHAR, READ_BYTES, WRITE_BYTES, VOL_CTXSW, INVOL_CTXSW, PSS, CGROUP_PEAK, METRICS };
enum { IO_COUNTERS = 4 };

static const struct set set = { "tree", metrics, METRICS };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

#define SHARE_OF_ALL 20      /* at most 5 % of a CPU, by skipping ticks */
#define SHARE_OF_SWITCHES 50 /* at most 2 %, by skipping these counters in some ticks */
#define SHARE_OF_PSS 50      /* likewise */
#define FREED_PART 20        /* if processes freed more than 5 % of the memory meanwhile, PSS is not consistent */

struct tree_member {
    uint32_t pid;
    uint64_t start_ticks, rss_pages;
};

/* In the order in which they were found: parents before children. */
struct tree_members {
    struct tree_member *list;
    size_t count, capacity;
};

struct tree_sums {
    uint64_t cpu_ns, rss_pages, processes, threads;
    uint64_t parents; /* processes whose waited-for CPU time comes in ticks, rounded down */
    struct taskfile_io io;
    bool io_known;
    uint64_t pss_bytes;
};

struct process_tree {
    int proc_fd;
    uint32_t pid, helper, tracer;
    bool is_live; /* not a captured tree: exact CPU clocks and getrusage are available */
    uint64_t ns_per_tick, page_bytes;
    struct children children;
    struct tree_members members[2]; /* of this reading and the previous one */
    unsigned now;
    struct pidmap found;
    struct pidlist tids, pids;
    struct context_switches switches;
    struct taskfile_switches switches_before; /* of our children that exited before the run: helpers, or those of */
    uint64_t ns_before;                       /* a shell that became us by exec */
    struct taskfile_io io_before;
    struct taskfile_switches reaped_switches, shown_switches;
    const struct sampler_context *context;
    uint64_t reaped_ns;           /* CPU time of what we waited for while we were the parent */
    struct taskfile_io reaped_io;
    bool reaped_io_known;
    struct monotonic_sum cpu, io[IO_COUNTERS];
    struct cgroup_peak cgroup_peak;
    struct pace pace, switches_pace, pss_pace;
    bool reads_switches; /* in this reading */
    bool has_pss;        /* the kernel has smaps_rollup */
    uint64_t switches_cost_ns, pss_cost_ns;
};

static void process_tree_close(void *state)
{
    struct process_tree *tree = state;
    children_clear(&tree->children);
    for (int i = 0; i < 2; i++)
        free(tree->members[i].list);
    pidmap_clear(&tree->found);
    pidlist_clear(&tree->tids);
    pidlist_clear(&tree->pids);
    context_switches_clear(&tree->switches);
    if (tree->proc_fd >= 0)
        close(tree->proc_fd);
}

static struct taskfile_switches switches_of(const struct rusage *usage)
{
    return (struct taskfile_switches){ .voluntary = (uint64_t)usage->ru_nvcsw, .involuntary = (uint64_t)usage->ru_nivcsw };
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void io_add(struct taskfile_io *sum, const struct taskfile_io *part)
{
    sum->rchar += part->rchar;
    sum->wchar += part->wchar;
    sum->read_bytes += part->read_bytes;
    sum->write_bytes += part->write_bytes;
}

static void io_subtract(struct taskfile_io *sum, const struct taskfile_io *part)
{
    sum->rchar = subtract(sum->rchar, part->rchar);
    sum->wchar = subtract(sum->wchar, part->wchar);
    sum->read_bytes = subtract(sum->read_bytes, part->read_bytes);
    sum->write_bytes = subtract(sum->write_bytes, part->write_bytes);
}

/* I/O of the processes that we waited for: our process total minus that of our own threads. The counters move while we
 * read them, so a constant few hundred bytes are missing. */
static enum err read_reaped_io(struct process_tree *tree, struct taskfile_io *io)
{
    struct taskfile_io own = { 0 }, part;
    tree->tids.count = 0;
    enum err err = taskfile_read_io(tree->proc_fd, tree->pid, io);
    if (!err)
        err = children_threads(&tree->children, tree->pid, &tree->tids);
    for (size_t i = 0; i < tree->tids.count && !err; i++)
        if (!taskfile_read_thread_io(tree->proc_fd, tree->pid, tree->tids.ids[i], &part))
            io_add(&own, &part);
    io_subtract(io, &own);
    return err;
}

static uint64_t cpu_ns_of(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * NS_PER_S
           + (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * NS_PER_US;
}

static void remember_before(struct process_tree *tree)
{
    struct rusage usage;
    if (!getrusage(RUSAGE_CHILDREN, &usage)) {
        tree->switches_before = switches_of(&usage);
        tree->ns_before = cpu_ns_of(&usage);
    }
    if (read_reaped_io(tree, &tree->io_before))
        tree->io_before = (struct taskfile_io){ 0 };
}

static enum err process_tree_open(void *state, const struct sampler_context *context)
{
    struct process_tree *tree = state;
    char path[FILE_PATH_MAX];
    if (!context->pid)
        return ABSENT;
    enum err err = file_path(path, context->root, "/proc");
    if (err)
        return err;
    tree->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (tree->proc_fd < 0)
        return err_from_errno(errno);
    tree->context = context;
    tree->pid = (uint32_t)context->pid;
    tree->helper = (uint32_t)context->helper;
    tree->tracer = (uint32_t)context->tracer;
    tree->is_live = !context->root[0] && context->pid == getpid();
    tree->ns_per_tick = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    tree->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    tree->has_pss = faccessat(tree->proc_fd, "self/smaps_rollup", F_OK, 0) == 0;
    cgroup_peak_open(&tree->cgroup_peak, context->root, tree->proc_fd, tree->pid);
    children_init(&tree->children, tree->proc_fd, tree->pid);
    if (tree->is_live)
        remember_before(tree);
    return OK;
}

static enum err member_add(struct process_tree *tree, uint32_t pid)
{
    struct tree_members *members = &tree->members[tree->now];
    if (pid == tree->pid || pid == tree->helper || (pid && pid == tree->tracer)
        || pidmap_get(&tree->found, pid) != PIDMAP_NONE)
        return OK;
    if (array_reserve(members->list, members->capacity, members->count + 1, VEC_MAX))
        return NOMEM;
    members->list[members->count] = (struct tree_member){ .pid = pid };
    return pidmap_put(&tree->found, pid, (uint32_t)members->count++);
}

/* Lists the threads of a process in tree->tids. A single-threaded process needs no directory read. */
static enum err list_threads(struct process_tree *tree, uint32_t pid, uint32_t threads)
{
    tree->tids.count = 0;
    return threads == 1 ? pidlist_add(&tree->tids, pid) : children_threads(&tree->children, pid, &tree->tids);
}

static enum err add_children(struct process_tree *tree, uint32_t pid)
{
    tree->pids.count = 0;
    enum err err = children_add(&tree->children, pid, &tree->tids, &tree->pids);
    for (size_t i = 0; i < tree->pids.count && !err; i++)
        err = member_add(tree, tree->pids.ids[i]);
    return err;
}

/* Exact where the process has a CPU clock that we can read; else in ticks. */
static uint64_t own_cpu_ns(const struct process_tree *tree, uint32_t pid, const struct taskfile_stat *stat)
{
    clockid_t clock;
    struct timespec time;
    if (tree->is_live && !clock_getcpuclockid((pid_t)pid, &clock) && !clock_gettime(clock, &time))
        return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
    return stat->own_ticks * tree->ns_per_tick;
}

/* If the I/O of one process cannot be read (set-uid), the sum is unknown: a partial sum would look complete. */
static void add_io(struct process_tree *tree, uint32_t pid, struct tree_sums *sums)
{
    struct taskfile_io io;
    if (!sums->io_known)
        return;
    enum err err = taskfile_read_io(tree->proc_fd, pid, &io);
    if (!err)
        io_add(&sums->io, &io);
    else if (err != GONE || faccessat(tree->proc_fd, "self/io", F_OK, 0))
        sums->io_known = false;
}

static enum err add_switches(struct process_tree *tree, uint32_t pid)
{
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    enum err err = OK;
    for (size_t i = 0; i < tree->tids.count && !err; i++) {
        struct taskfile_switches value;
        if (taskfile_read_switches(tree->proc_fd, pid, tree->tids.ids[i], &value) == OK)
            err = context_switches_add(&tree->switches, tree->tids.ids[i], &value);
    }
    tree->switches_cost_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    return err;
}

static void add_stat(const struct process_tree *tree, uint32_t pid, const struct taskfile_stat *stat,
                     struct tree_sums *sums)
{
    sums->cpu_ns += own_cpu_ns(tree, pid, stat) + stat->children_ticks * tree->ns_per_tick;
    sums->parents += stat->children_ticks > 0;
    sums->rss_pages += stat->rss_pages;
    if (stat->state == 'Z' && stat->threads <= 1)
        return; /* a zombie */
    sums->processes++;
    sums->threads += stat->threads;
}

/* Reads one process and adds its children to the members. GONE: it exited, or the pid belongs to another process
 * now. */
static enum err read_member(struct process_tree *tree, struct tree_member *member, struct tree_sums *sums)
{
    struct taskfile_stat stat;
    uint32_t pid = member->pid;
    enum err err = taskfile_read_stat(tree->proc_fd, pid, &stat);
    if (err)
        return err;
    if (member->start_ticks && member->start_ticks != stat.start_ticks)
        return GONE;
    member->start_ticks = stat.start_ticks;
    member->rss_pages = stat.rss_pages;
    add_stat(tree, pid, &stat, sums);
    add_io(tree, pid, sums);
    err = list_threads(tree, pid, stat.threads);
    if (!err && tree->reads_switches)
        err = add_switches(tree, pid);
    return err ? err : add_children(tree, pid);
}

/* Reads the members from index first on; new ones are appended meanwhile. */
static enum err read_members(struct process_tree *tree, size_t first, struct tree_sums *sums)
{
    struct tree_members *members = &tree->members[tree->now];
    for (size_t i = first; i < members->count; i++) {
        struct tree_member member = members->list[i]; /* the list may be reallocated */
        enum err err = read_member(tree, &member, sums);
        members->list[i] = member;
        if (err == NOMEM)
            return err;
    }
    return OK;
}

/* The kernel's lists of children may miss some while others exit: a member of the previous reading that is still the
 * same process is still a member. */
static enum err read_missed(struct process_tree *tree, struct tree_sums *sums)
{
    const struct tree_members *before = &tree->members[!tree->now];
    struct tree_members *members = &tree->members[tree->now];
    for (size_t i = 0; i < before->count; i++) {
        struct tree_member member = before->list[i];
        if (!member.start_ticks || pidmap_get(&tree->found, member.pid) != PIDMAP_NONE)
            continue;
        size_t first = members->count;
        enum err err = member_add(tree, member.pid);
        if (err)
            return err;
        members->list[first].start_ticks = member.start_ticks;
        err = read_members(tree, first, sums);
        if (err)
            return err;
    }
    return OK;
}

static bool has_parent_exited(const struct process_tree *tree)
{
    return tree->is_live && (pid_t)tree->pid != getpid();
}

static void read_reaped(struct process_tree *tree)
{
    struct rusage usage;
    if (!getrusage(RUSAGE_CHILDREN, &usage)) {
        tree->reaped_switches = switches_of(&usage);
        tree->reaped_ns = subtract(cpu_ns_of(&usage), tree->ns_before);
    }
    tree->reaped_io_known = read_reaped_io(tree, &tree->reaped_io) == OK;
    io_subtract(&tree->reaped_io, &tree->io_before);
}

/* Adds the processes that exited and were waited for by us, or by the process that we were forked from. */
static void add_reaped(struct process_tree *tree, struct tree_sums *sums)
{
    if (!tree->is_live)
        return;
    if (!has_parent_exited(tree))
        read_reaped(tree);
    sums->cpu_ns += tree->reaped_ns;
    sums->io_known &= tree->reaped_io_known;
    io_add(&sums->io, &tree->reaped_io);
}

/* Reads our descendants. */
static enum err read_below(struct process_tree *tree, struct tree_sums *sums)
{
    enum err err = list_threads(tree, tree->pid, 0);
    if (!err)
        err = add_children(tree, tree->pid);
    return err ? err : read_members(tree, 0, sums);
}

/* Reads the processes reported by next_process(), which neither we nor a known member started. */
static enum err read_reported(struct process_tree *tree, struct tree_sums *sums)
{
    size_t at = 0, first = tree->members[tree->now].count;
    enum err err = OK;
    uint32_t pid;
    const struct sampler_context *context = tree->context;
    while (!err && context->next_process && context->next_process(context->callback_context, &at, &pid))
        err = member_add(tree, pid);
    return err ? err : read_members(tree, first, sums);
}

/* Called after all processes were read: what the probe wrote meanwhile is subtracted too early, until the next reading;
 * too late would be worse, because a counter cannot go back. */
static void subtract_probe_io(const struct process_tree *tree, struct tree_sums *sums)
{
    struct sampler_probe_io probe_io = { 0 };
    if (!tree->context->probe_io)
        return;
    tree->context->probe_io(tree->context->callback_context, &probe_io);
    sums->io.wchar = subtract(sums->io.wchar, probe_io.written_bytes);
    sums->io.write_bytes = subtract(sums->io.write_bytes, probe_io.dirty_bytes);
}

static enum err read_all(struct process_tree *tree, struct tree_sums *sums)
{
    *sums = (struct tree_sums){ .io_known = true };
    tree->now = !tree->now;
    tree->members[tree->now].count = 0;
    pidmap_reset(&tree->found);
    tree->switches_cost_ns = 0;
    if (tree->reads_switches)
        context_switches_begin(&tree->switches);
    enum err err = children_refresh(&tree->children);
    add_reaped(tree, sums);
    if (!err && !has_parent_exited(tree))
        err = read_below(tree, sums);
    if (!err)
        err = read_missed(tree, sums);
    if (!err && has_parent_exited(tree))
        err = read_reported(tree, sums);
    subtract_probe_io(tree, sums);
    return err;
}

static uint64_t pss_of(const struct process_tree *tree, const struct tree_member *member)
{
    uint64_t bytes, rss_bytes = member->rss_pages * tree->page_bytes;
    bool is_known = rss_bytes && taskfile_read_pss(tree->proc_fd, member->pid, &bytes) == OK && bytes < rss_bytes;
    return is_known ? bytes : rss_bytes;
}

/* Pages that members have freed since they were listed. */
static uint64_t freed_pages(const struct process_tree *tree)
{
    const struct tree_members *members = &tree->members[tree->now];
    struct taskfile_stat stat;
    uint64_t pages = 0;
    for (size_t i = 0; i < members->count; i++) {
        const struct tree_member *member = &members->list[i];
        bool is_same = member->rss_pages && taskfile_read_stat(tree->proc_fd, member->pid, &stat) == OK
                       && stat.start_ticks == member->start_ticks;
        pages += subtract(member->rss_pages, is_same ? stat.rss_pages : 0);
    }
    return pages;
}

/* A process that we may not inspect (set-uid) counts in full, and so does a single one: it shares nothing within the run. When a
 * process exits, its share of a page passes to the others, and would count twice: false if that may be much. */
static bool read_pss(struct process_tree *tree, struct tree_sums *sums)
{
    uint64_t freed_bytes = 0;
    const struct tree_members *members = &tree->members[tree->now];
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (sums->processes <= 1)
        sums->pss_bytes = sums->rss_pages * tree->page_bytes;
    for (size_t i = 0; i < members->count && sums->processes > 1; i++)
        sums->pss_bytes += pss_of(tree, &members->list[i]);
    if (sums->processes > 1)
        freed_bytes = freed_pages(tree) * tree->page_bytes;
    tree->pss_cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    return freed_bytes <= sums->pss_bytes / FREED_PART;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Takes the larger of two sums that each miss something: the sum over observed threads misses processes that exited
 * between two readings; the sum over live and waited-for processes misses those that another live process waited
 * for. */
static void set_switches(struct process_tree *tree, struct sample *sample)
{
    const struct taskfile_switches *seen = &tree->switches.sum, *live = &tree->switches.live;
    struct taskfile_switches *shown = &tree->shown_switches;
    uint64_t voluntary = subtract(tree->reaped_switches.voluntary, tree->switches_before.voluntary) + live->voluntary;
    uint64_t involuntary = subtract(tree->reaped_switches.involuntary,
                                    tree->switches_before.involuntary) + live->involuntary;
    shown->voluntary = larger(shown->voluntary, larger(seen->voluntary, voluntary));
    shown->involuntary = larger(shown->involuntary, larger(seen->involuntary, involuntary));
    sample_set_u64(sample, VOL_CTXSW, shown->voluntary);
    sample_set_u64(sample, INVOL_CTXSW, shown->involuntary);
}

static void set_io(struct process_tree *tree, const struct tree_sums *sums, struct sample *sample)
{
    const uint64_t io[IO_COUNTERS] = { sums->io.rchar, sums->io.wchar, sums->io.read_bytes, sums->io.write_bytes };
    for (size_t i = 0; sums->io_known && i < IO_COUNTERS; i++)
        sample_set_u64(sample, RCHAR + i, monotonic_sum_update(&tree->io[i], io[i], tree->page_bytes));
}

static enum err add_sample(struct process_tree *tree, const struct tree_sums *sums, uint64_t time_ns, bool reads_pss,
                           struct batch *out)
{
    struct sample *sample = batch_add(out, &set, time_ns, "");
    uint64_t peak_bytes;
    if (!sample)
        return NOMEM;
    uint64_t tolerance_us = 2 * (sums->parents + 1) * tree->ns_per_tick / NS_PER_US;
    sample_set_u64(sample, CPU, monotonic_sum_update(&tree->cpu, sums->cpu_ns / NS_PER_US, tolerance_us));
    sample_set_u64(sample, RSS, sums->rss_pages * tree->page_bytes);
    sample_set_u64(sample, PROCESSES, sums->processes);
    sample_set_u64(sample, THREADS, sums->threads);
    set_io(tree, sums, sample);
    if (tree->reads_switches)
        set_switches(tree, sample);
    if (reads_pss)
        sample_set_u64(sample, PSS, sums->pss_bytes);
    if (cgroup_peak_read(&tree->cgroup_peak, tree->proc_fd, &tree->found, &peak_bytes))
        sample_set_u64(sample, CGROUP_PEAK, peak_bytes);
    return OK;
}

static enum err process_tree_read(void *state, struct batch *out)
{
    struct process_tree *tree = state;
    struct tree_sums sums;
    uint64_t now_ns = clock_monotonic_ns(), time_ns = clock_realtime_ns();
    if (!pace_is_due(&tree->pace, now_ns))
        return AGAIN;
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    tree->reads_switches = pace_is_due(&tree->switches_pace, now_ns);
    enum err err = read_all(tree, &sums);
    uint64_t cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    if (tree->reads_switches)
        pace_record(&tree->switches_pace, now_ns, tree->switches_cost_ns, SHARE_OF_SWITCHES);
    pace_record(&tree->pace, now_ns, cost_ns - tree->switches_cost_ns, SHARE_OF_ALL);
    bool reads_pss = tree->has_pss && !err && pace_is_due(&tree->pss_pace, now_ns);
    if (reads_pss) {
        reads_pss = read_pss(tree, &sums);
        pace_record(&tree->pss_pace, now_ns, tree->pss_cost_ns, SHARE_OF_PSS);
    }
    return err ? err : add_sample(tree, &sums, time_ns, reads_pss, out);
}

static void process_tree_before_last_read(void *state)
{
    struct process_tree *tree = state;
    tree->pace = tree->switches_pace = (struct pace){ 0 };
}

const struct sampler sampler_process_tree = {
    .name = "tree",
    .about = "CPU time, memory, threads, I/O of all processes of the run",
    .set = &set,
    .state_size = sizeof(struct process_tree),
    .open = process_tree_open,
    .read = process_tree_read,
    .before_last_read = process_tree_before_last_read,
    .close = process_tree_close,
};
