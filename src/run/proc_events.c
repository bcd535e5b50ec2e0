/* Turns kernel events into records. Most events of a node belong to other jobs: they cost one table lookup. */
#include "run/proc_events.h"

#include "base/clock.h"
#include "base/vec.h"

#include <stdlib.h>
#include <unistd.h>

#define READ_INTERVAL_MS 50 /* interval of reading sockets that do not wake us: their buffers must be large enough for it */
#define READ_INTERVAL_MAX_MS 200
#define STORM_MS 150 /* the same at a high event rate: each reading takes CPU time and cache from the job */
#define STORM_PER_S 2000 /* events */
#define READ_INTERVAL_SMALL_MS 2 /* the same with small buffers, as unprivileged users have: some hundred events */
#define QUIET_READS 8 /* then the burst is over, and the next event may wake us */
#define EXECS_PER_S 50
#define REMEMBER_NS (2 * NS_PER_S) /* how long other sources may still report an ended process */

static int shortest_pause_ms(const struct proc_events *events)
{
    return events->has_large_buffers ? READ_INTERVAL_MS : READ_INTERVAL_SMALL_MS;
}

void proc_events_open(struct proc_events *events, const char *root, struct spool_writer *writer, struct perf_counts *perf)
{
    *events = (struct proc_events){ .writer = writer, .perf = perf, .self = (uint32_t)getpid(), .execs.fd = -1,
                                .unprobed.notices_fd = -1 };
    members_init(&events->members);
    events->threads = calloc(PROC_EVENTS_THREADS, sizeof *events->threads);
    if (proc_connector_open_kinds(&events->forks, 1u << PROC_CONNECTOR_FORK | 1u << PROC_CONNECTOR_EXIT) != OK
        || proc_connector_open_kinds(&events->execs, 1u << PROC_CONNECTOR_EXEC) != OK)
        proc_connector_close(&events->forks);
    taskstats_exits_open(&events->exits);
    events->has_large_buffers = proc_connector_has_large_buffer(&events->forks);
    events->pause_ms = shortest_pause_ms(events);
    events->quiet_reads = QUIET_READS;
    proc_snapshot_open(&events->proc, root);
}

void proc_events_close(struct proc_events *events)
{
    proc_connector_close(&events->execs);
    proc_connector_close(&events->forks);
    taskstats_exits_close(&events->exits);
    unprobed_close(&events->unprobed);
    proc_snapshot_close(&events->proc);
    members_clear(&events->members);
    free(events->threads);
    events->threads = NULL;
}

void proc_events_expect_probe(struct proc_events *events, const char *notices_path)
{
    if (events->forks.fd >= 0)
        unprobed_open(&events->unprobed, notices_path, events->writer->fd);
}

/* Without the probe all processes are unprobed, and waking up for each exec would be our main cost; besides, the new
 * program waits while we read its memory. So a burst is sampled, and processes that have ended by then are not read. */
bool proc_events_wants_execs(const struct proc_events *events)
{
    if (events->unprobed.notices_fd < 0)
        return !events->is_storm && events->exec_count < EXECS_PER_S;
    return events->members.unprobed_count;
}

/* Not for each event: the first of a burst wakes us, the others are read periodically. */
bool proc_events_wants_forks(const struct proc_events *events)
{
    return !events->has_large_buffers && events->quiet_reads >= QUIET_READS;
}

bool proc_events_has(struct proc_events *events, uint32_t pid)
{
    return members_find(&events->members, pid) != NULL;
}

uint64_t proc_events_lost(const struct proc_events *events)
{
    return events->execs.lost + events->forks.lost + events->exits.lost;
}

/* A process that has called exec may turn out to be unprobed without any further event. */
int proc_events_timeout_ms(const struct proc_events *events)
{
    if (events->has_large_buffers || !proc_events_wants_forks(events))
        return events->pause_ms;
    return events->unprobed.count ? READ_INTERVAL_MS : -1;
}

static void record_fork(struct proc_events *events, const struct proc_connector_event *event)
{
    spool_writer_add_kernel_fork(events->writer, &(struct kernel_fork_record){
        .pid = event->pid, .ppid = event->parent_pid, .time_ns = event->time_ns, .tid = event->tid,
    });
}

static void on_thread_made(struct proc_events *events, const struct proc_connector_event *event)
{
    struct run_member *member = members_find(&events->members, event->pid);
    if (!member)
        return;
    member->threads++;
    member->threads_created++;
    if (events->threads)
        events->threads[event->tid % PROC_EVENTS_THREADS] = (struct thread_start){ event->tid, event->time_ns };
    record_fork(events, event);
}

static bool is_own_child(const struct proc_events *events, uint32_t pid)
{
    return pid == events->other || pid == events->tracer;
}

static void on_process_made(struct proc_events *events, const struct proc_connector_event *event)
{
    const struct run_member *parent = members_find(&events->members, event->parent_pid);
    bool by_self = events->self && event->parent_pid == events->self && !is_own_child(events, event->pid);
    if (!parent && !by_self) {
        members_remove(&events->members, event->pid); /* the pid was reused by an unrelated process */
        return;
    }
    uint32_t uid = parent ? parent->uid : (uint32_t)getuid();
    bool uid_known = parent ? parent->uid_known : true;
    bool is_unprobed = parent ? parent->is_unprobed : true; /* the command: until its probe has written a record */
    struct run_member *member = members_add(&events->members, event->pid, event->parent_pid);
    if (member) {
        member->uid = uid;
        member->uid_known = uid_known;
        member->start_ns = event->time_ns;
        members_set_unprobed(&events->members, member, is_unprobed);
        unprobed_apply_notices(&events->unprobed, &events->members, false); /* before its own children are reported */
        if (member->is_unprobed)
            unprobed_add_candidate(&events->unprobed, &events->members, member, event->time_ns, true);
    }
    record_fork(events, event);
}

/* stale: this pid has already called exec again, so that /proc would show that one. */
static void on_exec(struct proc_events *events, const struct proc_connector_event *event, bool stale)
{
    struct run_member *member = members_find(&events->members, event->pid);
    struct proc_snapshot snapshot = { 0 };
    if (!member)
        return;
    events->exec_count++;
    if (!stale && member->threads && (member->is_unprobed || events->unprobed.notices_fd < 0))
        proc_snapshot_read_image(&events->proc, event->pid, member->uid_known ? member->uid : UINT32_MAX, &snapshot);
    if (snapshot.uid_known) {
        member->uid = snapshot.uid;
        member->uid_known = true;
    }
    if (member->threads)
        unprobed_add_candidate(&events->unprobed, &events->members, member, event->time_ns, false);
    spool_writer_add_kernel_exec(events->writer, &(struct kernel_exec_record){
        .pid = event->pid, .time_ns = event->time_ns, .start_ticks = snapshot.start_ticks, .ppid = member->ppid,
        .pgid = snapshot.pgid, .sid = snapshot.sid, .uid = proc_snapshot_uid(&snapshot), .stat_known = snapshot.stat_known,
        .path = snapshot.path, .args = snapshot.args, .cwd = snapshot.cwd, .name = snapshot.name,
    });
}

static void on_exit_of_thread(struct proc_events *events, const struct proc_connector_event *event)
{
    struct run_member *member = members_find(&events->members, event->pid);
    if (!member)
        return;
    members_end_thread(&events->members, member, event->time_ns);
    perf_counts_end_thread(events->perf, event->pid, event->tid, event->time_ns);
    spool_writer_add_kernel_exit(events->writer, &(struct kernel_exit_record){
        .pid = event->pid, .tid = event->tid, .time_ns = event->time_ns, .status = (uint32_t)event->status,
    });
}

/* From the socket with forks and exits. */
static void on_event(void *context, const struct proc_connector_event *event)
{
    struct proc_events *events = context;
    events->event_count++;
    if (event->kind == PROC_CONNECTOR_EXIT)
        on_exit_of_thread(events, event);
    else if (event->pid == event->tid)
        on_process_made(events, event);
    else
        on_thread_made(events, event);
}

static bool has_unknown_pid(const struct proc_events *events)
{
    for (size_t i = 0; i < events->batch_count; i++)
        if (!members_find(&events->members, events->batch[i].pid))
            return true;
    return false;
}

/* A process that called exec may have been created since forks were read. Notices are applied before the exec is
 * handled. */
static void find_unknown_pids(struct proc_events *events)
{
    while (has_unknown_pid(events) && proc_connector_read_some(&events->forks, on_event, events) == AGAIN)
        continue;
    unprobed_read_notices(&events->unprobed);
    unprobed_apply_notices(&events->unprobed, &events->members, false);
}

/* Is there a later exec of the same pid in the batch? Pids that collide in `last` hide each other: then we read
 * /proc in vain, no more. */
#define LAST_EXECS 256

static void process_execs(struct proc_events *events)
{
    uint16_t last[LAST_EXECS] = { 0 };
    if (!events->batch_count)
        return;
    find_unknown_pids(events);
    for (size_t i = 0; i < events->batch_count; i++)
        last[events->batch[i].pid % LAST_EXECS] = (uint16_t)i;
    for (size_t i = 0; i < events->batch_count; i++) {
        const struct proc_connector_event *event = &events->batch[i];
        size_t later = last[event->pid % LAST_EXECS];
        on_exec(events, event, later > i && events->batch[later].pid == event->pid);
    }
    events->batch_count = 0;
}

static void on_exec_event(void *context, const struct proc_connector_event *event)
{
    struct proc_events *events = context;
    events->event_count++;
    events->batch[events->batch_count++] = *event;
    if (events->batch_count == PROC_EVENTS_BATCH)
        process_execs(events);
}

/* Forks before execs, so that the processes are known; those that ended meanwhile are kept long enough. */
static void read_forks(struct proc_events *events)
{
    unprobed_read_notices(&events->unprobed);
    unprobed_apply_notices(&events->unprobed, &events->members, false);
    proc_connector_read(&events->forks, on_event, events);
    unprobed_apply_notices(&events->unprobed, &events->members, true);
    proc_connector_read(&events->execs, on_exec_event, events);
    process_execs(events);
}

bool proc_events_read_execs(struct proc_events *events)
{
    if (clock_ns(CLOCK_MONOTONIC_COARSE) >= events->read_ns + (uint64_t)shortest_pause_ms(events) * NS_PER_MS)
        return false;
    proc_connector_read_some(&events->execs, on_exec_event, events);
    process_execs(events);
    return true;
}

/* 0: unknown. */
static uint64_t start_of(const struct proc_events *events, const struct run_member *member, uint64_t tid)
{
    if (tid == member->pid)
        return member->start_ns;
    const struct thread_start *thread = events->threads ? &events->threads[tid % PROC_EVENTS_THREADS] : NULL;
    return thread && thread->tid == tid ? thread->start_ns : 0;
}

/* An exit record has the lifetime of the task, but not the exact end, since we may read it late. The fork event has
 * the exact start. */
static void record_taskstats(struct proc_events *events, const struct run_member *member, struct taskstats_record record)
{
    uint64_t start_ns = start_of(events, member, record.tid);
    if (start_ns && record.start_ns && record.end_ns >= record.start_ns) {
        record.end_ns = start_ns + (record.end_ns - record.start_ns);
        record.start_ns = start_ns;
    }
    spool_writer_add_taskstats(events->writer, &record);
}

/* Processes that are still unknown after the connector was read belong to other jobs. */
static void record_pending(struct proc_events *events)
{
    if (!events->pending_count)
        return;
    read_forks(events);
    for (size_t i = 0; i < events->pending_count; i++) {
        const struct run_member *member = members_find(&events->members, (uint32_t)events->pending[i].record.pid);
        if (member)
            record_taskstats(events, member, events->pending[i].record);
    }
    events->pending_count = 0;
}

static void add_pending(struct proc_events *events, const struct taskstats_record *record)
{
    struct pending_exit *pending = &events->pending[events->pending_count++];
    size_t size = record->name.size < sizeof pending->name ? record->name.size : sizeof pending->name;
    pending->record = *record;
    if (size)
        memcpy(pending->name, record->name.data, size);
    pending->record.name = (struct bytes){ pending->name, size };
    if (events->pending_count == PROC_EVENTS_PENDING)
        record_pending(events);
}

static void on_taskstats(void *context, const struct taskstats_record *record)
{
    struct proc_events *events = context;
    const struct run_member *member = members_find(&events->members, (uint32_t)record->pid);
    /* A thread created after the connector was read is pending too: without its start it would look like another
     * thread. */
    bool is_known_thread = member && (record->tid == record->pid || start_of(events, member, record->tid));
    if (is_known_thread || (member && events->forks.fd < 0))
        record_taskstats(events, member, *record);
    else if (events->forks.fd >= 0)
        add_pending(events, record);
}

static void choose_pause(struct proc_events *events)
{
    events->quiet_reads = events->event_count ? 0 : events->quiet_reads + 1;
    events->is_storm = events->has_large_buffers && events->event_count > (unsigned)events->pause_ms * STORM_PER_S / 1000;
    if (events->is_storm)
        events->pause_ms = STORM_MS;
    else if (events->event_count || !events->has_large_buffers)
        events->pause_ms = shortest_pause_ms(events);
    else
        events->pause_ms = events->pause_ms < READ_INTERVAL_MAX_MS ? 2 * events->pause_ms : READ_INTERVAL_MAX_MS;
}

/* It called exec without our reading it. */
static void record_unprobed(void *context, struct run_member *member)
{
    struct proc_events *events = context;
    proc_events_record_alive(events, events->writer, member);
}

/* Forks first: then nearly all exit records belong to known processes. */
void proc_events_read(struct proc_events *events)
{
    events->event_count = 0;
    events->read_ns = clock_ns(CLOCK_MONOTONIC_COARSE);
    unprobed_mark_spool_end(&events->unprobed);
    read_forks(events);
    taskstats_exits_read(&events->exits, on_taskstats, events);
    record_pending(events);
    choose_pause(events);
    if (events->forks.lost != events->forks_lost) {
        events->forks_lost = events->forks.lost;
        proc_events_resync(events, true);
    }
    uint64_t now_ns = clock_realtime_ns();
    if (now_ns - events->checked_ns >= READ_INTERVAL_MS * NS_PER_MS) {
        events->checked_ns = now_ns;
        unprobed_check_spool(&events->unprobed, &events->members, now_ns, record_unprobed, events);
    }
    if (now_ns - events->counted_ns >= NS_PER_S) {
        events->counted_ns = now_ns;
        events->exec_count = 0;
    }
    if (now_ns - events->pruned_ns < REMEMBER_NS)
        return;
    events->pruned_ns = now_ns;
    members_forget(&events->members, now_ns - REMEMBER_NS);
}

struct census_entry {
    uint32_t pid, ppid, pgid, sid, threads;
};

struct census {
    struct census_entry *all;
    size_t count, capacity;
};

static void add_to_census(void *context, const struct proc_snapshot *snapshot)
{
    struct census *census = context;
    if (snapshot->is_zombie)
        return;
    if (array_reserve(census->all, census->capacity, census->count + 1, VEC_MAX))
        return;
    census->all[census->count++] = (struct census_entry){
        snapshot->pid, snapshot->ppid, snapshot->pgid, snapshot->sid, snapshot->threads,
    };
}

static int by_pid(const void *a, const void *b)
{
    uint32_t left = ((const struct census_entry *)a)->pid, right = ((const struct census_entry *)b)->pid;
    return left < right ? -1 : left > right;
}

static void end_missing(struct proc_events *events, const struct census *census)
{
    uint64_t now_ns = clock_realtime_ns();
    size_t at = 0;
    for (struct run_member *member; (member = members_next(&events->members, &at));) {
        struct census_entry key = { .pid = member->pid };
        if (member->threads && !bsearch(&key, census->all, census->count, sizeof key, by_pid))
            members_end(&events->members, member, now_ns);
    }
}

static bool is_alive(const struct proc_events *events, uint32_t pid)
{
    const struct run_member *member = members_find(&events->members, pid);
    return member && member->threads;
}

/* Includes processes that ended a moment ago. 0: in another pid namespace. */
static bool is_known(const struct proc_events *events, uint32_t pid)
{
    return pid && members_find(&events->members, pid);
}

/* An orphan has a foreign parent, but stays in its process group and session, whose ids are not reused as long as it
 * does: if one of our processes created them, it is ours. The process that monitors survivors has no children of the
 * job: its self is 0, which is also the parent of init. */
static bool is_ours(const struct proc_events *events, const struct census_entry *found)
{
    return (events->self && found->ppid == events->self) || is_alive(events, found->ppid)
           || is_known(events, found->sid) || is_known(events, found->pgid);
}

/* True if it is new and ours. */
static bool adopt(struct proc_events *events, const struct census_entry *found)
{
    if (!is_ours(events, found) || is_own_child(events, found->pid) || found->pid == events->self
        || is_alive(events, found->pid))
        return false;
    struct run_member *member = members_add(&events->members, found->pid, found->ppid);
    if (!member)
        return false;
    member->threads = found->threads ? found->threads : 1;
    member->threads_created = UINT32_MAX; /* the number of ended threads is unknown */
    return true;
}

/* A parent may come after its children in the list: repeat until nothing is found. */
static void adopt_all(struct proc_events *events, const struct census *census, bool record_new)
{
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < census->count; i++) {
            if (!adopt(events, &census->all[i]))
                continue;
            more = true;
            if (record_new)
                proc_events_record_alive(events, events->writer, members_find(&events->members, census->all[i].pid));
        }
    }
}

void proc_events_resync(struct proc_events *events, bool record_new)
{
    struct census census = { 0 };
    if (proc_snapshot_each(&events->proc, add_to_census, &census) == OK && census.count) {
        qsort(census.all, census.count, sizeof *census.all, by_pid);
        end_missing(events, &census);
        adopt_all(events, &census, record_new);
    }
    free(census.all);
}

bool proc_events_record_alive(struct proc_events *events, struct spool_writer *writer, const struct run_member *member)
{
    struct proc_snapshot snapshot;
    struct counters self;
    if (proc_snapshot_read(&events->proc, member->pid, member->uid_known ? member->uid : UINT32_MAX, &snapshot) == GONE
        || snapshot.is_zombie)
        return false;
    struct alive_record record = {
        .pid = member->pid, .ppid = snapshot.stat_known ? snapshot.ppid : member->ppid, .pgid = snapshot.pgid,
        .sid = snapshot.sid, .uid = proc_snapshot_uid(&snapshot), .start_ticks = snapshot.start_ticks,
        .time_ns = clock_realtime_ns(),
        .path = snapshot.path, .args = snapshot.args, .cwd = snapshot.cwd,
    };
    char name[64];
    size_t size = snapshot.name.size < sizeof name ? snapshot.name.size : sizeof name;
    if (size)
        memcpy(name, snapshot.name.data, size); /* proc_snapshot_counters reuses the buffer */
    record.name = (struct bytes){ name, size };
    proc_snapshot_counters(&events->proc, member->pid, member->threads_created == snapshot.threads, &self);
    record.self = self;
    spool_writer_add_alive(writer, &record);
    return true;
}

uint32_t proc_events_record_survivors(struct proc_events *events)
{
    uint32_t count = 0;
    size_t at = 0;
    for (struct run_member *member; (member = members_next(&events->members, &at));)
        if (member->threads && proc_events_record_alive(events, events->writer, member))
            count++;
    return count;
}
