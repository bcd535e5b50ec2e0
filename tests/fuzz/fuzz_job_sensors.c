/* Arbitrary input of the job samplers: taskstats answers, lists of tasks, files of processes. The first byte selects
 * which. */
#include "samplers/jobs/job_tasks.h"
#include "samplers/jobs/process_files.h"
#include "proc/taskstats_queries.h"
#include "proc/taskstats.h"

#include <stdlib.h>
#include <string.h>

int fuzz_job_sensors(const uint8_t *data, size_t size);

static const struct taskstats_accounting meaning = { .io = true, .delays = true };

static void check_use(struct bytes stats)
{
    struct taskstats_usage use;
    if (taskstats_extract(stats, &meaning, &use) == OK && use.known >> TASKSTATS_SIZE)
        abort();
}

static void check_answer(void *context, size_t place, struct bytes stats)
{
    const struct bytes *datagram = context;
    if (place >= 4 || stats.data < datagram->data || stats.data + stats.size > datagram->data + datagram->size)
        abort();
    check_use(stats);
}

static void check_thread(void *context, const struct taskstats_exit *thread)
{
    (void)context;
    check_use(thread->stats);
}

static void check_list(const char *text)
{
    struct pidlist list = { 0 };
    size_t used = 0;
    enum err err = job_tasks_parse(text, &list, &used);
    if (used > strlen(text) || (err == OK && strlen(text + used) > 0 && strspn(text + used, "0123456789") != strlen(text + used)))
        abort();
    for (size_t i = 0; i < list.count; i++)
        if (!list.ids[i])
            abort();
    pidlist_clear(&list);
}

static void check_process(const char *text)
{
    struct process_values values = { 0 };
    process_files_parse(text, &values);
    if (values.known >> PROCESS_FIELDS_SIZE || values.state == '\n')
        abort();
}

int fuzz_job_sensors(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct bytes rest = { (const char *)data + 1, size - 1 };
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, rest.data, rest.size);
    text[rest.size] = '\0';
    switch (data[0]) {
    case 'q': taskstats_queries_parse(rest, 31, 0, 4, check_answer, &rest); break;
    case 'x': taskstats_exits_parse_raw(rest, 31, check_thread, NULL); break;
    case 's': check_use(rest); break;
    case 'l': check_list(text); break;
    default: check_process(text); break;
    }
    free(text);
    return 0;
}
