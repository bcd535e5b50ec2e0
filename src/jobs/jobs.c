/* The jobs of this node, from the cgroup tree and by declaration. cgroup_watch.h reports cgroups that appear and
 * disappear, job_source.h says what they are, job_registry.h keeps the table and notifies the listener. A watch is
 * added before a directory is read, so that nothing is missed in between. */
#include "jobs/jobs.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "jobs/cgroup_watch.h"
#include "jobs/declared.h"
#include "jobs/job_registry.h"
#include "jobs/slurm_node.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ROUND_NS (1 * NS_PER_S)
#define SCAN_ONE_IN 20    /* scanning the whole tree takes at most 5 % of the time */
#define WATCH_ALL_MAX 4096 /* up to this many watches, steps are watched in every hierarchy, and their tasks too */
#define CHECKS_PER_ROUND 64   /* bounds the cost of a round with many jobs */
#define TASK_MOVES_MAX 32    /* task moves of a job that are handled per round; more are seen at the next tick */

struct jobs {
    struct job_registry registry;
    struct cgroup_watch watch;
    int epoll, timer;
    bool must_scan;    /* watches are not available: the whole tree is scanned in each round */
    bool is_scanning;  /* a scan is running: what it finds may have existed for long */
    bool has_changed;  /* some entry has is_changed */
    uint32_t sources;  /* the batch systems to monitor */
    char node[JOB_SOURCE_NAME_MAX]; /* monitor only the jobs of this node of the batch system; "": all */
    uint64_t round_at_ns, scan_at_ns;
    uint64_t until_ns; /* the rest is postponed to the next call */
    uint64_t timer_at_ns; /* current setting of the timer; 0: off */
    size_t round_next;
};

static void scan(struct jobs *jobs, size_t hierarchy, const char *path);

/* The listener is notified once, after all events. A job that is not complete is inspected then. */
static void mark_changed(struct jobs *jobs, struct job_entry *entry)
{
    if (!entry->has_ended)
        entry->is_changed = jobs->has_changed = true;
}

static struct job_entry *job_new(struct jobs *jobs, const struct job_source *source,
                                 const struct job_source_facts *facts,
                                 const char *key, const char *path, bool unified)
{
    struct job_entry *entry = job_registry_find_or_add(&jobs->registry, key, facts);
    if (!entry || job_registry_set_cgroup(entry, source, path, unified)) {
        log_warn("no memory for job %s: it is not monitored", facts->id);
        if (entry && !job_registry_is_running(entry))
            job_table_remove(&jobs->registry.table, entry);
        return NULL;
    }
    if (!entry->job.start_ns)
        entry->job.start_ns = clock_realtime_ns();
    entry->existed_before = jobs->is_scanning;
    entry->steps_hierarchy = HIERARCHY_NONE;
    job_registry_set_names(&jobs->registry, entry, facts);
    return entry;
}

/* While there are few watches, all hierarchies are watched: the first cgroup that is removed shows that the processes
 * have exited, and the final values of the others can still be read. */
static bool is_wide(const struct jobs *jobs)
{
    return jobs->watch.count < WATCH_ALL_MAX && !jobs->must_scan;
}

/* With many jobs, steps are watched in one hierarchy only: the others have the same. */
static void watch_steps(struct jobs *jobs, struct job_entry *entry, size_t hierarchy)
{
    if (is_wide(jobs) || (jobs->is_scanning && entry->steps_hierarchy == hierarchy))
        scan(jobs, hierarchy, entry->job.cgroup);
    for (size_t i = 0; i < jobs->registry.hierarchies.count && entry->steps_hierarchy == HIERARCHY_NONE; i++)
        if (entry->hierarchy_bits & 1u << i) {
            entry->steps_hierarchy = i;
            scan(jobs, i, entry->job.cgroup);
        }
}

/* Inspects it now or, if thousands come at once, when there is time: a tick must not wait for them. */
static void inspect_again(struct jobs *jobs, struct job_entry *entry)
{
    uint64_t now_ns = clock_monotonic_ns();
    entry->inspect_pause_ns = 0;
    entry->inspect_at_ns = now_ns;
    if (now_ns < jobs->until_ns)
        job_registry_inspect(&jobs->registry, entry, now_ns);
}

static void job_appeared(struct jobs *jobs, size_t hierarchy, const char *path, const struct job_source *source,
                         const struct job_source_facts *facts)
{
    char key[JOB_TABLE_NAME_MAX];
    bool unified = jobs->registry.hierarchies.list[hierarchy].unified;
    snprintf(key, sizeof key, "%s:%s:%s", source->name, facts->node, facts->id);
    struct job_entry *entry = job_table_find_key(&jobs->registry.table, key);
    bool is_new = !entry;
    if (is_new)
        entry = job_new(jobs, source, facts, key, path, unified);
    if (!entry)
        return;
    bool is_better = entry->job.unified && !unified; /* if there are both, v1 has the controllers */
    bool is_first = !entry->hierarchy_bits;          /* of a new job, or of the next step of a declared one */
    if (is_better)
        job_registry_set_cgroup(entry, source, path, unified);
    entry->hierarchy_bits |= 1u << hierarchy;
    entry->seen_bits |= 1u << hierarchy;
    if (entry->has_ended)
        return;
    if ((is_first || is_better) && job_registry_is_running(entry)) /* it has another cgroup now */
        mark_changed(jobs, entry);
    watch_steps(jobs, entry, hierarchy);
    if (is_first || is_better)
        inspect_again(jobs, entry);
}

static struct job_entry *find_entry(const struct jobs *jobs, const struct job_source *source,
                                    const struct job_source_facts *facts)
{
    char key[JOB_TABLE_NAME_MAX];
    snprintf(key, sizeof key, "%s:%s:%s", source->name, facts->node, facts->id);
    return job_table_find_key(&jobs->registry.table, key);
}

static void job_disappeared(struct jobs *jobs, size_t hierarchy, const struct job_source *source,
                            const struct job_source_facts *facts)
{
    struct job_entry *entry = find_entry(jobs, source, facts);
    if (!entry)
        return;
    entry->hierarchy_bits &= ~(1u << hierarchy);
    if (entry->steps_hierarchy == hierarchy) {
        entry->steps_hierarchy = HIERARCHY_NONE;
        watch_steps(jobs, entry, HIERARCHY_NONE);
    }
    if (entry->hierarchy_bits || (entry->is_declared && !entry->has_ended)) {
        mark_changed(jobs, entry); /* its processes have exited: the rest is read for the last time, or further steps come */
        return;
    }
    job_registry_end(&jobs->registry, entry, clock_realtime_ns());
}

/* A step or a task of it appeared or disappeared. */
static void steps_changed(struct jobs *jobs, const struct job_source *source, const struct job_source_facts *facts)
{
    struct job_entry *entry = find_entry(jobs, source, facts);
    if (entry)
        mark_changed(jobs, entry);
}

/* During a scan, a hash sum over the steps shows whether they have changed since the last one. */
static void note_step(struct jobs *jobs, size_t hierarchy, const char *path, const struct job_source *source,
                      const struct job_source_facts *facts)
{
    struct job_entry *entry = find_entry(jobs, source, facts);
    if (entry)
        entry->steps_seen += hash_add_text(HASH_START + hierarchy, path);
}

static void notify_changes(struct jobs *jobs)
{
    struct job_table *table = &jobs->registry.table;
    if (!jobs->has_changed)
        return;
    jobs->has_changed = false;
    for (size_t i = table->count; i-- > 0;) {
        struct job_entry *entry = table->all[i];
        if (!entry->is_changed)
            continue;
        if (clock_monotonic_ns() >= jobs->until_ns) {
            jobs->has_changed = true;
            return;
        }
        entry->is_changed = false;
        job_registry_change(&jobs->registry, entry);
        if (!job_registry_is_complete(entry))
            inspect_again(jobs, entry); /* a new step has new processes, which may have more facts */
    }
}

/* Ignores jobs of other nodes on this machine and of batch systems that are not monitored. A parent cgroup may be
 * shared. */
static enum cgroup_kind classify(const struct jobs *jobs, const char *path, const struct job_source **source,
                                 struct job_source_facts *facts)
{
    enum cgroup_kind where = job_source_classify(path, source, facts);
    bool is_other = *jobs->node && *facts->node && strcmp(jobs->node, facts->node) != 0;
    bool is_unwanted = (where == CGROUP_JOB || where == CGROUP_STEP) && !job_sources_have(jobs->sources, *source);
    return is_other || is_unwanted ? CGROUP_UNRELATED : where;
}

static void cgroup_appeared(struct jobs *jobs, size_t hierarchy, const char *path)
{
    const struct job_source *source;
    struct job_source_facts facts;
    switch (classify(jobs, path, &source, &facts)) {
    case CGROUP_PARENT: scan(jobs, hierarchy, path); break;
    case CGROUP_JOB: job_appeared(jobs, hierarchy, path, source, &facts); break;
    case CGROUP_STEP:
        if (jobs->is_scanning)
            note_step(jobs, hierarchy, path, source, &facts);
        else
            steps_changed(jobs, source, &facts);
        if (is_wide(jobs))
            scan(jobs, hierarchy, path);
        break;
    case CGROUP_UNRELATED: break;
    }
}

static void cgroup_disappeared(struct jobs *jobs, size_t hierarchy, const char *path)
{
    const struct job_source *source;
    struct job_source_facts facts;
    cgroup_watch_remove(&jobs->watch, hierarchy, path);
    enum cgroup_kind place = job_source_classify(path, &source, &facts);
    if (place == CGROUP_JOB)
        job_disappeared(jobs, hierarchy, source, &facts);
    else if (place == CGROUP_STEP)
        steps_changed(jobs, source, &facts);
}

static void watch_cgroup(struct jobs *jobs, size_t hierarchy, const char *path, const char *full_path)
{
    enum err err = jobs->must_scan ? OK : cgroup_watch_add(&jobs->watch, full_path, hierarchy, path);
    if (!err || err == ABSENT)
        return;
    jobs->must_scan = true;
    log_warn("cannot watch %s: %s. Jobs are searched for once a second instead; raise fs.inotify.max_user_watches to detect "
             "them at once.", full_path, err_text(err));
}

/* Watches a directory and handles what is already in it. */
static void scan(struct jobs *jobs, size_t hierarchy, const char *path)
{
    char full_path[FILE_PATH_MAX], below[CGROUP_PATH_MAX];
    if (hierarchies_path(&jobs->registry.hierarchies, jobs->registry.root, hierarchy, path, "", full_path,
                         sizeof full_path))
        return;
    watch_cgroup(jobs, hierarchy, path, full_path);
    DIR *dir = opendir(full_path);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int size = snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (size > 0 && (size_t)size < sizeof below)
            cgroup_appeared(jobs, hierarchy, below);
    }
    closedir(dir);
}

static bool cgroup_exists(void *context, size_t hierarchy, const char *path)
{
    const struct jobs *jobs = context;
    char full_path[FILE_PATH_MAX];
    return !hierarchies_path(&jobs->registry.hierarchies, jobs->registry.root, hierarchy, path, "", full_path,
                             sizeof full_path)
           && access(full_path, F_OK) == 0;
}

/* Scans the whole tree; jobs whose cgroup is not found have ended. */
static void scan_all(struct jobs *jobs)
{
    struct job_table *table = &jobs->registry.table;
    for (size_t i = 0; i < table->count; i++)
        table->all[i]->seen_bits = 0, table->all[i]->steps_seen = 0;
    jobs->is_scanning = true;
    for (size_t i = 0; i < jobs->registry.hierarchies.count; i++)
        scan(jobs, i, "");
    jobs->is_scanning = false;
    for (size_t i = table->count; i-- > 0;) { /* backwards: the last entry replaces a removed one */
        struct job_entry *entry = table->all[i];
        bool is_gone = *entry->key && entry->hierarchy_bits && !entry->seen_bits;
        if (entry->steps_seen != entry->steps)
            mark_changed(jobs, entry);
        entry->steps = entry->steps_seen;
        entry->hierarchy_bits = *entry->key ? entry->seen_bits : entry->hierarchy_bits;
        if (is_gone && (entry->has_ended || !entry->is_declared))
            job_registry_end(&jobs->registry, entry, clock_realtime_ns());
    }
}

/* Tasks were moved into a job, or its last one exited: the only moment to see the tasks of a job that ends before the
 * next tick, and to read the values of a cgroup that is removed with its last task. */
static void tasks_moved(struct jobs *jobs, const char *path)
{
    const struct job_source *source;
    struct job_source_facts facts;
    enum cgroup_kind where = classify(jobs, path, &source, &facts);
    struct job_entry *entry = where == CGROUP_JOB || where == CGROUP_STEP ? find_entry(jobs, source, &facts) : NULL;
    if (entry && entry->task_moves++ < TASK_MOVES_MAX)
        mark_changed(jobs, entry);
}

/* A cgroup below a step was removed, which is that of a task. */
static void task_disappeared(struct jobs *jobs, const char *step_path)
{
    const struct job_source *source;
    struct job_source_facts facts;
    if (job_source_classify(step_path, &source, &facts) == CGROUP_STEP)
        steps_changed(jobs, source, &facts);
}

static void take_event(void *context, const struct cgroup_watch_event *event)
{
    struct jobs *jobs = context;
    char path[CGROUP_PATH_MAX];
    if (!*event->name) {
        tasks_moved(jobs, event->path);
        return;
    }
    int size = snprintf(path, sizeof path, "%s/%s", event->path, event->name);
    if (size < 0 || (size_t)size >= sizeof path)
        return;
    if (event->appeared)
        cgroup_appeared(jobs, event->hierarchy, path);
    else
        cgroup_disappeared(jobs, event->hierarchy, path);
    if (!event->appeared)
        task_disappeared(jobs, event->path);
}

/* A job with a cgroup ends when the cgroup is removed, or when its end is reported, even if it has no processes meanwhile. */
static void check(struct jobs *jobs, struct job_entry *entry)
{
    bool is_pending;
    if (entry->has_ended)
        return;
    if (!*entry->key && !declared_is_alive(&jobs->registry, entry))
        job_registry_end(&jobs->registry, entry, clock_realtime_ns());
    else if (job_registry_set_user_name(&jobs->registry, entry, &is_pending)) /* a directory service answered late */
        job_registry_change(&jobs->registry, entry);
}

/* Checks jobs whose end is not reported. Declared jobs are few and checked in each round. */
static void run_checks(struct jobs *jobs, uint64_t now_ns)
{
    struct job_table *table = &jobs->registry.table;
    bool has_no_hierarchies = !jobs->registry.hierarchies.count; /* they may be mounted later, or there was no
                                                                  * descriptor */
    if (has_no_hierarchies)
        hierarchies_read(&jobs->registry.hierarchies, jobs->registry.root);
    if ((jobs->must_scan && now_ns >= jobs->scan_at_ns) || (has_no_hierarchies && jobs->registry.hierarchies.count)) {
        scan_all(jobs);
        jobs->scan_at_ns = now_ns + (clock_monotonic_ns() - now_ns) * SCAN_ONE_IN;
    }
    for (size_t i = table->count; i-- > 0;) {
        table->all[i]->task_moves = 0;
        if (table->all[i]->is_declared)
            check(jobs, table->all[i]);
    }
    for (size_t n = 0; n < CHECKS_PER_ROUND && table->count; n++) {
        jobs->round_next = jobs->round_next ? jobs->round_next - 1 : table->count - 1;
        if (jobs->round_next < table->count && !table->all[jobs->round_next]->is_declared)
            check(jobs, table->all[jobs->round_next]);
        if (!jobs->round_next)
            break;
    }
}

static void set_timer(struct jobs *jobs, uint64_t at_ns)
{
    if (!at_ns && !jobs->timer_at_ns) /* already off, as almost always */
        return;
    jobs->timer_at_ns = at_ns;
    struct itimerspec spec = {
        .it_value = { .tv_sec = (time_t)(at_ns / NS_PER_S), .tv_nsec = (long)(at_ns % NS_PER_S) },
    };
    if (jobs->timer >= 0)
        timerfd_settime(jobs->timer, TFD_TIMER_ABSTIME, &spec, NULL); /* 0: off; also clears an expiration */
}

/* An expired timer keeps the descriptor readable. */
static void set_wakeup(struct jobs *jobs)
{
    uint64_t now_ns = clock_monotonic_ns(), next_ns = job_registry_inspect_new(&jobs->registry, now_ns, jobs->until_ns);
    set_timer(jobs, jobs->has_changed ? now_ns : next_ns);
}

void jobs_read(struct jobs *jobs)
{
    jobs_read_some(jobs, UINT64_MAX / 2);
}

void jobs_read_some(struct jobs *jobs, uint64_t budget_ns)
{
    jobs->until_ns = clock_monotonic_ns() + budget_ns;
    if (cgroup_watch_read(&jobs->watch, jobs->until_ns, take_event, jobs) == AGAIN) {
        cgroup_watch_sweep(&jobs->watch, cgroup_exists, jobs);
        scan_all(jobs);
    }
    notify_changes(jobs);
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns >= jobs->round_at_ns) {
        jobs->round_at_ns = now_ns + ROUND_NS;
        run_checks(jobs, now_ns);
    }
    set_wakeup(jobs);
}

static void wait_on(const struct jobs *jobs, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    if (jobs->epoll >= 0 && fd >= 0)
        epoll_ctl(jobs->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Without its jobs, if it cannot be determined: others would count them, too. */
static void find_node(struct jobs *jobs)
{
    struct slurm_nodes nodes;
    struct buf names;
    if (!job_sources_have(jobs->sources, &job_source_slurm) || !slurm_node_find(jobs->registry.root, jobs->node, &nodes))
        return;
    for (size_t i = 0; job_sources[i]; i++)
        if (job_sources[i] == &job_source_slurm)
            jobs->sources &= ~(1u << i);
    buf_init(&names, sizeof nodes.names * 2);
    for (size_t i = 0; i < nodes.count; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", nodes.names[i]);
    log_error("jobs of Slurm are not monitored, because several slurmd run on this machine: %s. Set SONDE_NODE in the "
              "environment of the agent to the one that it is for, or to nothing for the jobs of all of them.",
              buf_text(&names));
    buf_clear(&names);
}

enum err jobs_open(struct jobs **jobs_out, const char *root, uint32_t sources, const struct jobs_listener *listener)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    *jobs_out = jobs;
    if (!jobs)
        return NOMEM;
    jobs->registry.root = strdup(root ? root : "");
    if (!jobs->registry.root) {
        free(jobs);
        *jobs_out = NULL;
        return NOMEM;
    }
    jobs->registry.listener = *listener;
    jobs->sources = sources;
    find_node(jobs);
    users_init(&jobs->registry.users, jobs->registry.root);
    hierarchies_read(&jobs->registry.hierarchies, root);
    jobs->epoll = epoll_create1(EPOLL_CLOEXEC);
    jobs->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    jobs->must_scan = cgroup_watch_open(&jobs->watch) != OK;
    wait_on(jobs, jobs->timer);
    wait_on(jobs, jobs->watch.fd);
    jobs->until_ns = UINT64_MAX;
    scan_all(jobs);
    notify_changes(jobs);
    set_wakeup(jobs);
    return OK;
}

void jobs_close(struct jobs **jobs)
{
    if (!*jobs)
        return;
    job_table_clear(&(*jobs)->registry.table);
    users_clear(&(*jobs)->registry.users);
    hierarchies_clear(&(*jobs)->registry.hierarchies);
    cgroup_watch_close(&(*jobs)->watch);
    if ((*jobs)->epoll >= 0)
        close((*jobs)->epoll);
    if ((*jobs)->timer >= 0)
        close((*jobs)->timer);
    free((*jobs)->registry.root);
    free(*jobs);
    *jobs = NULL;
}

int jobs_fd(const struct jobs *jobs)
{
    return jobs->epoll;
}

enum err jobs_restore(struct jobs *jobs, const struct job *job, const struct jobs_saved *saved)
{
    return declared_restore(&jobs->registry, job, saved);
}

const struct job *jobs_next_saved(const struct jobs *jobs, size_t *at, bool *is_declared)
{
    const struct job_table *table = &jobs->registry.table;
    while (*at < table->count && !job_registry_is_running(table->all[*at]) && !table->all[*at]->has_ended)
        ++*at; /* its id is not known yet */
    if (*at == table->count)
        return NULL;
    *is_declared = table->all[*at]->is_declared;
    return &table->all[(*at)++]->job;
}

enum err jobs_begin(struct jobs *jobs, const struct job *job)
{
    enum err err = declared_begin(&jobs->registry, job);
    jobs->until_ns = UINT64_MAX;
    set_wakeup(jobs);
    return err;
}

enum err jobs_end(struct jobs *jobs, const char *id, uint64_t end_ns)
{
    return declared_end(&jobs->registry, id, end_ns);
}

enum err jobs_request_syscalls(struct jobs *jobs, const char *id, enum job_syscalls mode)
{
    return declared_request_syscalls(&jobs->registry, id, mode);
}

const struct job *jobs_find(const struct jobs *jobs, const char *id)
{
    const struct job_entry *entry = job_table_find_id(&jobs->registry.table, id);
    return entry && job_registry_is_running(entry) ? &entry->job : NULL;
}

const struct job *jobs_next(const struct jobs *jobs, size_t *at)
{
    const struct job_entry *entry = job_table_next(&jobs->registry.table, at);
    return entry ? &entry->job : NULL;
}

size_t jobs_count(const struct jobs *jobs)
{
    return jobs->registry.table.running;
}
