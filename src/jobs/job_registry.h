/* The registry of jobs: begins, updates and ends jobs and notifies the listener. Internal to jobs.c. */
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

/* does nothing if it is running or has ended */
void job_registry_begin(struct job_registry *registry, struct job_entry *entry);
/* does nothing if it is not running */
void job_registry_change(struct job_registry *registry, const struct job_entry *entry);

/* Frees entry, unless its cgroup still exists: then it stays in the table as ended, so that it does not begin again. */
void job_registry_end(struct job_registry *registry, struct job_entry *entry, uint64_t end_ns);

/* Reads the facts of its cgroup, notifies the listener of changes, begins the job if enough is known, and schedules the
 * next inspection. May merge entry with another: entry is invalid afterwards. */
void job_registry_inspect(struct job_registry *registry, struct job_entry *entry, uint64_t now_ns);

/* Inspects the new jobs that are due, until until_ns. Returns when the next one is due; 0: none. */
uint64_t job_registry_inspect_new(struct job_registry *registry, uint64_t now_ns, uint64_t until_ns);

/* Finds a declared job whose cgroup has just appeared; else adds a new one. NULL: no memory. */
struct job_entry *job_registry_find_or_add(struct job_registry *registry, const char *key,
                                           const struct job_source_facts *facts);

/* Sets the facts found in the names of its cgroup path. */
void job_registry_set_names(struct job_registry *registry, struct job_entry *entry,
                            const struct job_source_facts *facts);

/* Sets its cgroup. NOMEM. */
enum err job_registry_set_cgroup(struct job_entry *entry, const struct job_source *source, const char *path,
                                 bool unified);

/* Is everything known? */
bool job_registry_is_complete(const struct job_entry *entry);

/* Sets the id that users know. False: it was known, or another job has it. */
bool job_registry_set_id(struct job_registry *registry, struct job_entry *entry, const char *id);

/* Looks up the name of its user. *is_pending: the lookup is still running. True: the name is new. */
bool job_registry_set_user_name(struct job_registry *registry, struct job_entry *entry, bool *is_pending);

/* Sets a string that is empty. True: it was. */
bool job_registry_fill_string(char *text, size_t size, const char *value);

#endif
