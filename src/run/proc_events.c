/* From the kernel's sockets to records. Most events of a node are not of the job: they cost one look into the table. */
#include "run/proc_events.h"

#include "base/clock.h"

#include <stdlib.h>
#include <unistd.h>

#define LAZY_MS 50 /* between two looks at the sockets that do not wake us: what comes meanwhile must fit into them */
#define LAZY_MAX_MS 200
#define STORM_MS 150 /* the same where very much comes: each look takes a processor away from the job, and its caches with it */
#define STORM_PER_S 2000 /* events */
#define BRIEF_MS 2 /* the same where they are small, as users' are: some hundred events */
#define SILENT_LOOKS 8 /* then it is over, and the next event may wake us */
#define EXECS_PER_S 50
#define REMEMBER_NS (2 * NS_PER_S) /* how long other sources may speak of a process that has ended */

static int shortest_pause_ms(const struct kernel *kernel)
{
    return kernel->roomy ? LAZY_MS : BRIEF_MS;
}

void kernel_open(struct kernel *kernel, const char *root, struct writer *writer, struct perf_counts *perf)
{
    *kernel = (struct kernel){ .writer = writer, .perf = perf, .self = (uint32_t)getpid(), .execs.fd = -1,
                                .dark.bell_fd = -1 };
    members_init(&kernel->members);
    kernel->threads = calloc(KERNEL_THREADS, sizeof *kernel->threads);
    if (forks_open_kinds(&kernel->forks, 1u << FORKS_FORK | 1u << FORKS_EXIT) != OK
        || forks_open_kinds(&kernel->execs, 1u << FORKS_EXEC) != OK)
        forks_close(&kernel->forks);
    exits_open(&kernel->exits);
    kernel->roomy = forks_has_room(&kernel->forks);
    kernel->pause_ms = shortest_pause_ms(kernel);
    kernel->silent = SILENT_LOOKS;
    unseen_open(&kernel->unseen, root);
}

void kernel_close(struct kernel *kernel)
{
    forks_close(&kernel->execs);
    forks_close(&kernel->forks);
    exits_close(&kernel->exits);
    dark_close(&kernel->dark);
    unseen_close(&kernel->unseen);
    members_clear(&kernel->members);
    free(kernel->threads);
    kernel->threads = NULL;
}

void kernel_expect_probe(struct kernel *kernel, const char *bell_path)
{
    if (kernel->forks.fd >= 0)
        dark_open(&kernel->dark, bell_path, kernel->writer->fd);
}

/* Without the probe everybody is dark, and to wake up for each would be all that we cost, while the program that begins
 * waits for us where we look into its memory: a storm is looked at now and then, and who has ended by then is not. */
bool kernel_wants_execs(const struct kernel *kernel)
{
    return kernel->dark.bell_fd < 0 ? !kernel->is_storm && kernel->execs_seen < EXECS_PER_S : kernel->members.dark;
}

/* Not by each one: the first of many wakes us, and we look for the others from time to time. */
bool kernel_wants_forks(const struct kernel *kernel)
{
    return !kernel->roomy && kernel->silent >= SILENT_LOOKS;
}

bool kernel_has(struct kernel *kernel, uint32_t pid)
{
    return members_find(&kernel->members, pid) != NULL;
}

uint64_t kernel_lost(const struct kernel *kernel)
{
    return kernel->execs.lost + kernel->forks.lost + kernel->exits.lost;
}

/* Who has executed something may turn out to be dark while all are silent. */
int kernel_timeout_ms(const struct kernel *kernel)
{
    if (kernel->roomy || !kernel_wants_forks(kernel))
        return kernel->pause_ms;
    return kernel->dark.count ? LAZY_MS : -1;
}

static void record_fork(struct kernel *kernel, const struct fork_event *event)
{
    writer_add_kernel_fork(kernel->writer, &(struct kernel_fork_record){
        .pid = event->pid, .ppid = event->parent_pid, .time_ns = event->time_ns, .tid = event->tid,
    });
}

static void on_thread_made(struct kernel *kernel, const struct fork_event *event)
{
    struct member *member = members_find(&kernel->members, event->pid);
    if (!member)
        return;
    member->threads++;
    member->threads_made++;
    if (kernel->threads)
        kernel->threads[event->tid % KERNEL_THREADS] = (struct kernel_thread){ event->tid, event->time_ns };
    record_fork(kernel, event);
}

static bool is_helper(const struct kernel *kernel, uint32_t pid)
{
    return pid == kernel->other || pid == kernel->tracer;
}

static void on_process_made(struct kernel *kernel, const struct fork_event *event)
{
    const struct member *parent = members_find(&kernel->members, event->parent_pid);
    bool by_self = kernel->self && event->parent_pid == kernel->self && !is_helper(kernel, event->pid);
    if (!parent && !by_self) {
        members_remove(&kernel->members, event->pid); /* a pid of ours is in use again, by somebody else */
        return;
    }
    uint32_t uid = parent ? parent->uid : (uint32_t)getuid();
    bool uid_known = parent ? parent->uid_known : true;
    bool dark = parent ? parent->dark : true; /* the command: until the probe speaks */
    struct member *member = members_add(&kernel->members, event->pid, event->parent_pid);
    if (member) {
        member->uid = uid;
        member->uid_known = uid_known;
        member->start_ns = event->time_ns;
        members_darken(&kernel->members, member, dark);
        dark_heed(&kernel->dark, &kernel->members, false); /* before its own children are told of */
        if (member->dark)
            dark_ask(&kernel->dark, &kernel->members, member, event->time_ns, true);
    }
    record_fork(kernel, event);
}

/* stale: another exec of this pid has already happened, so that /proc would tell of that one. */
static void on_exec(struct kernel *kernel, const struct fork_event *event, bool stale)
{
    struct member *member = members_find(&kernel->members, event->pid);
    struct unseen unseen = { 0 };
    if (!member)
        return;
    kernel->execs_seen++;
    if (!stale && member->threads && (member->dark || kernel->dark.bell_fd < 0))
        unseen_read_image(&kernel->unseen, event->pid, member->uid_known ? member->uid : UINT32_MAX, &unseen);
    if (unseen.uid_known) {
        member->uid = unseen.uid;
        member->uid_known = true;
    }
    if (member->threads)
        dark_ask(&kernel->dark, &kernel->members, member, event->time_ns, false);
    writer_add_kernel_exec(kernel->writer, &(struct kernel_exec_record){
        .pid = event->pid, .time_ns = event->time_ns, .start_ticks = unseen.start_ticks, .ppid = member->ppid,
        .pgid = unseen.pgid, .sid = unseen.sid, .uid = unseen_uid(&unseen), .stat_known = unseen.stat_known,
        .path = unseen.path, .args = unseen.args, .cwd = unseen.cwd, .name = unseen.name,
    });
}

static void on_exit_of_thread(struct kernel *kernel, const struct fork_event *event)
{
    struct member *member = members_find(&kernel->members, event->pid);
    if (!member)
        return;
    members_end_thread(&kernel->members, member, event->time_ns);
    perf_counts_end_thread(kernel->perf, event->pid, event->tid, event->time_ns);
    writer_add_kernel_exit(kernel->writer, &(struct kernel_exit_record){
        .pid = event->pid, .tid = event->tid, .time_ns = event->time_ns, .status = (uint32_t)event->status,
    });
}

/* Of the socket that has forks and exits. */
static void on_event(void *context, const struct fork_event *event)
{
    struct kernel *kernel = context;
    kernel->heard++;
    if (event->kind == FORKS_EXIT)
        on_exit_of_thread(kernel, event);
    else if (event->pid == event->tid)
        on_process_made(kernel, event);
    else
        on_thread_made(kernel, event);
}

static bool has_stranger(const struct kernel *kernel)
{
    for (size_t i = 0; i < kernel->batch_count; i++)
        if (!members_find(&kernel->members, kernel->batch[i].pid))
            return true;
    return false;
}

/* Whoever exec'd may have been made since forks were read. Who rang is dark before its exec is looked at. */
static void meet_strangers(struct kernel *kernel)
{
    while (has_stranger(kernel) && forks_take(&kernel->forks, on_event, kernel) == AGAIN)
        continue;
    dark_hear(&kernel->dark);
    dark_heed(&kernel->dark, &kernel->members, false);
}

/* Is there a later exec of the same pid in the batch? Pids that fall on one place of last hide each other: then we look
 * into /proc for nothing, no more. */
#define LAST_EXECS 256

static void process_execs(struct kernel *kernel)
{
    uint16_t last[LAST_EXECS] = { 0 };
    if (!kernel->batch_count)
        return;
    meet_strangers(kernel);
    for (size_t i = 0; i < kernel->batch_count; i++)
        last[kernel->batch[i].pid % LAST_EXECS] = (uint16_t)i;
    for (size_t i = 0; i < kernel->batch_count; i++) {
        const struct fork_event *event = &kernel->batch[i];
        size_t later = last[event->pid % LAST_EXECS];
        on_exec(kernel, event, later > i && kernel->batch[later].pid == event->pid);
    }
    kernel->batch_count = 0;
}

static void on_exec_event(void *context, const struct fork_event *event)
{
    struct kernel *kernel = context;
    kernel->heard++;
    kernel->batch[kernel->batch_count++] = *event;
    if (kernel->batch_count == KERNEL_BATCH)
        process_execs(kernel);
}

/* Forks before execs, so that whoever exec'd is known; one that ended meanwhile is remembered long enough. */
static void read_forks(struct kernel *kernel)
{
    dark_hear(&kernel->dark);
    dark_heed(&kernel->dark, &kernel->members, false);
    forks_read(&kernel->forks, on_event, kernel);
    dark_heed(&kernel->dark, &kernel->members, true);
    forks_read(&kernel->execs, on_exec_event, kernel);
    process_execs(kernel);
}

bool kernel_take_execs(struct kernel *kernel)
{
    if (clock_ns(CLOCK_MONOTONIC_COARSE) >= kernel->read_ns + (uint64_t)shortest_pause_ms(kernel) * NS_PER_MS)
        return false;
    forks_take(&kernel->execs, on_exec_event, kernel);
    process_execs(kernel);
    return true;
}

/* 0: not known. */
static uint64_t start_of(const struct kernel *kernel, const struct member *member, uint64_t tid)
{
    if (tid == member->pid)
        return member->start_ns;
    const struct kernel_thread *thread = kernel->threads ? &kernel->threads[tid % KERNEL_THREADS] : NULL;
    return thread && thread->tid == tid ? thread->start_ns : 0;
}

/* An exit record tells how long the task lived, not when: we may read it late. Its fork is told exactly. */
static void record_taskstats(struct kernel *kernel, const struct member *member, struct taskstats_record record)
{
    uint64_t start_ns = start_of(kernel, member, record.tid);
    if (start_ns && record.start_ns && record.end_ns >= record.start_ns) {
        record.end_ns = start_ns + (record.end_ns - record.start_ns);
        record.start_ns = start_ns;
    }
    writer_add_taskstats(kernel->writer, &record);
}

/* Those that are still strangers after the connector was read are of other jobs. */
static void settle_held(struct kernel *kernel)
{
    if (!kernel->held_count)
        return;
    read_forks(kernel);
    for (size_t i = 0; i < kernel->held_count; i++) {
        const struct member *member = members_find(&kernel->members, (uint32_t)kernel->held[i].record.pid);
        if (member)
            record_taskstats(kernel, member, kernel->held[i].record);
    }
    kernel->held_count = 0;
}

static void hold(struct kernel *kernel, const struct taskstats_record *record)
{
    struct kernel_held *held = &kernel->held[kernel->held_count++];
    size_t size = record->name.size < sizeof held->name ? record->name.size : sizeof held->name;
    held->record = *record;
    if (size)
        memcpy(held->name, record->name.data, size);
    held->record.name = (struct bytes){ held->name, size };
    if (kernel->held_count == KERNEL_HELD)
        settle_held(kernel);
}

static void on_taskstats(void *context, const struct taskstats_record *record)
{
    struct kernel *kernel = context;
    const struct member *member = members_find(&kernel->members, (uint32_t)record->pid);
    /* A thread that was made after the connector was read is held too: without its beginning it would seem to be another. */
    bool begun = member && (record->tid == record->pid || start_of(kernel, member, record->tid));
    if (begun || (member && kernel->forks.fd < 0))
        record_taskstats(kernel, member, *record);
    else if (kernel->forks.fd >= 0)
        hold(kernel, record);
}

static void choose_pause(struct kernel *kernel)
{
    kernel->silent = kernel->heard ? 0 : kernel->silent + 1;
    kernel->is_storm = kernel->roomy && kernel->heard > (unsigned)kernel->pause_ms * STORM_PER_S / 1000;
    if (kernel->is_storm)
        kernel->pause_ms = STORM_MS;
    else if (kernel->heard || !kernel->roomy)
        kernel->pause_ms = shortest_pause_ms(kernel);
    else
        kernel->pause_ms = kernel->pause_ms < LAZY_MAX_MS ? 2 * kernel->pause_ms : LAZY_MAX_MS;
}

/* It executed something when we did not look. */
static void record_dark(void *context, struct member *member)
{
    struct kernel *kernel = context;
    kernel_record_alive(kernel, kernel->writer, member);
}

/* Forks first: then nearly all exit records are of processes that are known. */
void kernel_read(struct kernel *kernel)
{
    kernel->heard = 0;
    kernel->read_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
    dark_mark(&kernel->dark);
    read_forks(kernel);
    exits_read(&kernel->exits, on_taskstats, kernel);
    settle_held(kernel);
    choose_pause(kernel);
    if (kernel->forks.lost != kernel->forks_lost) {
        kernel->forks_lost = kernel->forks.lost;
        kernel_resync(kernel, true);
    }
    uint64_t now_ns = clock_realtime_ns();
    if (now_ns - kernel->looked_ns >= LAZY_MS * NS_PER_MS) {
        kernel->looked_ns = now_ns;
        dark_look(&kernel->dark, &kernel->members, now_ns, record_dark, kernel);
    }
    if (now_ns - kernel->counted_ns >= NS_PER_S) {
        kernel->counted_ns = now_ns;
        kernel->execs_seen = 0;
    }
    if (now_ns - kernel->forgot_ns < REMEMBER_NS)
        return;
    kernel->forgot_ns = now_ns;
    members_forget(&kernel->members, now_ns - REMEMBER_NS);
}

struct found {
    uint32_t pid, ppid, pgid, sid, threads;
};

struct census {
    struct found *all;
    size_t count, room;
};

static void count_in(void *context, const struct unseen *unseen)
{
    struct census *census = context;
    if (unseen->zombie)
        return;
    if (census->count == census->room) {
        size_t room = census->room ? 2 * census->room : 256;
        struct found *all = realloc(census->all, room * sizeof *all);
        if (!all)
            return;
        census->all = all;
        census->room = room;
    }
    census->all[census->count++] = (struct found){ unseen->pid, unseen->ppid, unseen->pgid, unseen->sid, unseen->threads };
}

static int by_pid(const void *a, const void *b)
{
    uint32_t left = ((const struct found *)a)->pid, right = ((const struct found *)b)->pid;
    return left < right ? -1 : left > right;
}

static void end_missing(struct kernel *kernel, const struct census *census)
{
    uint64_t now_ns = clock_realtime_ns();
    size_t at = 0;
    for (struct member *member; (member = members_next(&kernel->members, &at));) {
        struct found key = { .pid = member->pid };
        if (member->threads && !bsearch(&key, census->all, census->count, sizeof key, by_pid))
            members_end(&kernel->members, member, now_ns);
    }
}

static bool is_alive(const struct kernel *kernel, uint32_t pid)
{
    const struct member *member = members_find(&kernel->members, pid);
    return member && member->threads;
}

/* Also one that ended a moment ago. 0: of another pid namespace. */
static bool is_known(const struct kernel *kernel, uint32_t pid)
{
    return pid && members_find(&kernel->members, pid);
}

/* An orphan has a foreign parent, but stays in its group and session, whose numbers are given to nobody else as long as it
 * does: where one of ours began them, it is ours. Who stays for the rest has no children here: its self is 0, which is also
 * the parent of init. */
static bool is_ours(const struct kernel *kernel, const struct found *found)
{
    return (kernel->self && found->ppid == kernel->self) || is_alive(kernel, found->ppid)
           || is_known(kernel, found->sid) || is_known(kernel, found->pgid);
}

/* True when it is new and of ours. */
static bool adopt(struct kernel *kernel, const struct found *found)
{
    if (!is_ours(kernel, found) || is_helper(kernel, found->pid) || found->pid == kernel->self || is_alive(kernel, found->pid))
        return false;
    struct member *member = members_add(&kernel->members, found->pid, found->ppid);
    if (!member)
        return false;
    member->threads = found->threads ? found->threads : 1;
    member->threads_made = UINT32_MAX; /* how many have ended is not known */
    return true;
}

/* A parent may stand behind its children: until nobody new is found. */
static void adopt_all(struct kernel *kernel, const struct census *census, bool told)
{
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < census->count; i++) {
            if (!adopt(kernel, &census->all[i]))
                continue;
            more = true;
            if (told)
                kernel_record_alive(kernel, kernel->writer, members_find(&kernel->members, census->all[i].pid));
        }
    }
}

void kernel_resync(struct kernel *kernel, bool told)
{
    struct census census = { 0 };
    if (unseen_each(&kernel->unseen, count_in, &census) == OK && census.count) {
        qsort(census.all, census.count, sizeof *census.all, by_pid);
        end_missing(kernel, &census);
        adopt_all(kernel, &census, told);
    }
    free(census.all);
}

bool kernel_record_alive(struct kernel *kernel, struct writer *writer, const struct member *member)
{
    struct unseen unseen;
    struct counters self;
    if (unseen_read(&kernel->unseen, member->pid, member->uid_known ? member->uid : UINT32_MAX, &unseen) == GONE
        || unseen.zombie)
        return false;
    struct alive_record record = {
        .pid = member->pid, .ppid = unseen.stat_known ? unseen.ppid : member->ppid, .pgid = unseen.pgid, .sid = unseen.sid,
        .uid = unseen_uid(&unseen), .start_ticks = unseen.start_ticks, .time_ns = clock_realtime_ns(),
        .path = unseen.path, .args = unseen.args, .cwd = unseen.cwd,
    };
    char name[64];
    size_t size = unseen.name.size < sizeof name ? unseen.name.size : sizeof name;
    if (size)
        memcpy(name, unseen.name.data, size); /* the counters are read through the same buffer */
    record.name = (struct bytes){ name, size };
    unseen_counters(&kernel->unseen, member->pid, member->threads_made == unseen.threads, &self);
    record.self = self;
    writer_add_alive(writer, &record);
    return true;
}

uint32_t kernel_record_survivors(struct kernel *kernel)
{
    uint32_t count = 0;
    size_t at = 0;
    for (struct member *member; (member = members_next(&kernel->members, &at));)
        if (member->threads && kernel_record_alive(kernel, kernel->writer, member))
            count++;
    return count;
}
