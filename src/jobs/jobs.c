/* The jobs of this node, from the cgroup tree and by word. jobs/cgroup_watch.h tells of folders that come and go, jobs/source.h
 * what they are, jobs/job_registry.h keeps the table and tells the listener. A watch is set before a folder is read, so that
 * nothing is missed between the two. */
#include "jobs/jobs.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "jobs/job_processes.h"
#include "jobs/job_registry.h"
#include "jobs/declared.h"
#include "jobs/cgroup_watch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ROUND_NS (1 * NS_PER_S)
#define SCAN_ONE_IN 20    /* reading the whole tree over and over takes at most 5 % of the time */
#define WATCHES_WIDE 4096 /* up to this many, steps are watched in every hierarchy and their tasks too */
#define ROUND_SIZE 64   /* jobs that are looked at in one round, so that many jobs cost no more than these */
#define MOVES_MAX 32    /* of tasks of a job in a round that are looked after; whoever moves more is seen at ticks */

struct jobs {
    struct roll roll;
    struct watches watches;
    int epoll, timer;
    bool must_scan;    /* there are no watches to be had: the whole tree is read in each round */
    bool is_scanning;  /* what is found may have been there for long */
    bool has_changed;  /* some entry is_changed */
    uint32_t sources;  /* those whose jobs are wanted */
    char node[SOURCE_NAME_MAX]; /* of several of the batch system on this machine, only the jobs of this one; "": all */
    uint64_t round_at_ns, scan_at_ns;
    uint64_t until_ns; /* what is not done by then is left for the next call */
    uint64_t timer_at_ns; /* what the timer is set to; 0: off */
    size_t round_next;
};

static void scan(struct jobs *jobs, size_t hierarchy, const char *path);

/* The listener is told once, when all events were taken. One that waits to be known is looked at then. */
static void mark_changed(struct jobs *jobs, struct entry *entry)
{
    if (!entry->has_ended)
        entry->is_changed = jobs->has_changed = true;
}

static struct entry *job_new(struct jobs *jobs, const struct job_source *source, const struct source_facts *facts,
                             const char *key, const char *path, bool unified)
{
    struct entry *entry = roll_told_or_new(&jobs->roll, key, facts);
    if (!entry || roll_place(entry, source, path, unified)) {
        log_warn("no memory for job %s: it is not watched", facts->id);
        if (entry && !roll_runs(entry))
            entries_remove(&jobs->roll.entries, entry);
        return NULL;
    }
    if (!entry->job.start_ns)
        entry->job.start_ns = clock_realtime_ns();
    entry->was_there = jobs->is_scanning;
    entry->steps_in = HIERARCHY_NONE;
    roll_name(&jobs->roll, entry, facts);
    return entry;
}

/* What goes first tells that the processes have ended: then the numbers of the rest are whole and can still be read. */
static bool is_wide(const struct jobs *jobs)
{
    return jobs->watches.count < WATCHES_WIDE && !jobs->must_scan;
}

/* With many jobs the steps are watched in one hierarchy: the others have the same. */
static void watch_steps(struct jobs *jobs, struct entry *entry, size_t hierarchy)
{
    if (is_wide(jobs) || (jobs->is_scanning && entry->steps_in == hierarchy))
        scan(jobs, hierarchy, entry->job.cgroup);
    for (size_t i = 0; i < jobs->roll.hierarchies.count && entry->steps_in == HIERARCHY_NONE; i++)
        if (entry->folders & 1u << i) {
            entry->steps_in = i;
            scan(jobs, i, entry->job.cgroup);
        }
}

/* Now or, when thousands come at once, as soon as there is time: a tick must not wait for them. */
static void look_anew(struct jobs *jobs, struct entry *entry)
{
    uint64_t now_ns = clock_monotonic_ns();
    entry->look_pause_ns = 0;
    entry->look_at_ns = now_ns;
    if (now_ns < jobs->until_ns)
        roll_look(&jobs->roll, entry, now_ns);
}

static void job_came(struct jobs *jobs, size_t hierarchy, const char *path, const struct job_source *source,
                     const struct source_facts *facts)
{
    char key[ENTRIES_NAME_MAX];
    bool unified = jobs->roll.hierarchies.list[hierarchy].unified;
    snprintf(key, sizeof key, "%s:%s:%s", source->name, facts->node, facts->id);
    struct entry *entry = entries_find_key(&jobs->roll.entries, key);
    bool is_new = !entry;
    if (is_new)
        entry = job_new(jobs, source, facts, key, path, unified);
    if (!entry)
        return;
    bool is_better = entry->job.unified && !unified; /* v1 has the controllers where there are both */
    if (is_better)
        roll_place(entry, source, path, unified);
    entry->folders |= 1u << hierarchy;
    entry->seen |= 1u << hierarchy;
    if (is_new && !roll_runs(entry))
        entry->has_ended = roll_is_left_over(&jobs->roll, entry);
    if (entry->has_ended)
        return;
    if ((is_new || is_better) && roll_runs(entry)) /* it has another folder now */
        mark_changed(jobs, entry);
    watch_steps(jobs, entry, hierarchy);
    if (is_new || is_better)
        look_anew(jobs, entry);
}

static struct entry *find_entry(const struct jobs *jobs, const struct job_source *source, const struct source_facts *facts)
{
    char key[ENTRIES_NAME_MAX];
    snprintf(key, sizeof key, "%s:%s:%s", source->name, facts->node, facts->id);
    return entries_find_key(&jobs->roll.entries, key);
}

static void job_went(struct jobs *jobs, size_t hierarchy, const struct job_source *source, const struct source_facts *facts)
{
    struct entry *entry = find_entry(jobs, source, facts);
    if (!entry)
        return;
    entry->folders &= ~(1u << hierarchy);
    if (entry->folders && entry->steps_in == hierarchy) {
        entry->steps_in = HIERARCHY_NONE;
        watch_steps(jobs, entry, HIERARCHY_NONE);
    }
    if (entry->folders) { /* its processes have ended, and what is left can be read for the last time */
        mark_changed(jobs, entry);
        return;
    }
    if (entry->is_told && !entry->has_ended)
        entry->empty_since_ns = clock_monotonic_ns(); /* steps may come yet */
    else
        roll_end(&jobs->roll, entry, clock_realtime_ns(), false);
}

/* A step or a task of it came or went. */
static void steps_changed(struct jobs *jobs, const struct job_source *source, const struct source_facts *facts)
{
    struct entry *entry = find_entry(jobs, source, facts);
    if (entry)
        mark_changed(jobs, entry);
}

/* While the whole tree is read, a sum over the steps tells whether they are the same as the last time. */
static void note_step(struct jobs *jobs, size_t hierarchy, const char *path, const struct job_source *source,
                      const struct source_facts *facts)
{
    struct entry *entry = find_entry(jobs, source, facts);
    if (entry)
        entry->steps_seen += hash_add_text(HASH_START + hierarchy, path);
}

static void tell_changes(struct jobs *jobs)
{
    struct entries *entries = &jobs->roll.entries;
    if (!jobs->has_changed)
        return;
    jobs->has_changed = false;
    for (size_t i = entries->count; i-- > 0;) {
        struct entry *entry = entries->all[i];
        if (!entry->is_changed)
            continue;
        if (clock_monotonic_ns() >= jobs->until_ns) {
            jobs->has_changed = true;
            return;
        }
        entry->is_changed = false;
        roll_change(&jobs->roll, entry);
        if (!roll_is_settled(entry))
            look_anew(jobs, entry); /* a new step has new processes, which may know more */
    }
}

/* Jobs of other nodes on this machine, and those that nobody wants, are as if they were not there. A way may be another's too. */
static enum source_place place_here(const struct jobs *jobs, const char *path, const struct job_source **source,
                                    struct source_facts *facts)
{
    enum source_place where = source_place(path, source, facts);
    bool is_other = *jobs->node && *facts->node && strcmp(jobs->node, facts->node) != 0;
    bool is_unwanted = (where == PLACE_JOB || where == PLACE_STEP) && !sources_have(jobs->sources, *source);
    return is_other || is_unwanted ? PLACE_NONE : where;
}

static void folder_came(struct jobs *jobs, size_t hierarchy, const char *path)
{
    const struct job_source *source;
    struct source_facts facts;
    switch (place_here(jobs, path, &source, &facts)) {
    case PLACE_WAY: scan(jobs, hierarchy, path); break;
    case PLACE_JOB: job_came(jobs, hierarchy, path, source, &facts); break;
    case PLACE_STEP:
        if (jobs->is_scanning)
            note_step(jobs, hierarchy, path, source, &facts);
        else
            steps_changed(jobs, source, &facts);
        if (is_wide(jobs))
            scan(jobs, hierarchy, path);
        break;
    case PLACE_NONE: break;
    }
}

static void folder_went(struct jobs *jobs, size_t hierarchy, const char *path)
{
    const struct job_source *source;
    struct source_facts facts;
    watches_remove(&jobs->watches, hierarchy, path);
    enum source_place place = source_place(path, &source, &facts);
    if (place == PLACE_JOB)
        job_went(jobs, hierarchy, source, &facts);
    else if (place == PLACE_STEP)
        steps_changed(jobs, source, &facts);
}

static void watch_folder(struct jobs *jobs, size_t hierarchy, const char *path, const char *whole)
{
    enum err err = jobs->must_scan ? OK : watches_add(&jobs->watches, whole, hierarchy, path);
    if (!err || err == ABSENT)
        return;
    jobs->must_scan = true;
    log_warn("cannot watch %s: %s. Jobs are looked for once a second; to see them at once, raise "
             "fs.inotify.max_user_watches.", whole, err_text(err));
}

/* Watches a folder and takes in what is there already. */
static void scan(struct jobs *jobs, size_t hierarchy, const char *path)
{
    char whole[FILE_PATH_MAX], below[CGROUP_PATH_MAX];
    if (hierarchies_path(&jobs->roll.hierarchies, jobs->roll.root, hierarchy, path, "", whole, sizeof whole))
        return;
    watch_folder(jobs, hierarchy, path, whole);
    DIR *dir = opendir(whole);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int size = snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (size > 0 && (size_t)size < sizeof below)
            folder_came(jobs, hierarchy, below);
    }
    closedir(dir);
}

static bool is_folder_there(void *context, size_t hierarchy, const char *path)
{
    const struct jobs *jobs = context;
    char whole[FILE_PATH_MAX];
    return !hierarchies_path(&jobs->roll.hierarchies, jobs->roll.root, hierarchy, path, "", whole, sizeof whole)
           && access(whole, F_OK) == 0;
}

/* Reads the whole tree; jobs whose folder is not found have ended. */
static void scan_all(struct jobs *jobs)
{
    struct entries *entries = &jobs->roll.entries;
    for (size_t i = 0; i < entries->count; i++)
        entries->all[i]->seen = 0, entries->all[i]->steps_seen = 0;
    jobs->is_scanning = true;
    for (size_t i = 0; i < jobs->roll.hierarchies.count; i++)
        scan(jobs, i, "");
    jobs->is_scanning = false;
    for (size_t i = entries->count; i-- > 0;) { /* backwards: the last takes the place of one that is removed */
        struct entry *entry = entries->all[i];
        bool is_gone = *entry->key && entry->folders && !entry->seen;
        if (entry->steps_seen != entry->steps)
            mark_changed(jobs, entry);
        entry->steps = entry->steps_seen;
        entry->folders = *entry->key ? entry->seen : entry->folders;
        if (is_gone && entry->is_told && !entry->has_ended)
            entry->empty_since_ns = clock_monotonic_ns();
        else if (is_gone)
            roll_end(&jobs->roll, entry, clock_realtime_ns(), false);
    }
}

/* Tasks were put into a job, or its last one ended: the only moment to see who is in one that is over before the next tick, and
 * to read the numbers of one whose folder goes with its last task. */
static void tasks_moved(struct jobs *jobs, const char *path)
{
    const struct job_source *source;
    struct source_facts facts;
    enum source_place where = place_here(jobs, path, &source, &facts);
    struct entry *entry = where == PLACE_JOB || where == PLACE_STEP ? find_entry(jobs, source, &facts) : NULL;
    if (entry && entry->moves++ < MOVES_MAX)
        mark_changed(jobs, entry);
}

/* A task of a step: only steps have such folders that are watched. */
static void task_went(struct jobs *jobs, const char *step_path)
{
    const struct job_source *source;
    struct source_facts facts;
    if (source_place(step_path, &source, &facts) == PLACE_STEP)
        steps_changed(jobs, source, &facts);
}

static void take_event(void *context, const struct watches_event *event)
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
    if (event->came)
        folder_came(jobs, event->hierarchy, path);
    else
        folder_went(jobs, event->hierarchy, path);
    if (!event->came)
        task_went(jobs, event->path);
}

/* Those that nobody tells of. Told ones are few and looked at in each round. */
static void round_of_looks(struct jobs *jobs, uint64_t now_ns)
{
    struct entries *entries = &jobs->roll.entries;
    bool is_blind = !jobs->roll.hierarchies.count; /* they may be mounted yet, or there was no descriptor to look */
    if (is_blind)
        hierarchies_read(&jobs->roll.hierarchies, jobs->roll.root);
    if ((jobs->must_scan && now_ns >= jobs->scan_at_ns) || (is_blind && jobs->roll.hierarchies.count)) {
        scan_all(jobs);
        jobs->scan_at_ns = now_ns + (clock_monotonic_ns() - now_ns) * SCAN_ONE_IN;
    }
    for (size_t i = entries->count; i-- > 0;) {
        entries->all[i]->moves = 0;
        if (entries->all[i]->is_told)
            alive_look(&jobs->roll, entries->all[i], now_ns);
    }
    for (size_t n = 0; n < ROUND_SIZE && entries->count; n++) {
        jobs->round_next = jobs->round_next ? jobs->round_next - 1 : entries->count - 1;
        if (jobs->round_next < entries->count && !entries->all[jobs->round_next]->is_told)
            alive_look(&jobs->roll, entries->all[jobs->round_next], now_ns);
        if (!jobs->round_next)
            break;
    }
}

static void set_timer(struct jobs *jobs, uint64_t at_ns)
{
    if (!at_ns && !jobs->timer_at_ns) /* off already, as almost always */
        return;
    jobs->timer_at_ns = at_ns;
    struct itimerspec spec = {
        .it_value = { .tv_sec = (time_t)(at_ns / NS_PER_S), .tv_nsec = (long)(at_ns % NS_PER_S) },
    };
    if (jobs->timer >= 0)
        timerfd_settime(jobs->timer, TFD_TIMER_ABSTIME, &spec, NULL); /* 0: off; also takes back that it has run out */
}

/* A timer that has run out keeps the descriptor readable. */
static void wake_in_time(struct jobs *jobs)
{
    uint64_t now_ns = clock_monotonic_ns(), next_ns = roll_look_at_young(&jobs->roll, now_ns, jobs->until_ns);
    set_timer(jobs, jobs->has_changed ? now_ns : next_ns);
}

void jobs_read(struct jobs *jobs)
{
    jobs_read_some(jobs, UINT64_MAX / 2);
}

void jobs_read_some(struct jobs *jobs, uint64_t budget_ns)
{
    jobs->until_ns = clock_monotonic_ns() + budget_ns;
    if (watches_read(&jobs->watches, jobs->until_ns, take_event, jobs) == AGAIN) {
        watches_sweep(&jobs->watches, is_folder_there, jobs);
        scan_all(jobs);
    }
    tell_changes(jobs);
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns >= jobs->round_at_ns) {
        jobs->round_at_ns = now_ns + ROUND_NS;
        round_of_looks(jobs, now_ns);
    }
    wake_in_time(jobs);
}

static void wait_on(const struct jobs *jobs, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    if (jobs->epoll >= 0 && fd >= 0)
        epoll_ctl(jobs->epoll, EPOLL_CTL_ADD, fd, &event);
}

enum err jobs_open(struct jobs **jobs_out, const char *root, uint32_t sources, const struct jobs_listener *listener)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    *jobs_out = jobs;
    if (!jobs)
        return NOMEM;
    jobs->roll.root = strdup(root ? root : "");
    if (!jobs->roll.root) {
        free(jobs);
        *jobs_out = NULL;
        return NOMEM;
    }
    jobs->roll.listener = *listener;
    jobs->sources = sources;
    const char *node = getenv("SONDE_NODE");
    snprintf(jobs->node, sizeof jobs->node, "%s", node ? node : "");
    users_init(&jobs->roll.users, jobs->roll.root);
    hierarchies_read(&jobs->roll.hierarchies, root);
    jobs->epoll = epoll_create1(EPOLL_CLOEXEC);
    jobs->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    jobs->must_scan = watches_open(&jobs->watches) != OK;
    wait_on(jobs, jobs->timer);
    wait_on(jobs, jobs->watches.fd);
    jobs->until_ns = UINT64_MAX;
    scan_all(jobs);
    tell_changes(jobs);
    wake_in_time(jobs);
    return OK;
}

void jobs_close(struct jobs **jobs)
{
    if (!*jobs)
        return;
    entries_clear(&(*jobs)->roll.entries);
    users_clear(&(*jobs)->roll.users);
    hierarchies_clear(&(*jobs)->roll.hierarchies);
    watches_close(&(*jobs)->watches);
    if ((*jobs)->epoll >= 0)
        close((*jobs)->epoll);
    if ((*jobs)->timer >= 0)
        close((*jobs)->timer);
    free((*jobs)->roll.root);
    free(*jobs);
    *jobs = NULL;
}

int jobs_fd(const struct jobs *jobs)
{
    return jobs->epoll;
}

bool jobs_has_cgroup(const struct jobs *jobs, const char *path) { return told_has_cgroup(&jobs->roll, path); }

enum err jobs_begin(struct jobs *jobs, const struct job *job)
{
    enum err err = told_begin(&jobs->roll, job);
    jobs->until_ns = UINT64_MAX;
    wake_in_time(jobs);
    return err;
}

enum err jobs_end(struct jobs *jobs, const char *id, uint64_t end_ns)
{
    return told_end(&jobs->roll, id, end_ns);
}

enum err jobs_ask_syscalls(struct jobs *jobs, const char *id, enum job_syscalls wish)
{
    return told_wish(&jobs->roll, id, wish);
}

const struct job *jobs_find(const struct jobs *jobs, const char *id)
{
    const struct entry *entry = entries_find_id(&jobs->roll.entries, id);
    return entry && roll_runs(entry) ? &entry->job : NULL;
}

const struct job *jobs_next(const struct jobs *jobs, size_t *at)
{
    const struct entry *entry = entries_next(&jobs->roll.entries, at);
    return entry ? &entry->job : NULL;
}

size_t jobs_count(const struct jobs *jobs)
{
    return jobs->roll.entries.running;
}
