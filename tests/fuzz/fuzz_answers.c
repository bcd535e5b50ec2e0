/* What an agent answers, with any content: the readers of sonde ls, top and ctl. */
#include "show/agent_state.h"
#include "show/jobs_now.h"
#include "show/ls.h"
#include "show/top.h"

#include <stdlib.h>

int fuzz_answers(const uint8_t *data, size_t size);

static void show_sets(const char *text, size_t size, struct buf *out)
{
    struct sets sets;
    if (sets_read(&sets, text, size))
        return;
    bool *chosen = calloc(sets.count + 1, sizeof *chosen);
    for (size_t i = 0; chosen && i < sets.count; i++) {
        chosen[i] = true;
        ls_values(out, &sets, &sets.items[i], LS_LDMS);
    }
    if (chosen)
        ls_table(out, &sets, chosen, LS_OURS);
    free(chosen);
    sets_clear(&sets);
}

static void show_jobs(const char *text, size_t size, const struct terminal *terminal, struct buf *out)
{
    struct jobs_now now, before;
    if (jobs_now_read(&now, text, size))
        return;
    if (!jobs_now_read(&before, text, size)) {
        jobs_now_compare(&now, &before);
        jobs_now_clear(&before);
    }
    top_sort(&now, TOP_IO, false);
    top_print(out, &now, &(struct top_look){ .rows = 5 }, terminal);
    jobs_now_clear(&now);
}

int fuzz_answers(const uint8_t *data, size_t size)
{
    struct terminal terminal = { .utf8 = true, .width = 80 };
    struct buf out;
    buf_init(&out, 1u << 22);
    show_sets((const char *)data, size, &out);
    show_jobs((const char *)data, size, &terminal, &out);
    agent_state_print((const char *)data, size, &terminal, &out);
    buf_clear(&out);
    return 0;
}
