/* The contract of a job source: one batch system, known by the names of the folders that it makes in the cgroup tree. A
 * constant in a file of its own; jobs.c walks the tree and asks each what a folder is. docs/jobs.md has the names. */
#ifndef SONDE_JOBS_JOB_SOURCE_H
#define SONDE_JOBS_JOB_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "jobs/job_id.h"

#include <stdbool.h>
#include <stdint.h>

#define JOB_SOURCE_NAME_MAX 64 /* of users, nodes, steps */

enum cgroup_kind {
    CGROUP_UNRELATED, /* nothing of this batch system */
    CGROUP_PARENT,  /* jobs may appear in it or below it */
    CGROUP_JOB,  /* it is a job; its steps may appear in it */
    CGROUP_STEP, /* it is a step of a job */
};

/* What the names on the way tell. Texts are "" where they tell nothing. */
struct job_source_facts {
    char id[JOB_ID_MAX];
    bool id_is_secondary; /* it is the second id of the job; the one that people type is to be found */
    char node[JOB_SOURCE_NAME_MAX]; /* several nodes of the batch system on one machine: the name of this one */
    char user[JOB_SOURCE_NAME_MAX];
    uint32_t uid; /* UINT32_MAX: not told */
    char step[JOB_SOURCE_NAME_MAX];
};

struct job_source {
    const char *name, *about; /* "slurm": the file's name; one line */

    /* What is the folder at path, which is below the mount of a hierarchy and begins with '/'? Takes any text. */
    enum cgroup_kind (*place)(const char *path, struct job_source_facts *facts);

    /* What the batch system gives to the processes of a job; NULL: nothing. */
    const char *id_variable, *user_variable, *cores_variable;

    /* The job's id in the title of a process of the batch system's own, run by root; false: it is none. NULL: there are
     * no such processes. */
    bool (*title)(const char *title, char id[JOB_ID_MAX]);
};

extern const struct job_source job_source_slurm, job_source_oar, job_source_pbs;

extern const struct job_source *const job_sources[]; /* NULL ends the list */

#define JOB_SOURCES_ALL UINT32_MAX /* a set of sources: bit i is job_sources[i] */

/* "all", "none", "slurm,oar". USAGE: *unknown, of JOB_SOURCE_NAME_MAX bytes, is the name that is none; *sources is as before. */
enum err job_sources_parse(const char *text, uint32_t *sources, char *unknown);
void job_sources_write(struct buf *out, uint32_t sources); /* what job_sources_parse reads */
bool job_sources_have(uint32_t sources, const struct job_source *source);

/* Asks each of the list. *source is whose folder it is; NULL for CGROUP_UNRELATED. */
enum cgroup_kind job_source_classify(const char *path, const struct job_source **source,
                                     struct job_source_facts *facts);

#endif
