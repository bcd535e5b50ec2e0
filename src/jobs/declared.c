/* A declared job may already be known from the cgroup tree, or appear there later: then the two are one job. */
#include "jobs/declared.h"

#include "base/clock.h"
#include "base/file.h"
#include "jobs/cgroup_path.h"
#include "proc/pid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DECLARED_MAX 16384 /* a prolog without an epilog must not exhaust memory */

static uint32_t find_hierarchy_bits(const struct job_registry *registry, const char *path)
{
    char full_path[FILE_PATH_MAX];
    uint32_t hierarchy_bits = 0;
    for (size_t i = 0; i < registry->hierarchies.count; i++)
        if (!hierarchies_path(&registry->hierarchies, registry->root, i, path, "", full_path, sizeof full_path)
            && access(full_path, F_OK) == 0)
            hierarchy_bits |= 1u << i;
    return hierarchy_bits;
}

static bool is_valid_string(const char *text, size_t size)
{
    char copy[JOB_TABLE_NAME_MAX];
    return text && cgroup_path_copy(bytes_of(text), copy, size < sizeof copy ? size : sizeof copy);
}

static bool is_path(const char *path)
{
    return !*path || (*path == '/' && strlen(path) < CGROUP_PATH_MAX && !strstr(path, "/.."));
}

static struct job_entry *find(const struct job_registry *registry, const struct job *job)
{
    struct job_entry *entry = job_table_find_id(&registry->table, job->id);
    if (!entry && *job->other_id)
        entry = job_table_find_id(&registry->table, job->other_id);
    for (size_t i = 0; !entry && *job->cgroup && i < registry->table.count; i++)
        if (!registry->table.all[i]->has_ended && !strcmp(registry->table.all[i]->job.cgroup, job->cgroup))
            entry = registry->table.all[i];
    return entry;
}

/* If a cgroup is in both, v1 has the controllers. */
static bool is_unified_only(const struct job_registry *registry, uint32_t hierarchy_bits)
{
    return registry->hierarchies.unified != HIERARCHY_NONE && hierarchy_bits == 1u << registry->hierarchies.unified;
}

static bool fill_cgroup(struct job_registry *registry, struct job_entry *entry, const struct job *job)
{
    bool is_new = false;
    if (*job->cgroup && !entry->cgroup) {
        entry->cgroup = strdup(job->cgroup);
        entry->job.cgroup = entry->cgroup ? entry->cgroup : "";
        entry->hierarchy_bits = entry->cgroup ? find_hierarchy_bits(registry, entry->cgroup) : 0;
        entry->job.unified = is_unified_only(registry, entry->hierarchy_bits);
        entry->inspect_at_ns = entry->hierarchy_bits ? clock_monotonic_ns() : 0; /* its limits and user can be read */
        is_new = true;
    }
    if (job->pid && !entry->job.pid) {
        entry->job.pid = job->pid;
        if (pid_start_ns(registry->root, (pid_t)job->pid, &entry->pid_start_ns))
            entry->pid_start_ns = 0;
        is_new = true;
    }
    return is_new;
}

/* The declared user, else the owner of the job's process. */
static bool fill_user(struct job_registry *registry, struct job_entry *entry, const struct job *job)
{
    bool is_new = job_registry_fill_string(entry->user, sizeof entry->user, job->user), is_pending;
    uint32_t uid = job->uid;
    if (uid == UINT32_MAX && job->pid && !*entry->user && pid_uid(registry->root, (pid_t)job->pid, &uid))
        uid = UINT32_MAX;
    if (entry->job.uid == UINT32_MAX && uid != UINT32_MAX) {
        entry->job.uid = uid;
        is_new = true;
    }
    return job_registry_set_user_name(registry, entry, &is_pending) || is_new;
}

/* Fills in unknown facts. True: there were some. */
static bool fill(struct job_registry *registry, struct job_entry *entry, const struct job *job)
{
    bool is_new = fill_user(registry, entry, job);
    if (!entry->job.cores_milli && job->cores_milli) {
        entry->job.cores_milli = job->cores_milli;
        is_new = true;
    }
    if (!entry->job.memory_bytes && job->memory_bytes) {
        entry->job.memory_bytes = job->memory_bytes;
        is_new = true;
    }
    is_new |= fill_cgroup(registry, entry, job);
    return is_new;
}

static bool is_run(const struct job *job)
{
    return job->source && !strcmp(job->source, "run");
}

/* `sonde run` inside a known job adds nothing to it, and its end is not the job's end. */
static enum err declare_again(struct job_registry *registry, struct job_entry *entry, const struct job *job)
{
    if (is_run(job))
        return AGAIN;
    entry->is_declared = true;
    bool is_new = job_registry_set_id(registry, entry, job->id);
    is_new |= fill(registry, entry, job);
    if (is_new)
        job_registry_change(registry, entry);
    job_registry_begin(registry, entry);
    return AGAIN;
}

/* A saved job keeps the source that it was discovered by. */
static const char *source_name(const char *name)
{
    for (const struct job_source *const *source = job_sources; *source; source++)
        if (!strcmp((*source)->name, name))
            return (*source)->name;
    return strcmp(name, "run") ? "told" : "run";
}

enum err declared_begin(struct job_registry *registry, const struct job *job)
{
    if (!is_valid_string(job->id, JOB_ID_MAX) || !*job->id || !is_valid_string(job->other_id, JOB_ID_MAX)
        || !is_valid_string(job->user, JOB_SOURCE_NAME_MAX)
        || !is_path(job->cgroup))
        return USAGE;
    struct job_entry *entry = find(registry, job);
    if (entry)
        return declare_again(registry, entry, job);
    if (registry->table.without_key >= DECLARED_MAX)
        return FULL;
    entry = job_table_add(&registry->table, "");
    if (!entry)
        return NOMEM;
    entry->is_declared = true;
    job_table_rename(&registry->table, entry, JOB_TABLE_ID, job->id);
    job_table_rename(&registry->table, entry, JOB_TABLE_OTHER_ID, job->other_id);
    entry->job.source = source_name(job->source);
    entry->job.start_ns = job->start_ns ? job->start_ns : clock_realtime_ns();
    fill(registry, entry, job);
    job_registry_begin(registry, entry);
    return OK;
}

/* Is the cgroup or process gone that was its life? A registered job of a batch system waits for the cgroup of its next step. */
static bool has_ended(const struct job_registry *registry, const struct job *job, const struct jobs_saved *saved)
{
    bool is_discovered = strcmp(job->source, "told") && strcmp(job->source, "run");
    return saved->is_gone || !saved->is_declared
           || (!is_discovered && *job->cgroup && !find_hierarchy_bits(registry, job->cgroup));
}

enum err declared_restore(struct job_registry *registry, const struct job *job, const struct jobs_saved *saved)
{
    struct job_entry *entry = find(registry, job);
    bool is_new = !entry;
    if (is_new ? job->end_ns != 0 : saved->is_gone) /* its cgroup was removed; or another job has its id now */
        return OK;
    enum err err = is_new ? declared_begin(registry, job) : OK;
    entry = is_new ? find(registry, job) : entry;
    if (err || !entry)
        return err;
    entry->is_declared = saved->is_declared;
    if (job->end_ns || (is_new && has_ended(registry, job, saved))) {
        job_registry_end(registry, entry, job->end_ns ? job->end_ns : saved->seen_ns);
        return OK;
    }
    if (job->start_ns && job->start_ns < entry->job.start_ns)
        entry->job.start_ns = job->start_ns;
    fill(registry, entry, job);
    job_registry_change(registry, entry);
    return OK;
}

enum err declared_end(struct job_registry *registry, const char *id, uint64_t end_ns)
{
    struct job_entry *entry = job_table_find_id(&registry->table, id);
    if (!entry)
        return ABSENT;
    job_registry_end(registry, entry, end_ns ? end_ns : clock_realtime_ns());
    return OK;
}

enum err declared_request_syscalls(struct job_registry *registry, const char *id, enum job_syscalls mode)
{
    struct job_entry *entry = job_table_find_id(&registry->table, id);
    if (!entry)
        return ABSENT;
    if (entry->job.syscalls != mode) {
        entry->job.syscalls = mode;
        job_registry_change(registry, entry);
    }
    return OK;
}

static bool has_process(const struct job_registry *registry, const struct job_entry *entry)
{
    uint64_t start_ns;
    if (pid_start_ns(registry->root, (pid_t)entry->job.pid, &start_ns))
        return false;
    uint64_t apart_ns = start_ns > entry->pid_start_ns ? start_ns - entry->pid_start_ns : entry->pid_start_ns - start_ns;
    return !entry->pid_start_ns || apart_ns < NS_PER_S; /* the realtime clock may be adjusted slightly */
}

bool declared_is_alive(const struct job_registry *registry, struct job_entry *entry)
{
    if (entry->hierarchy_bits) {
        entry->hierarchy_bits = find_hierarchy_bits(registry, entry->job.cgroup);
        return entry->hierarchy_bits != 0;
    }
    return !entry->job.pid || has_process(registry, entry);
}
