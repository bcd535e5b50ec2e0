/* One control group that is read at each tick: a job or a step of one. Keeps the last good reading, since a group may be
 * gone before anybody could read it for the last time. */
#ifndef SONDE_SAMPLE_CGROUP_GROUP_H
#define SONDE_SAMPLE_CGROUP_GROUP_H

#include "base/err.h"
#include "job/source.h"
#include "model/batch.h"
#include "sample/cgroup_files.h"

/* What all groups share. */
struct cgroup_place {
    const char *root; /* borrowed */
    struct hierarchies hierarchies;
    struct cgroup_devices devices;
    unsigned kept, kept_max; /* descriptors that stay open; a group that has none is opened at each reading */
};

struct cgroup_group {
    struct cgroup_group *next;
    const struct cgroup_files *files;
    char step[SOURCE_NAME_MAX]; /* "": the whole job */
    char *path;                 /* owned */
    bool has_gone;              /* its last values are still to be given */
    bool is_owed;               /* there are values that nobody was given yet */
    bool is_listed;             /* was found by the listing of steps that is under way */
    unsigned readings;
    struct cgroup_values last;           /* of each metric the newest value that there was */
    uint8_t fresh[CGROUP_METRICS_SIZE];  /* those that the newest reading gave */
    int fds[CGROUP_FILES_MAX];
};

/* path is below the hierarchies' mounts. NULL: no memory. */
struct cgroup_group *cgroup_group_new(const char *path, bool unified, const char *step);
void cgroup_group_free(struct cgroup_group **group, struct cgroup_place *place);

/* Reads all of it into last. GONE: there is nothing to be read any more; what was read before stays. */
enum err cgroup_group_read(struct cgroup_group *group, struct cgroup_place *place);

/* Files that were not there are looked for again. */
void cgroup_group_look_again(struct cgroup_group *group);

/* Adds what the newest reading gave or, when is_last, the newest of each value that was ever read. A group that vanished
 * after a reading of which nobody was told gives that. GONE: there is nothing to give. job is borrowed until
 * the batch is emptied, and so is the group. */
enum err cgroup_group_add(struct cgroup_group *group, const struct set *set, const char *job, bool is_last,
                          struct batch *out);

#endif
