/* Begins and ends jobs, and inspects new ones until their facts are known. */
#include "jobs/job_registry.h"

#include "base/clock.h"
#include "base/log.h"
#include "jobs/cgroup_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A batch system creates the cgroup, then sets its limits, then moves processes into it: a new job is inspected several
 * times with growing pauses, over 4 s in total. */
#define INSPECT_FIRST_NS (10 * NS_PER_MS)
#define INSPECT_LAST_NS (4 * NS_PER_S)
#define INSPECT_FACTOR 3

static void notify(struct job_registry *registry, const struct job_entry *entry, enum job_event event)
{
    if (registry->listener.event)
        registry->listener.event(registry->listener.context, &entry->job, event);
}

bool job_registry_is_running(const struct job_entry *entry)
{
    return entry->job.slot != JOB_TABLE_NO_SLOT;
}

void job_registry_begin(struct job_registry *registry, struct job_entry *entry)
{
    if (job_registry_is_running(entry) || entry->has_ended)
        return;
    if (job_table_take_slot(&registry->table, entry)) {
        log_warn("no memory for job %s: it is not monitored", entry->id);
        return;
    }
    notify(registry, entry, JOB_BEGIN);
}

void job_registry_end(struct job_registry *registry, struct job_entry *entry, uint64_t end_ns)
{
    job_registry_begin(registry, entry); /* a job that never had enough facts gets its beginning now */
    entry->job.end_ns = end_ns > entry->job.start_ns ? end_ns : entry->job.start_ns;
    if (job_registry_is_running(entry))
        notify(registry, entry, JOB_END);
    job_table_free_slot(&registry->table, entry);
    entry->has_ended = true;
    entry->inspect_at_ns = 0;
    if (!entry->hierarchy_bits)
        job_table_remove(&registry->table, entry);
}

void job_registry_change(struct job_registry *registry, const struct job_entry *entry)
{
    if (job_registry_is_running(entry))
        notify(registry, entry, JOB_CHANGE);
}

bool job_registry_fill_string(char *text, size_t size, const char *value)
{
    if (!*value || *text || strlen(value) >= size)
        return false;
    memcpy(text, value, strlen(value) + 1);
    return true;
}

static bool set_number(uint64_t *number, uint64_t value)
{
    bool is_new = value && value != *number;
    if (is_new)
        *number = value;
    return is_new;
}

/* Samples already have the id that was known then: the id of a running job does not change. */
bool job_registry_set_id(struct job_registry *registry, struct job_entry *entry, const char *id)
{
    if (!entry->waits_for_id || !*id || job_table_find_id(&registry->table, id))
        return false;
    if (job_registry_is_running(entry)) {
        job_table_rename(&registry->table, entry, JOB_TABLE_OTHER_ID, id);
    } else {
        job_table_rename(&registry->table, entry, JOB_TABLE_OTHER_ID, entry->id);
        job_table_rename(&registry->table, entry, JOB_TABLE_ID, id);
    }
    entry->waits_for_id = false;
    return true;
}

/* The cgroup belongs to a job that was declared under the id that users know: merge the two into the running one. */
static bool merge_with_declared(struct job_registry *registry, struct job_entry *entry, const char *id)
{
    struct job_entry *declared = *id ? job_table_find_id(&registry->table, id) : NULL;
    char key[JOB_TABLE_NAME_MAX];
    if (!declared || *declared->key || declared->cgroup || job_registry_is_running(entry))
        return false;
    memcpy(key, entry->key, sizeof key);
    job_table_rename(&registry->table, declared, JOB_TABLE_OTHER_ID, entry->id);
    declared->source = entry->source;
    declared->job.source = entry->job.source;
    declared->cgroup = entry->cgroup;
    declared->job.cgroup = entry->job.cgroup;
    declared->job.unified = entry->job.unified;
    declared->hierarchy_bits = entry->hierarchy_bits;
    declared->seen_bits = entry->seen_bits;
    declared->steps_hierarchy = entry->steps_hierarchy;
    entry->cgroup = NULL;
    job_table_remove(&registry->table, entry);
    job_table_rename(&registry->table, declared, JOB_TABLE_KEY, key);
    job_registry_change(registry, declared);
    return true;
}

bool job_registry_set_user_name(struct job_registry *registry, struct job_entry *entry, bool *is_pending)
{
    if (*entry->user || entry->job.uid == UINT32_MAX)
        return false;
    return job_registry_fill_string(entry->user, sizeof entry->user,
                                    users_name(&registry->users, entry->job.uid, is_pending));
}

/* A user name in the cgroup path is trusted. A process is trusted if it has the job's environment, which it gets after
 * changing to the user; or after a while, if nothing better was found. */
static bool set_uid(struct job_registry *registry, struct job_entry *entry, const struct cgroup_facts *facts,
                    bool is_last)
{
    bool is_pending;
    uint32_t uid = UINT32_MAX;
    if (entry->job.uid != UINT32_MAX)
        return false;
    if (*entry->user)
        uid = users_uid(&registry->users, entry->user, &is_pending);
    else if (facts->has_environment || !entry->source || (is_last && facts->uid))
        uid = facts->uid;
    entry->job.uid = uid;
    return uid != UINT32_MAX;
}

static bool set_user(struct job_registry *registry, struct job_entry *entry, const struct cgroup_facts *facts,
                     bool is_last)
{
    bool is_pending = false, changed = set_uid(registry, entry, facts, is_last);
    changed |= job_registry_set_user_name(registry, entry, &is_pending);
    if (!is_pending) /* the user is unknown to the node: trust the name in the processes' environment */
        changed |= job_registry_fill_string(entry->user, sizeof entry->user, facts->user);
    return changed;
}

static bool take_facts(struct job_registry *registry, struct job_entry *entry, const struct cgroup_facts *facts,
                       bool is_last)
{
    bool changed = set_user(registry, entry, facts, is_last);
    changed |= set_number(&entry->job.cores_milli, facts->cores_milli);
    changed |= set_number(&entry->job.memory_bytes, facts->memory_bytes);
    changed |= job_registry_set_id(registry, entry, facts->id);
    if (entry->existed_before && facts->start_ns && facts->start_ns < entry->job.start_ns) {
        entry->job.start_ns = facts->start_ns;
        changed = true;
    }
    return changed;
}

struct job_entry *job_registry_find_or_add(struct job_registry *registry, const char *key,
                                           const struct job_source_facts *facts)
{
    struct job_entry *entry = job_table_find_id(&registry->table, facts->id);
    if (!entry || *entry->key)
        return job_table_add(&registry->table, key);
    job_table_rename(&registry->table, entry, JOB_TABLE_KEY, key);
    return entry;
}

void job_registry_set_names(struct job_registry *registry, struct job_entry *entry,
                            const struct job_source_facts *facts)
{
    const struct job_entry *same = *facts->node ? job_table_find_id(&registry->table, facts->id) : NULL;
    char id[JOB_TABLE_NAME_MAX];
    snprintf(id, sizeof id, same ? "%s@%s" : "%s", facts->id, facts->node);
    if (!*entry->id)
        job_table_rename(&registry->table, entry, JOB_TABLE_ID, id);
    job_registry_fill_string(entry->user, sizeof entry->user, facts->user);
    if (facts->uid != UINT32_MAX)
        entry->job.uid = facts->uid;
    entry->waits_for_id = facts->id_is_secondary && !*entry->other_id;
}

enum err job_registry_set_cgroup(struct job_entry *entry, const struct job_source *source, const char *path,
                                 bool unified)
{
    char *copy = strdup(path);
    if (!copy)
        return NOMEM;
    free(entry->cgroup);
    entry->cgroup = copy;
    entry->job.cgroup = copy;
    entry->job.unified = unified;
    entry->source = source;
    if (source)
        entry->job.source = source->name;
    return OK;
}

bool job_registry_is_complete(const struct job_entry *entry)
{
    const struct job *job = &entry->job;
    bool has_limits = (job->cores_milli && job->memory_bytes) || entry->existed_before; /* then they were already set */
    return !entry->waits_for_id && *entry->user && job->uid != UINT32_MAX && has_limits;
}

static void schedule_inspection(struct job_entry *entry, uint64_t now_ns)
{
    entry->inspect_pause_ns = entry->inspect_pause_ns ? entry->inspect_pause_ns * INSPECT_FACTOR : INSPECT_FIRST_NS;
    bool continues = entry->inspect_pause_ns < INSPECT_LAST_NS && !job_registry_is_complete(entry);
    entry->inspect_at_ns = continues ? now_ns + entry->inspect_pause_ns : 0;
}

void job_registry_inspect(struct job_registry *registry, struct job_entry *entry, uint64_t now_ns)
{
    struct cgroup_facts facts;
    bool is_last = entry->inspect_pause_ns * INSPECT_FACTOR >= INSPECT_LAST_NS;
    cgroup_facts_read(&facts, &registry->hierarchies, registry->root, entry->hierarchy_bits, entry->job.cgroup,
                      entry->source);
    if (entry->waits_for_id && merge_with_declared(registry, entry, facts.id))
        return;
    bool changed = take_facts(registry, entry, &facts, is_last);
    schedule_inspection(entry, now_ns);
    if (changed)
        job_registry_change(registry, entry);
    if (!entry->waits_for_id || is_last)
        job_registry_begin(registry, entry);
}

uint64_t job_registry_inspect_new(struct job_registry *registry, uint64_t now_ns, uint64_t until_ns)
{
    struct job_table *table = &registry->table;
    uint64_t next_ns = 0;
    for (size_t i = table->count; i-- > 0;) {
        if (!table->all[i]->inspect_at_ns || table->all[i]->inspect_at_ns > now_ns)
            continue;
        if (clock_monotonic_ns() >= until_ns)
            break;
        job_registry_inspect(registry, table->all[i], now_ns);
    }
    for (size_t i = 0; i < table->count; i++)
        if (table->all[i]->inspect_at_ns && (!next_ns || table->all[i]->inspect_at_ns < next_ns))
            next_ns = table->all[i]->inspect_at_ns;
    return next_ns;
}
