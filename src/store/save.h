/* Shared by the files that save a run (save_run.c calls the others). */
#ifndef SONDE_STORE_SAVE_H
#define SONDE_STORE_SAVE_H

#include "model/dictionary.h"
#include "store/db.h"

struct saving {
    struct store *store;
    const struct run *run;
    struct summary summary;
    struct summary_executables executables;
    bool by_agent;         /* the run is what an agent saw of a job: it knows the job's owner, or will */
    int64_t job, run_row;  /* rows in jobs and runs */
    int64_t *executable_rows;
    uint32_t first;        /* number of the run's first process in the job */
};

/* A table (id, string) with one row per string, and the rows used in this run. */
struct intern {
    struct store *store;
    struct dictionary strings;
    int64_t *ids; /* per string of the dictionary; 0: not looked up yet */
    size_t capacity;
    struct statement *select, *insert;
};

/* select: "SELECT id FROM directories WHERE path = ?1", insert: "INSERT INTO directories (path) VALUES (?1)". */
enum err intern_open(struct intern *intern, struct store *store, const char *select, const char *insert);
void intern_close(struct intern *intern);

/* The row of a string; *id is 0 if it is empty. */
enum err intern_id(struct intern *intern, struct bytes text, int64_t *id);

/* The TOP_LIST_MAX largest values offered, largest first. */
#define TOP_LIST_MAX 10
struct top_list {
    size_t count;
    struct { uint64_t value; uint32_t a, b; } items[TOP_LIST_MAX];
};
void top_list_offer(struct top_list *top, uint64_t value, uint32_t a, uint32_t b);

/* The steps of saving a run, in order. */
enum err save_run_row_remove(struct saving *saving, int64_t *old_job); /* rows saved before; *old_job 0: none */
enum err save_job_find(struct saving *saving);                         /* row of the job, found or inserted */
enum err save_run_row_with_job(struct saving *saving);                 /* rows of host, job and run */
enum err save_run_row(struct saving *saving);                          /* only host and run; saving->job is known */
enum err save_processes(struct saving *saving);
enum err save_threads(struct saving *saving);
enum err save_events(struct saving *saving);
enum err save_series(struct saving *saving);
enum err save_series_set(struct store *store, const struct set *set, int64_t *row); /* of its description, found or inserted */
enum err save_job(struct saving *saving, int64_t job);             /* computed from all its runs; deleted if none is left */

#endif
