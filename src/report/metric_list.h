/* Metrics of programs as an agent, or a proxy of tau's, tells them: from the answer at /programs or from tau's socket, to
 * sonde get, list-metrics and track. */
#ifndef SONDE_REPORT_METRIC_LIST_H
#define SONDE_REPORT_METRIC_LIST_H

#include "base/buf.h"

enum metric_list_type { METRIC_LIST_OTHER, METRIC_LIST_COUNTER, METRIC_LIST_GAUGE, METRIC_LIST_HISTOGRAM };

/* Of a gauge over the programs that are alive. */
enum {
    METRIC_LIST_SUM, METRIC_LIST_MIN, METRIC_LIST_MAX, METRIC_LIST_MEAN, METRIC_LIST_PROGRAMS,
    METRIC_LIST_COUNT, METRIC_LIST_P50, METRIC_LIST_P90, METRIC_LIST_P99, /* of a histogram, which has a sum and a mean too */
    METRIC_LIST_SPREAD
};
extern const char *const metric_list_spread_names[METRIC_LIST_SPREAD];

struct metric_item {
    const char *name;       /* "x_total{a=\"b\"}" */
    const char *doc, *unit; /* "": none */
    const char *job, *user; /* NULL: of the whole node */
    enum metric_list_type type;
    double value, ts_s;     /* NAN: not told; ts since 1970 */
    double spread[METRIC_LIST_SPREAD]; /* of a gauge or a histogram; NAN: not told, or above the last bound */
    const char *buckets;    /* of a histogram, as JSON: [[0.1, 3], [null, 4]], how many were not above each bound; NULL: none */
};

struct metric_list {
    struct metric_item *items;
    size_t count, room;
    struct metric_list_piece *pieces; /* of memory for texts */
};

void metric_list_init(struct metric_list *list);
void metric_list_clear(struct metric_list *list);

/* An empty item at the end; NULL: memory ran out. Its texts are to be set with metric_list_text. */
struct metric_item *metric_list_add(struct metric_list *list);

/* A copy of the text that lives as long as the list; "" when memory ran out. */
const char *metric_list_text(struct metric_list *list, const char *text);

/* Adds the metrics of an answer. Takes any text. CORRUPT: it is no such answer; NOMEM. */
enum err metric_list_read(struct metric_list *list, const char *text, size_t size);

/* "TAU_METRIC_COUNTER", as tau says it. */
const char *metric_list_type_name(enum metric_list_type type);

#endif
