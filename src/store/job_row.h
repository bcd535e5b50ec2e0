/* A row of the table jobs as a struct store_job. */
#ifndef SONDE_STORE_JOB_ROW_H
#define SONDE_STORE_JOB_ROW_H

#include "store/columns.h"
#include "store/store.h"

/* What job_row_read reads, for a SELECT; followed by FROM …. */
#define JOB_ROW_COLUMNS \
    JOB_TEXTS(COLUMNS_NAME) JOB_NUMBERS(COLUMNS_NAME) \
    COLUMNS_SUMMARY(COLUMNS_NAME, COLUMNS_COUNTER_NAME, COLUMNS_TOTAL_NAME) "id"

#define JOB_ROW_COLUMNS_BRIEF JOB_TEXTS(COLUMNS_NAME) JOB_NUMBERS(COLUMNS_NAME) COLUMNS_SUMMARY_BRIEF "id"

/* Texts are borrowed from statement until its next step, the command from words. brief: JOB_ROW_COLUMNS_BRIEF
 * were selected, else JOB_ROW_COLUMNS. */
void job_row_read(struct statement *statement, bool brief, struct store_job *job, struct buf *words);

/* Gives job its own copy of all texts. */
enum err job_row_own(struct store_job *job);

#endif
