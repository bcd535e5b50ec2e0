/* The contract of a job source: one batch system, recognised by the names of its cgroups. A constant in a file of its
 * own; jobs.c walks the cgroup tree and asks each source what a cgroup is. docs/jobs.md lists the names. */
#ifndef SONDE_JOBS_JOB_SOURCE_H
#define SONDE_JOBS_JOB_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "jobs/job_id.h"

#include <stdbool.h>
#include <stdint.h>

#define JOB_SOURCE_NAME_MAX 64 /* size of names of users, nodes and steps */

enum cgroup_kind {
    CGROUP_UNRELATED, /* not of this batch system */
    CGROUP_PARENT,  /* jobs may appear in or below it */
    CGROUP_JOB,  /* a job; its steps may appear in it */
    CGROUP_STEP, /* a step of a job */
};

/* Facts found in the path. Strings are "" if unknown. */
struct job_source_facts {
    char id[JOB_ID_MAX];
    bool id_is_secondary; /* id is the secondary id of the job; the one that users know must be found elsewhere */
    char node[JOB_SOURCE_NAME_MAX]; /* if several nodes of the batch system share a machine: the name of the node */
    char user[JOB_SOURCE_NAME_MAX];
    uint32_t uid; /* UINT32_MAX: unknown */
    char step[JOB_SOURCE_NAME_MAX];
};

struct job_source {
    const char *name, *about; /* "slurm", which is also the file's name; one line of description */

    /* Classifies the cgroup at path, which is relative to the mount and begins with '/'. Accepts any text. */
    enum cgroup_kind (*place)(const char *path, struct job_source_facts *facts);

    /* Environment variables of the job's processes; NULL: none. */
    const char *id_variable, *user_variable, *cores_variable;

    /* Extracts the job id from the title of a process of the batch system itself, run by root; false: not such a
     * process. NULL: there are none. */
    bool (*title)(const char *title, char id[JOB_ID_MAX]);
};

extern const struct job_source job_source_slurm, job_source_oar, job_source_pbs;

extern const struct job_source *const job_sources[]; /* NULL-terminated */

#define JOB_SOURCES_ALL UINT32_MAX /* a set of sources: bit i is job_sources[i] */

/* Parses "all", "none", "slurm,oar". USAGE: *unknown, of JOB_SOURCE_NAME_MAX bytes, is the unknown name; *sources is
 * unchanged. */
enum err job_sources_parse(const char *text, uint32_t *sources, char *unknown);
void job_sources_write(struct buf *out, uint32_t sources); /* the format of job_sources_parse */
bool job_sources_have(uint32_t sources, const struct job_source *source);

/* Asks each source in turn. *source is the one that the cgroup belongs to; NULL for CGROUP_UNRELATED. */
enum cgroup_kind job_source_classify(const char *path, const struct job_source **source,
                                     struct job_source_facts *facts);

#endif
