/* Answers of an agent with any content: the readers of sonde ls, top, ctl and get. */
#include "net/json_read.h"
#include "report/agent_state.h"
#include "api/jobs_client.h"
#include "report/ls.h"
#include "report/metric_names.h"
#include "report/metric_print.h"
#include "report/top.h"

#include <stdlib.h>

int fuzz_answers(const uint8_t *data, size_t size);

static void show_sets(const char *text, size_t size, struct buf *out)
{
    struct sets_answer sets;
    if (sets_client_read(&sets, text, size))
        return;
    bool *chosen = calloc(sets.count + 1, sizeof *chosen);
    for (size_t i = 0; chosen && i < sets.count; i++) {
        chosen[i] = true;
        ls_values(out, &sets, &sets.items[i], LS_LDMS);
    }
    if (chosen)
        ls_table(out, &sets, chosen, LS_OURS);
    free(chosen);
    sets_client_clear(&sets);
}

static void show_jobs(const char *text, size_t size, const struct terminal *terminal, struct buf *out)
{
    struct jobs_answer now, before;
    if (jobs_client_read(&now, text, size))
        return;
    if (!jobs_client_read(&before, text, size)) {
        jobs_client_set_rates(&now, &before);
        jobs_client_clear(&before);
    }
    top_sort(&now, TOP_IO, false);
    top_print(out, &now, &(struct top_view){ .rows = 5 }, terminal);
    jobs_client_clear(&now);
}

/* Any input yields valid JSON. */
static void show_metrics(const char *text, size_t size, const struct terminal *terminal, struct buf *out)
{
    struct metric_list list;
    struct json_read read;
    metric_list_init(&list);
    if (!metric_list_read(&list, text, size)) {
        for (int format = METRIC_MD; format <= METRIC_TXT; format++)
            metric_print(out, &list, METRIC_ALL, (enum metric_format)format, terminal);
        buf_reset(out);
        metric_print(out, &list, METRIC_ALL, METRIC_JSON, terminal);
        json_read_init(&read, buf_text(out), out->size);
        json_read_skip(&read);
        if (!buf_err(out) && !json_read_end(&read))
            abort();
        for (size_t i = 0; i < list.count; i++) {
            metric_names_quote(out, list.items[i].name);
            metric_names_add_query(out, list.items[i].name);
            for (const char *rest = list.items[i].name; metric_names_next(&rest, out);)
                ;
        }
    }
    metric_list_clear(&list);
}

int fuzz_answers(const uint8_t *data, size_t size)
{
    struct terminal terminal = { .utf8 = true, .width = 80 };
    struct buf out;
    buf_init(&out, 1u << 22);
    show_sets((const char *)data, size, &out);
    show_jobs((const char *)data, size, &terminal, &out);
    show_metrics((const char *)data, size, &terminal, &out);
    agent_state_print((const char *)data, size, &terminal, &out);
    buf_clear(&out);
    return 0;
}
