/* Program metrics as an agent or a tau proxy returns them: parsed from /programs or tau's socket, for sonde get,
 * list-metrics and track. */
#ifndef SONDE_REPORT_METRIC_LIST_H
#define SONDE_REPORT_METRIC_LIST_H

#include "base/buf.h"

enum metric_list_type { METRIC_LIST_OTHER, METRIC_LIST_COUNTER, METRIC_LIST_GAUGE, METRIC_LIST_HISTOGRAM };

/* Statistics of a gauge over running processes. */
enum {
    METRIC_LIST_SUM, METRIC_LIST_MIN, METRIC_LIST_MAX, METRIC_LIST_MEAN, METRIC_LIST_PROGRAMS,
    METRIC_LIST_COUNT, METRIC_LIST_P50, METRIC_LIST_P90, METRIC_LIST_P99, /* of a histogram, which also has a sum and a mean */
    METRIC_LIST_SPREAD
};
extern const char *const metric_list_spread_names[METRIC_LIST_SPREAD];

struct metric_item {
    const char *name;       /* "x_total{a=\"b\"}" */
    const char *doc, *unit; /* "": none */
    const char *job, *user; /* NULL: the whole node */
    enum metric_list_type type;
    double value, ts_s;     /* NAN: missing; ts since 1970 */
    double spread[METRIC_LIST_SPREAD]; /* of a gauge or a histogram; NAN: missing, or above the last bound */
    const char *buckets;    /* of a histogram, as JSON: [[0.1, 3], [null, 4]], cumulative counts per bound; NULL: none */
};

struct metric_list {
    struct metric_item *items;
    size_t count, capacity;
    struct metric_list_piece *pieces; /* memory of the strings */
};

void metric_list_init(struct metric_list *list);
void metric_list_clear(struct metric_list *list);

/* Adds an empty item; NULL: out of memory. Its strings must come from metric_list_text. */
struct metric_item *metric_list_add(struct metric_list *list);

/* A copy of the string that lives as long as the list; "" if out of memory. */
const char *metric_list_text(struct metric_list *list, const char *text);

/* Adds the metrics of a response. Accepts any input. CORRUPT: it is not such a response; NOMEM. */
enum err metric_list_read(struct metric_list *list, const char *text, size_t size);

/* tau's name of the type: "TAU_METRIC_COUNTER". */
const char *metric_list_type_name(enum metric_list_type type);

#endif
