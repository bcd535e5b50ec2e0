/* A job's life in the table, and the looks that fill in what is known of it. */
#include "jobs/job_registry.h"

#include "base/clock.h"
#include "base/log.h"
#include "jobs/cgroup_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A batch system makes the folder first, then writes limits into it, then puts processes there: a young job is looked at
 * several times, with growing pauses, 4 s in all. */
#define LOOK_FIRST_NS (10 * NS_PER_MS)
#define LOOK_LAST_NS (4 * NS_PER_S)
#define LOOK_FACTOR 3

#define LEFT_OVER_NS (10 * NS_PER_S) /* a folder older than this in which there is nobody */

static void tell(struct roll *roll, const struct entry *entry, enum job_event event)
{
    if (roll->listener.event)
        roll->listener.event(roll->listener.context, &entry->job, event);
}

bool roll_runs(const struct entry *entry)
{
    return entry->job.slot != ENTRIES_NO_SLOT;
}

void roll_begin(struct roll *roll, struct entry *entry)
{
    if (roll_runs(entry) || entry->has_ended)
        return;
    if (entries_take_slot(&roll->entries, entry)) {
        log_warn("no memory for job %s: it is not watched", entry->id);
        return;
    }
    tell(roll, entry, JOB_BEGIN);
}

/* Frees entry, unless its folder is still there: then it must be known, so that it does not begin again. */
void roll_end(struct roll *roll, struct entry *entry, uint64_t end_ns, bool by_word)
{
    roll_begin(roll, entry); /* who was never known well enough has a beginning all the same */
    entry->job.end_ns = end_ns > entry->job.start_ns ? end_ns : entry->job.start_ns;
    if (roll_runs(entry))
        tell(roll, entry, JOB_END);
    entries_free_slot(&roll->entries, entry);
    entry->has_ended = true;
    entry->ended_by_word = by_word;
    entry->look_at_ns = 0;
    if (!entry->folders)
        entries_remove(&roll->entries, entry);
}

void roll_change(struct roll *roll, const struct entry *entry)
{
    if (roll_runs(entry))
        tell(roll, entry, JOB_CHANGE);
}

bool roll_set_text(char *text, size_t size, const char *value)
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

/* A sample that was given has the id that was known then: it stays the first of a job that runs. */
bool roll_set_id(struct roll *roll, struct entry *entry, const char *id)
{
    if (!entry->waits_for_id || !*id || entries_find_id(&roll->entries, id))
        return false;
    if (roll_runs(entry)) {
        entries_rename(&roll->entries, entry, ENTRIES_OTHER_ID, id);
    } else {
        entries_rename(&roll->entries, entry, ENTRIES_OTHER_ID, entry->id);
        entries_rename(&roll->entries, entry, ENTRIES_ID, id);
    }
    entry->waits_for_id = false;
    return true;
}

/* The folder is that of a job that was told by the id that people type: they are one, the one that runs. */
static bool join_told(struct roll *roll, struct entry *entry, const char *id)
{
    struct entry *told = *id ? entries_find_id(&roll->entries, id) : NULL;
    char key[ENTRIES_NAME_MAX];
    if (!told || *told->key || told->cgroup || roll_runs(entry))
        return false;
    memcpy(key, entry->key, sizeof key);
    entries_rename(&roll->entries, told, ENTRIES_OTHER_ID, entry->id);
    told->source = entry->source;
    told->job.source = entry->job.source;
    told->cgroup = entry->cgroup;
    told->job.cgroup = entry->job.cgroup;
    told->job.unified = entry->job.unified;
    told->folders = entry->folders;
    told->seen = entry->seen;
    told->steps_in = entry->steps_in;
    told->empty_since_ns = 0;
    entry->cgroup = NULL;
    entries_remove(&roll->entries, entry);
    entries_rename(&roll->entries, told, ENTRIES_KEY, key);
    roll_change(roll, told);
    return true;
}

bool roll_set_user_name(struct roll *roll, struct entry *entry, bool *later)
{
    if (*entry->user || entry->job.uid == UINT32_MAX)
        return false;
    return roll_set_text(entry->user, sizeof entry->user, users_name(&roll->users, entry->job.uid, later));
}

/* The name in the folder's is the user's; a process is believed when it has the job's environment, which it gets when it
 * has become the user's, or after a while when nothing better was found. */
static bool set_uid(struct roll *roll, struct entry *entry, const struct inside *facts, bool is_last)
{
    bool later;
    uint32_t uid = UINT32_MAX;
    if (entry->job.uid != UINT32_MAX)
        return false;
    if (*entry->user)
        uid = users_uid(&roll->users, entry->user, &later);
    else if (facts->has_environment || !entry->source || (is_last && facts->uid))
        uid = facts->uid;
    entry->job.uid = uid;
    return uid != UINT32_MAX;
}

static bool set_user(struct roll *roll, struct entry *entry, const struct inside *facts, bool is_last)
{
    bool later = false, changed = set_uid(roll, entry, facts, is_last);
    changed |= roll_set_user_name(roll, entry, &later);
    if (!later) /* nobody knows the user: the processes may say any name, but then they say it of themselves */
        changed |= roll_set_text(entry->user, sizeof entry->user, facts->user);
    return changed;
}

static bool take_facts(struct roll *roll, struct entry *entry, const struct inside *facts, bool is_last)
{
    bool changed = set_user(roll, entry, facts, is_last);
    changed |= set_number(&entry->job.cores_milli, facts->cores_milli);
    changed |= set_number(&entry->job.memory_bytes, facts->memory_bytes);
    changed |= roll_set_id(roll, entry, facts->id);
    if (entry->was_there && facts->start_ns && facts->start_ns < entry->job.start_ns) {
        entry->job.start_ns = facts->start_ns;
        changed = true;
    }
    return changed;
}

struct entry *roll_told_or_new(struct roll *roll, const char *key, const struct source_facts *facts)
{
    struct entry *entry = entries_find_id(&roll->entries, facts->id);
    if (!entry || *entry->key)
        return entries_add(&roll->entries, key);
    entries_rename(&roll->entries, entry, ENTRIES_KEY, key);
    return entry;
}

void roll_name(struct roll *roll, struct entry *entry, const struct source_facts *facts)
{
    const struct entry *same = *facts->node ? entries_find_id(&roll->entries, facts->id) : NULL;
    char id[ENTRIES_NAME_MAX];
    snprintf(id, sizeof id, same ? "%s@%s" : "%s", facts->id, facts->node);
    if (!*entry->id)
        entries_rename(&roll->entries, entry, ENTRIES_ID, id);
    roll_set_text(entry->user, sizeof entry->user, facts->user);
    if (facts->uid != UINT32_MAX)
        entry->job.uid = facts->uid;
    entry->waits_for_id = facts->id_is_other && !*entry->other_id;
}

enum err roll_place(struct entry *entry, const struct job_source *source, const char *path, bool unified)
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

bool roll_is_settled(const struct entry *entry)
{
    const struct job *job = &entry->job;
    bool has_limits = (job->cores_milli && job->memory_bytes) || entry->was_there; /* then they were written before */
    return !entry->waits_for_id && *entry->user && job->uid != UINT32_MAX && has_limits;
}

static void look_again_later(struct entry *entry, uint64_t now_ns)
{
    entry->look_pause_ns = entry->look_pause_ns ? entry->look_pause_ns * LOOK_FACTOR : LOOK_FIRST_NS;
    bool goes_on = entry->look_pause_ns < LOOK_LAST_NS && !roll_is_settled(entry);
    entry->look_at_ns = goes_on ? now_ns + entry->look_pause_ns : 0;
}

void roll_look(struct roll *roll, struct entry *entry, uint64_t now_ns)
{
    struct inside facts;
    bool is_last = entry->look_pause_ns * LOOK_FACTOR >= LOOK_LAST_NS;
    inside_read(&facts, &roll->hierarchies, roll->root, entry->folders, entry->job.cgroup, entry->source);
    if (entry->waits_for_id && join_told(roll, entry, facts.id))
        return;
    bool changed = take_facts(roll, entry, &facts, is_last);
    look_again_later(entry, now_ns);
    if (changed)
        roll_change(roll, entry);
    if (!entry->waits_for_id || is_last)
        roll_begin(roll, entry);
}

uint64_t roll_look_at_young(struct roll *roll, uint64_t now_ns, uint64_t until_ns)
{
    struct entries *entries = &roll->entries;
    uint64_t next_ns = 0;
    for (size_t i = entries->count; i-- > 0;) {
        if (!entries->all[i]->look_at_ns || entries->all[i]->look_at_ns > now_ns)
            continue;
        if (clock_monotonic_ns() >= until_ns)
            break;
        roll_look(roll, entries->all[i], now_ns);
    }
    for (size_t i = 0; i < entries->count; i++)
        if (entries->all[i]->look_at_ns && (!next_ns || entries->all[i]->look_at_ns < next_ns))
            next_ns = entries->all[i]->look_at_ns;
    return next_ns;
}

bool roll_is_populated(const struct roll *roll, const struct entry *entry)
{
    return inside_populated(&roll->hierarchies, roll->root, entry->folders, entry->job.cgroup);
}

/* An ended job of an earlier agent's time: its folder was left behind. */
bool roll_is_left_over(const struct roll *roll, const struct entry *entry)
{
    struct inside facts;
    if (!entry->was_there || roll_is_populated(roll, entry))
        return false;
    inside_read(&facts, &roll->hierarchies, roll->root, entry->folders, entry->job.cgroup, NULL);
    return facts.start_ns + LEFT_OVER_NS < clock_realtime_ns();
}

