/* A job by word. It may be known from the tree already, or come up there later: it is one job then. */
#include "jobs/declared.h"

#include "base/clock.h"
#include "base/file.h"
#include "jobs/cgroup_path.h"
#include "proc/pid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLD_MAX 16384 /* a prolog without an epilog must not fill the memory */

static uint32_t folders_of(const struct roll *roll, const char *path)
{
    char whole[FILE_PATH_MAX];
    uint32_t folders = 0;
    for (size_t i = 0; i < roll->hierarchies.count; i++)
        if (!hierarchies_path(&roll->hierarchies, roll->root, i, path, "", whole, sizeof whole) && access(whole, F_OK) == 0)
            folders |= 1u << i;
    return folders;
}

static bool is_text(const char *text, size_t size)
{
    char copy[ENTRIES_NAME_MAX];
    return text && path_copy(bytes_of(text), copy, size < sizeof copy ? size : sizeof copy);
}

static bool is_path(const char *path)
{
    return !*path || (*path == '/' && strlen(path) < CGROUP_PATH_MAX && !strstr(path, "/.."));
}

bool told_has_cgroup(const struct roll *roll, const char *path)
{
    return is_path(path) && folders_of(roll, path) != 0;
}

static struct entry *find(const struct roll *roll, const struct job *job)
{
    struct entry *entry = entries_find_id(&roll->entries, job->id);
    if (!entry && *job->other_id)
        entry = entries_find_id(&roll->entries, job->other_id);
    for (size_t i = 0; !entry && *job->cgroup && i < roll->entries.count; i++)
        if (!roll->entries.all[i]->has_ended && !strcmp(roll->entries.all[i]->job.cgroup, job->cgroup))
            entry = roll->entries.all[i];
    return entry;
}

/* v1 has the controllers where a folder is in both. */
static bool is_unified_only(const struct roll *roll, uint32_t folders)
{
    return roll->hierarchies.unified != HIERARCHY_NONE && folders == 1u << roll->hierarchies.unified;
}

static bool fill_place(struct roll *roll, struct entry *entry, const struct job *job)
{
    bool is_new = false;
    if (*job->cgroup && !entry->cgroup) {
        entry->cgroup = strdup(job->cgroup);
        entry->job.cgroup = entry->cgroup ? entry->cgroup : "";
        entry->folders = entry->cgroup ? folders_of(roll, entry->cgroup) : 0;
        entry->job.unified = is_unified_only(roll, entry->folders);
        entry->look_at_ns = entry->folders ? clock_monotonic_ns() : 0; /* limits and user may be read from it */
        is_new = true;
    }
    if (job->pid && !entry->job.pid) {
        entry->job.pid = job->pid;
        if (pid_start_ns(roll->root, (pid_t)job->pid, &entry->pid_start_ns))
            entry->pid_start_ns = 0;
        is_new = true;
    }
    return is_new;
}

/* Who was told, else the owner of the process that is the job. */
static bool fill_user(struct roll *roll, struct entry *entry, const struct job *job)
{
    bool is_new = roll_set_text(entry->user, sizeof entry->user, job->user), later;
    uint32_t uid = job->uid;
    if (uid == UINT32_MAX && job->pid && !*entry->user && pid_uid(roll->root, (pid_t)job->pid, &uid))
        uid = UINT32_MAX;
    if (entry->job.uid == UINT32_MAX && uid != UINT32_MAX) {
        entry->job.uid = uid;
        is_new = true;
    }
    return roll_set_user_name(roll, entry, &later) || is_new;
}

/* Fills in what was not known. True: something was not. */
static bool fill(struct roll *roll, struct entry *entry, const struct job *job)
{
    bool is_new = fill_user(roll, entry, job);
    if (!entry->job.cores_milli && job->cores_milli) {
        entry->job.cores_milli = job->cores_milli;
        is_new = true;
    }
    if (!entry->job.memory_bytes && job->memory_bytes) {
        entry->job.memory_bytes = job->memory_bytes;
        is_new = true;
    }
    is_new |= fill_place(roll, entry, job);
    return is_new;
}

static bool is_run(const struct job *job)
{
    return job->source && !strcmp(job->source, "run");
}

/* sonde run inside of a job that is known adds nothing to it, and its end is not the job's. */
static enum err known_already(struct roll *roll, struct entry *entry, const struct job *job)
{
    if (is_run(job))
        return AGAIN;
    entry->is_told = true;
    bool is_new = roll_set_id(roll, entry, job->id);
    is_new |= fill(roll, entry, job);
    if (is_new)
        roll_change(roll, entry);
    roll_begin(roll, entry);
    return AGAIN;
}

enum err told_begin(struct roll *roll, const struct job *job)
{
    if (!is_text(job->id, ID_MAX) || !*job->id || !is_text(job->other_id, ID_MAX) || !is_text(job->user, SOURCE_NAME_MAX)
        || !is_path(job->cgroup))
        return USAGE;
    struct entry *entry = find(roll, job);
    if (entry)
        return known_already(roll, entry, job);
    if (roll->entries.without_key >= TOLD_MAX)
        return FULL;
    entry = entries_add(&roll->entries, "");
    if (!entry)
        return NOMEM;
    entry->is_told = true;
    entries_rename(&roll->entries, entry, ENTRIES_ID, job->id);
    entries_rename(&roll->entries, entry, ENTRIES_OTHER_ID, job->other_id);
    entry->job.source = is_run(job) ? "run" : "told";
    entry->job.start_ns = job->start_ns ? job->start_ns : clock_realtime_ns();
    fill(roll, entry, job);
    roll_begin(roll, entry);
    return OK;
}

enum err told_end(struct roll *roll, const char *id, uint64_t end_ns)
{
    struct entry *entry = entries_find_id(&roll->entries, id);
    if (!entry)
        return ABSENT;
    roll_end(roll, entry, end_ns ? end_ns : clock_realtime_ns(), true);
    return OK;
}

enum err told_wish(struct roll *roll, const char *id, enum job_syscalls wish)
{
    struct entry *entry = entries_find_id(&roll->entries, id);
    if (!entry)
        return ABSENT;
    if (entry->job.syscalls != wish) {
        entry->job.syscalls = wish;
        roll_change(roll, entry);
    }
    return OK;
}

static bool has_process(const struct roll *roll, const struct entry *entry)
{
    uint64_t start_ns;
    if (pid_start_ns(roll->root, (pid_t)entry->job.pid, &start_ns))
        return false;
    uint64_t apart_ns = start_ns > entry->pid_start_ns ? start_ns - entry->pid_start_ns : entry->pid_start_ns - start_ns;
    return !entry->pid_start_ns || apart_ns < NS_PER_S; /* the clock of the day may be corrected a little */
}

bool told_is_alive(const struct roll *roll, struct entry *entry)
{
    if (entry->folders) {
        entry->folders = folders_of(roll, entry->job.cgroup);
        return entry->folders && roll_is_populated(roll, entry);
    }
    return !entry->job.pid || has_process(roll, entry);
}
