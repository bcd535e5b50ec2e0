/* The contract of a job source: one batch system, known by the names of the folders that it makes in the cgroup tree. A
 * constant in a file of its own; jobs.c walks the tree and asks each what a folder is. docs/jobs.md has the names. */
#ifndef SONDE_JOBS_SOURCE_H
#define SONDE_JOBS_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "jobs/job_id.h"

#include <stdbool.h>
#include <stdint.h>

#define SOURCE_NAME_MAX 64 /* of users, nodes, steps */

enum source_place {
    PLACE_NONE, /* nothing of this batch system */
    PLACE_WAY,  /* jobs may appear in it or below it */
    PLACE_JOB,  /* it is a job; its steps may appear in it */
    PLACE_STEP, /* it is a step of a job */
};

/* What the names on the way tell. Texts are "" where they tell nothing. */
struct source_facts {
    char id[ID_MAX];
    bool id_is_other; /* it is the second id of the job; the one that people type is to be found */
    char node[SOURCE_NAME_MAX]; /* several nodes of the batch system on one machine: the name of this one */
    char user[SOURCE_NAME_MAX];
    uint32_t uid; /* UINT32_MAX: not told */
    char step[SOURCE_NAME_MAX];
};

struct job_source {
    const char *name, *about; /* "slurm": the file's name; one line */

    /* What is the folder at path, which is below the mount of a hierarchy and begins with '/'? Takes any text. */
    enum source_place (*place)(const char *path, struct source_facts *facts);

    /* What the batch system gives to the processes of a job; NULL: nothing. */
    const char *id_variable, *user_variable, *cores_variable;

    /* The job's id in the title of a process of the batch system's own, run by root; false: it is none. NULL: there are
     * no such processes. */
    bool (*title)(const char *title, char id[ID_MAX]);
};

extern const struct job_source job_source_slurm, job_source_oar, job_source_pbs;

extern const struct job_source *const job_sources[]; /* NULL ends the list */

#define SOURCES_ALL UINT32_MAX /* a set of sources: bit i is job_sources[i] */

/* "all", "none", "slurm,oar". USAGE: *unknown, of SOURCE_NAME_MAX bytes, is the name that is none; *sources is as before. */
enum err sources_parse(const char *text, uint32_t *sources, char *unknown);
void sources_write(struct buf *out, uint32_t sources); /* what sources_parse reads */
bool sources_have(uint32_t sources, const struct job_source *source);

/* Asks each of the list. *source is whose folder it is; NULL for PLACE_NONE. */
enum source_place source_place(const char *path, const struct job_source **source, struct source_facts *facts);

#endif
