/* The files of one cgroup: kept open up to a limit, else opened at each reading. */
#include "samplers/jobs/job_cgroup.h"

#include "base/clock.h"
#include "base/file.h"
#include "jobs/cgroup_facts.h"
#include "samplers/counter.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (32 << 10) /* io.stat has a line per block device */
#define FD_CLOSED (-1)
#define FD_ABSENT (-2) /* the file does not exist; not retried at each reading */

#define NEW_READINGS 4        /* first readings, in which all files are retried: the directories of controllers are
                               * created one after another */
#define LIMITS_EVERY 16
#define RETRY_FILES_EVERY 64

static const enum metric_kind kinds[CGROUP_METRICS_SIZE] = {
#define X(name, unit, kind, help, source) kind,
    CGROUP_METRICS(X)
#undef X
};

struct job_cgroup *job_cgroup_new(const char *path, bool unified, const char *step)
{
    struct job_cgroup *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    group->files = unified ? &cgroup_files_v2 : &cgroup_files_v1;
    group->path = strdup(path);
    for (size_t i = 0; i < CGROUP_FILES_MAX; i++)
        group->fds[i] = FD_CLOSED;
    size_t size = strlen(step);
    if (!group->path || size >= sizeof group->step) {
        free(group->path);
        free(group);
        return NULL;
    }
    memcpy(group->step, step, size + 1);
    return group;
}

static void close_file(int *fd, struct job_cgroup_context *place)
{
    if (*fd >= 0) {
        close(*fd);
        place->kept--;
    }
    *fd = FD_CLOSED;
}

void job_cgroup_free(struct job_cgroup **group, struct job_cgroup_context *place)
{
    if (!*group)
        return;
    for (size_t i = 0; i < CGROUP_FILES_MAX; i++)
        close_file(&(*group)->fds[i], place);
    oom_kills_clear(&(*group)->oom);
    free((*group)->path);
    free(*group);
    *group = NULL;
}

void job_cgroup_retry_files(struct job_cgroup *group)
{
    for (size_t i = 0; i < CGROUP_FILES_MAX; i++)
        if (group->fds[i] == FD_ABSENT)
            group->fds[i] = FD_CLOSED;
}

/* Opens and reads a file, and keeps it open if the limit allows. */
static enum err open_and_read(struct job_cgroup *group, size_t i, struct job_cgroup_context *place, char *text)
{
    char path[FILE_PATH_MAX];
    const struct cgroup_file *file = cgroup_file_at(group->files, i);
    size_t hierarchy = cgroup_file_hierarchy(file, &place->hierarchies);
    int fd = FD_CLOSED;
    enum err err = hierarchies_path(&place->hierarchies, place->root, hierarchy, group->path, cgroup_file_name(file),
                                    path,
                                    sizeof path);
    if (!err)
        err = file_open(NULL, path, &fd);
    if (err) {
        group->fds[i] = err == NOFILES ? FD_CLOSED : FD_ABSENT; /* no descriptor left: retry */
        return err;
    }
    err = file_read_fd(fd, text, TEXT_MAX, NULL);
    if (!err && place->kept < place->kept_max) {
        group->fds[i] = fd;
        place->kept++;
        return OK;
    }
    close(fd);
    return err;
}

/* A read error may mean that the cgroup was removed and created again under the same name. */
static enum err read_file(struct job_cgroup *group, size_t i, struct job_cgroup_context *place, char *text)
{
    if (group->fds[i] == FD_ABSENT)
        return ABSENT;
    if (group->fds[i] >= 0 && !file_read_fd(group->fds[i], text, TEXT_MAX, NULL))
        return OK;
    close_file(&group->fds[i], place);
    return open_and_read(group, i, place, text);
}

bool job_cgroup_has_hit_limit(const struct job_cgroup *group)
{
    return group->limit_hits != group->limit_hits_before;
}

/* Kills of the cgroups below count, too. Without new ones, those known before stay. */
static void count_kills(struct job_cgroup *group, const struct job_cgroup_context *place, bool must_look,
                        struct cgroup_values *new)
{
    char directory[FILE_PATH_MAX];
    uint64_t kills;
    size_t hierarchy = place->hierarchies.of[CONTROLLER_MEMORY];
    group->limit_hits_before = group->limit_hits;
    group->limit_hits = new->values[CGROUP_memory_limit_hits];
    if (group->files != &cgroup_files_v1 || !new->known[CGROUP_oom_kills])
        return;
    if (group->was_removed) { /* they are in the base of the counter */
        oom_kills_clear(&group->oom);
        group->kills = 0;
    }
    if ((must_look || job_cgroup_has_hit_limit(group))
        && !hierarchies_path(&place->hierarchies, place->root, hierarchy, group->path, "", directory, sizeof directory)
        && !oom_kills_read(&group->oom, directory, &kills))
        group->kills = kills;
    new->values[CGROUP_oom_kills] = group->kills;
}

/* A registered job may lose its cgroup and get another between two steps: its counters continue. */
static uint64_t continue_counter(struct job_cgroup *group, size_t i, uint64_t value)
{
    uint64_t counted = group->last.values[i] - group->base[i];
    bool has_restarted = group->was_removed || (value < counted && counted - value > counted / 100); /* as samplers/counter.h */
    if (group->last.known[i] && has_restarted)
        group->base[i] = group->last.values[i];
    return group->base[i] + value;
}

static void take(struct job_cgroup *group, const struct cgroup_values *new, const uint8_t *final)
{
    for (size_t i = 0; i < CGROUP_METRICS_SIZE; i++) {
        uint64_t value = new->values[i];
        group->fresh[i] = new->known[i];
        if (!new->known[i])
            continue;
        if (kinds[i] == COUNTER)
            value = continue_counter(group, i, value);
        bool is_same = group->last.known[i] && group->last.values[i] == value;
        group->final[i] = final[i] || (group->final[i] && is_same);
        group->last.known[i] = 1;
        if (kinds[i] == COUNTER)
            group->fresh[i] = counter_take(&group->last.values[i], &value);
        else
            group->last.values[i] = value;
    }
    group->was_removed = false;
}

/* A cgroup without CPU time is still waiting for its first task, so its values are not final. */
static bool was_used(const struct job_cgroup *group, const struct cgroup_values *new)
{
    return new->values[CGROUP_cpu] || group->last.values[CGROUP_cpu]; /* 0 if unknown */
}

/* The hierarchies in which the cgroup has no tasks. Determined before it is read, so that no task exits in between. */
static uint32_t empty_hierarchies(const struct job_cgroup *group, const struct job_cgroup_context *place)
{
    uint32_t looked = 0, empty = 0;
    for (size_t i = 0; i < group->files->count; i++) {
        size_t hierarchy = cgroup_file_hierarchy(cgroup_file_at(group->files, i), &place->hierarchies);
        if (hierarchy >= 32 || looked & 1u << hierarchy)
            continue;
        looked |= 1u << hierarchy;
        if (!cgroup_facts_is_populated(&place->hierarchies, place->root, 1u << hierarchy, group->path))
            empty |= 1u << hierarchy;
    }
    return empty;
}

static bool is_wanted(const struct job_cgroup *group, const struct cgroup_file *file, const struct cgroup_values *new)
{
    if (cgroup_file_is_redundant(file, new))
        return false;
    return !cgroup_file_is_limit(file) || group->readings <= NEW_READINGS || group->readings % LIMITS_EVERY == 0;
}

/* Limits that are not read this time keep their value. */
static void keep_limits(struct job_cgroup *group, struct cgroup_values *new)
{
    static const enum cgroup_metric limits[] = { CGROUP_memory_limit, CGROUP_swap_limit, CGROUP_pids_limit };
    if (group->readings <= NEW_READINGS || group->readings % LIMITS_EVERY == 0)
        return;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        new->values[limits[i]] = group->last.values[limits[i]];
        new->known[limits[i]] = group->last.known[limits[i]];
    }
}

/* The values of a file are final if its hierarchy has no tasks. */
static void parse(const struct job_cgroup *group, size_t i, const char *text, struct job_cgroup_context *place,
                  uint32_t empty,
                  struct cgroup_values *new, uint8_t *final)
{
    const struct cgroup_file *file = cgroup_file_at(group->files, i);
    size_t hierarchy = cgroup_file_hierarchy(file, &place->hierarchies);
    uint8_t before[CGROUP_METRICS_SIZE];
    memcpy(before, new->known, sizeof before);
    cgroup_file_parse(file, text, &place->devices, new);
    for (size_t k = 0; empty && k < CGROUP_METRICS_SIZE; k++)
        if (new->known[k] && !before[k])
            final[k] = hierarchy < 32 && empty >> hierarchy & 1;
}

enum err job_cgroup_read(struct job_cgroup *group, struct job_cgroup_context *place, bool check_tasks)
{
    char text[TEXT_MAX];
    struct cgroup_values new = { 0 };
    uint8_t final[CGROUP_METRICS_SIZE] = { 0 };
    bool is_there = false, is_removed = true;
    uint32_t empty = check_tasks ? empty_hierarchies(group, place) : 0;
    if (++group->readings <= NEW_READINGS || group->readings % RETRY_FILES_EVERY == 0)
        job_cgroup_retry_files(group);
    for (size_t i = 0; i < group->files->count; i++) {
        const struct cgroup_file *file = cgroup_file_at(group->files, i);
        if (!is_wanted(group, file, &new))
            continue;
        enum err err = read_file(group, i, place, text);
        is_removed &= err == ABSENT || err == GONE;
        if (err)
            continue;
        is_there = true;
        parse(group, i, text, place, empty, &new, final);
    }
    group->was_removed |= is_removed;
    if (!is_there) {
        memset(group->fresh, 0, sizeof group->fresh);
        return GONE;
    }
    if (!was_used(group, &new))
        memset(final, 0, sizeof final);
    keep_limits(group, &new);
    count_kills(group, place, check_tasks, &new);
    take(group, &new, final);
    group->read_ns = clock_realtime_ns();
    group->has_unreported = true;
    return OK;
}

static struct sample *add(const struct job_cgroup *group, const struct set *set, const char *job, const uint8_t *known,
                          uint64_t time_ns, struct batch *out)
{
    struct sample *sample = batch_add(out, set, time_ns, group->step);
    if (!sample)
        return NULL;
    sample->job = job;
    for (size_t i = 0; i < CGROUP_METRICS_SIZE; i++)
        if (known[i])
            sample_set_u64(sample, i, group->last.values[i]);
    return sample;
}

static bool has_any(const uint8_t *known)
{
    return memchr(known, 1, CGROUP_METRICS_SIZE) != NULL;
}

enum err job_cgroup_add(struct job_cgroup *group, const struct set *set, const char *job, struct batch *out)
{
    bool is_fresh = has_any(group->fresh);
    if (!is_fresh && !(group->has_unreported && has_any(group->last.known)))
        return GONE;
    group->has_unreported = false;
    return add(group, set, job, is_fresh ? group->fresh : group->last.known, group->read_ns, out) ? OK : NOMEM;
}

enum err job_cgroup_add_last(struct job_cgroup *group, const struct set *set, const char *job, uint64_t cpu_us,
                             struct batch *out)
{
    uint8_t known[CGROUP_METRICS_SIZE];
    for (size_t i = 0; i < CGROUP_METRICS_SIZE; i++)
        known[i] = group->fresh[i] || group->final[i];
    if (!has_any(group->fresh) && group->has_unreported && memcmp(known, group->last.known, sizeof known) != 0
        && job_cgroup_add(group, set, job, out) == NOMEM)
        return NOMEM;
    bool adds_cpu = cpu_us && !known[CGROUP_cpu];
    if (!has_any(known) && !adds_cpu)
        return GONE;
    group->has_unreported = false;
    struct sample *sample = add(group, set, job, known, clock_realtime_ns(), out);
    if (!sample)
        return NOMEM;
    uint64_t read_us = group->last.known[CGROUP_cpu] ? group->last.values[CGROUP_cpu] : 0;
    if (adds_cpu)
        sample_set_u64(sample, CGROUP_cpu, cpu_us > read_us ? cpu_us : read_us);
    return OK;
}
