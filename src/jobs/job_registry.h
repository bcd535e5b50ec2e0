/* The roll of jobs: who begins, of whom more is known, who ends; each told to the listener. For jobs.c alone. */
#ifndef SONDE_JOBS_JOB_REGISTRY_H
#define SONDE_JOBS_JOB_REGISTRY_H

#include "jobs/hierarchies.h"
#include "jobs/job_table.h"
#include "jobs/jobs.h"
#include "jobs/users.h"

struct job_registry {
    char *root;
    struct jobs_listener listener;
    struct hierarchies hierarchies;
    struct users users;
    struct job_table table;
};

bool job_registry_is_running(const struct job_entry *entry);

void job_registry_begin(struct job_registry *registry, struct job_entry *entry);        /* nothing when it runs or has ended */
void job_registry_change(struct job_registry *registry, const struct job_entry *entry); /* nothing when it does not run */

/* Frees entry, unless its folder is still there: then it stays known as ended, so that it does not begin again. by_word:
 * also when there are processes in it. */
void job_registry_end(struct job_registry *registry, struct job_entry *entry, uint64_t end_ns, bool is_explicit);

/* Reads what its folder tells, tells what is new, begins it when enough is known, and decides when to look again.
 * It may join entry with another one: entry is not valid afterwards. */
void job_registry_inspect(struct job_registry *registry, struct job_entry *entry, uint64_t now_ns);

/* Looks at the young jobs whose time has come, until until_ns has passed. Returns when the next one's will be, or has been; 0:
 * there is none. */
uint64_t job_registry_inspect_new(struct job_registry *registry, uint64_t now_ns, uint64_t until_ns);

/* A job that somebody told us of before its folder was there; else a new one. NULL: no memory. */
struct job_entry *job_registry_find_or_add(struct job_registry *registry, const char *key,
                                           const struct job_source_facts *facts);

/* What the names of the folders on the way to it say. */
void job_registry_set_names(struct job_registry *registry, struct job_entry *entry,
                            const struct job_source_facts *facts);

/* Its folder is this one. NOMEM. */
enum err job_registry_set_cgroup(struct job_entry *entry, const struct job_source *source, const char *path,
                                 bool unified);

/* All is known that can be. */
bool job_registry_is_complete(const struct job_entry *entry);

/* The id that people type is known now. False: it was before, or another job has it. */
bool job_registry_set_id(struct job_registry *registry, struct job_entry *entry, const char *id);

/* The name of its user, when the number is known. *later: somebody is being asked. True: it was not known before. */
bool job_registry_set_user_name(struct job_registry *registry, struct job_entry *entry, bool *is_pending);

/* Fills in what is not known. True: it was not. */
bool job_registry_fill_string(char *text, size_t size, const char *value);

bool job_registry_is_populated(const struct job_registry *registry, const struct job_entry *entry);

/* It ended before we looked: its folder was left behind. */
bool job_registry_is_stale(const struct job_registry *registry, const struct job_entry *entry);

#endif
