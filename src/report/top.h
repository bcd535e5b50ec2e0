/* The page of sonde top: the node in a line, its jobs in a table. */
#ifndef SONDE_REPORT_TOP_H
#define SONDE_REPORT_TOP_H

#include "api/jobs_client.h"
#include "report/terminal.h"

/* In the order of the option --sort; see top_key. */
enum top_sort { TOP_CPU, TOP_MEMORY, TOP_IO, TOP_TIME, TOP_POWER, TOP_SORTS };

struct top_look {
    enum top_sort sort;
    bool reverse;
    bool is_batch;      /* no hint at keys */
    size_t first, rows; /* of the jobs: which is the first shown, and how many fit; rows 0: all */
    const char *trouble; /* why there is nothing new; NULL: there is */
};

/* Sorts the jobs, the most first. */
void top_sort(struct jobs_now *now, enum top_sort sort, bool reverse);

/* Adds the page. now must be sorted. */
void top_print(struct buf *out, const struct jobs_now *now, const struct top_look *look, const struct terminal *terminal);

/* Lines that top_print needs besides those of jobs. */
#define TOP_HEAD_LINES 4

/* 'c', 'm', 'i', 't', 'p' choose an order; false: the key means nothing. */
bool top_key(char key, enum top_sort *sort);

#endif
