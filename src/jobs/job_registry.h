/* The roll of jobs: who begins, of whom more is known, who ends; each told to the listener. For jobs.c alone. */
#ifndef SONDE_JOBS_JOB_REGISTRY_H
#define SONDE_JOBS_JOB_REGISTRY_H

#include "jobs/hierarchies.h"
#include "jobs/jobs.h"
#include "jobs/entries.h"
#include "jobs/users.h"

struct roll {
    char *root;
    struct jobs_listener listener;
    struct hierarchies hierarchies;
    struct users users;
    struct entries entries;
};

bool roll_runs(const struct entry *entry);

void roll_begin(struct roll *roll, struct entry *entry);        /* nothing when it runs or has ended */
void roll_change(struct roll *roll, const struct entry *entry); /* nothing when it does not run */

/* Frees entry, unless its folder is still there: then it stays known as ended, so that it does not begin again. by_word:
 * also when there are processes in it. */
void roll_end(struct roll *roll, struct entry *entry, uint64_t end_ns, bool by_word);

/* Reads what its folder tells, tells what is new, begins it when enough is known, and decides when to look again.
 * It may join entry with another one: entry is not valid afterwards. */
void roll_look(struct roll *roll, struct entry *entry, uint64_t now_ns);

/* Looks at the young jobs whose time has come, until until_ns has passed. Returns when the next one's will be, or has been; 0:
 * there is none. */
uint64_t roll_look_at_young(struct roll *roll, uint64_t now_ns, uint64_t until_ns);

/* A job that somebody told us of before its folder was there; else a new one. NULL: no memory. */
struct entry *roll_told_or_new(struct roll *roll, const char *key, const struct source_facts *facts);

/* What the names of the folders on the way to it say. */
void roll_name(struct roll *roll, struct entry *entry, const struct source_facts *facts);

/* Its folder is this one. NOMEM. */
enum err roll_place(struct entry *entry, const struct job_source *source, const char *path, bool unified);

/* All is known that can be. */
bool roll_is_settled(const struct entry *entry);

/* The id that people type is known now. False: it was before, or another job has it. */
bool roll_set_id(struct roll *roll, struct entry *entry, const char *id);

/* The name of its user, when the number is known. *later: somebody is being asked. True: it was not known before. */
bool roll_set_user_name(struct roll *roll, struct entry *entry, bool *later);

/* Fills in what is not known. True: it was not. */
bool roll_set_text(char *text, size_t size, const char *value);

bool roll_is_populated(const struct roll *roll, const struct entry *entry);

/* It ended before we looked: its folder was left behind. */
bool roll_is_left_over(const struct roll *roll, const struct entry *entry);

#endif
