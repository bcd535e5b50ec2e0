/* Jobs as a table or as JSON: what sonde list prints. */
#ifndef SONDE_REPORT_LIST_H
#define SONDE_REPORT_LIST_H

#include "net/json.h"
#include "report/table.h"
#include "store/store.h"

#include <time.h>

struct list {
    struct terminal terminal;
    struct table table;
    size_t jobs;
    struct tm today;
    uint64_t now_ns;
};

void list_init(struct list *list, struct terminal terminal, uint64_t now_ns);
void list_clear(struct list *list);
void list_add(struct list *list, const struct store_job *job);
enum err list_print(const struct list *list, struct buf *out);

/* One job as an object, without keys for unknown values. */
void list_job_json(struct json *json, const struct store_job *job, uint64_t now_ns);

/* Numbers of a job used by several commands. False: unknown. */
bool list_cpu_us(const struct store_job *job, uint64_t *cpu_us);        /* the kernel's total, or what was recorded if larger */
bool list_memory_bytes(const struct store_job *job, uint64_t *bytes);   /* peak of all processes, else of the largest one */
bool list_cores_used_milli(const struct store_job *job, uint64_t *milli); /* average */
bool list_has_processes(const struct store_job *job); /* sonde run recorded its processes: they can be counted */

#endif
