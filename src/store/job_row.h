/* A row of the table jobs as a struct store_job. */
#ifndef SONDE_STORE_JOB_ROW_H
#define SONDE_STORE_JOB_ROW_H

#include "store/columns.h"
#include "store/store.h"

/* An agent has not reported its end. */
#define JOB_ROW_RUNNING \
    ", CASE WHEN ended = 0 AND EXISTS (SELECT 1 FROM runs WHERE runs.job = jobs.id AND runs.ended = 0" \
    " AND runs.run_id LIKE 'agent/%') THEN 1 ELSE 0 END"

/* The columns that job_row_read expects, for a SELECT from jobs. */
#define JOB_ROW_COLUMNS \
    JOB_STRINGS(COLUMNS_NAME) JOB_NUMBERS(COLUMNS_NAME) \
    COLUMNS_SUMMARY(COLUMNS_NAME, COLUMNS_COUNTER_NAME, COLUMNS_TOTAL_NAME) "id" JOB_ROW_RUNNING

#define JOB_ROW_COLUMNS_BRIEF JOB_STRINGS(COLUMNS_NAME) JOB_NUMBERS(COLUMNS_NAME) COLUMNS_SUMMARY_BRIEF "id" JOB_ROW_RUNNING

/* Strings are borrowed from statement until its next step, the command from args. brief: JOB_ROW_COLUMNS_BRIEF were
 * selected instead of JOB_ROW_COLUMNS. NOMEM. */
enum err job_row_read(struct statement *statement, bool brief, struct store_job *job, struct buf *args);

/* Copies all strings into memory owned by job. */
enum err job_row_own(struct store_job *job);

#endif
