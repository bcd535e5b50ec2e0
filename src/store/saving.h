/* What the files that write a run into the store share while they do so (save_run.c leads). */
#ifndef SONDE_STORE_SAVING_H
#define SONDE_STORE_SAVING_H

#include "model/dictionary.h"
#include "store/db.h"

struct filing {
    struct store *store;
    const struct run *run;
    struct summary summary;
    struct summary_executables executables;
    int64_t job, run_row;  /* rows of jobs and runs */
    int64_t *executable_rows;
    uint32_t first;        /* number of the run's first process in the job */
};

/* A table (id, text) that gives each text one row, and the rows that were met in this run. */
struct rows {
    struct store *store;
    struct dictionary texts;
    int64_t *ids; /* per text of the dictionary; 0: not asked yet */
    size_t room;
    struct statement *select, *insert;
};

/* select: "SELECT id FROM directories WHERE path = ?1", insert: "INSERT INTO directories (path) VALUES (?1)". */
enum err rows_open(struct rows *rows, struct store *store, const char *select, const char *insert);
void rows_close(struct rows *rows);

/* The row of text; *id is 0 when text is empty. */
enum err rows_id(struct rows *rows, struct bytes text, int64_t *id);

/* The at most TOP_MAX largest of what is offered, largest first. */
#define TOP_MAX 10
struct top {
    size_t count;
    struct { uint64_t value; uint32_t a, b; } items[TOP_MAX];
};
void top_offer(struct top *top, uint64_t value, uint32_t a, uint32_t b);

/* The steps, in order. */
enum err file_run_remove(struct filing *filing, int64_t *old_job); /* an earlier filing; *old_job 0: there was none */
enum err file_run(struct filing *filing);                          /* rows of the host, the job and the run */
enum err file_run_row(struct filing *filing);                      /* of the host and the run alone; filing->job is known */
enum err file_processes(struct filing *filing);
enum err file_threads(struct filing *filing);
enum err file_events(struct filing *filing);
enum err file_series(struct filing *filing);
enum err file_set(struct store *store, const struct set *set, int64_t *row); /* of its description, found or made */
enum err file_job(struct filing *filing, int64_t job);             /* the job from all its runs; none left: removed */

#endif
