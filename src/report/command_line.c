/* Threads are read first and kept: both come in the order of the processes' numbers. */
#include "report/command_line.h"

#include "base/vec.h"

#include <stdlib.h>

struct joined {
    struct thread *threads;
    uint32_t *numbers; /* of their processes */
    size_t count, room, at;
    enum err (*each)(void *context, uint32_t number, const struct process *process, const struct thread *threads,
                     size_t count);
    void *context;
};

static enum err grow(struct joined *joined)
{
    size_t room = vec_capacity(joined->room, joined->count + 1, VEC_MAX);
    if (array_resize(joined->threads, room) || array_resize(joined->numbers, room))
        return NOMEM;
    joined->room = room;
    return OK;
}

static enum err keep_thread(void *context, uint32_t number, const struct thread *thread)
{
    struct joined *joined = context;
    if (joined->count == joined->room && grow(joined))
        return NOMEM;
    joined->numbers[joined->count] = number;
    joined->threads[joined->count++] = *thread;
    return OK;
}

static enum err pass_process(void *context, uint32_t number, const struct process *process)
{
    struct joined *joined = context;
    while (joined->at < joined->count && joined->numbers[joined->at] < number)
        joined->at++;
    size_t first = joined->at;
    while (joined->at < joined->count && joined->numbers[joined->at] == number)
        joined->at++;
    const struct thread *threads = joined->threads ? joined->threads + first : NULL;
    return joined->each(joined->context, number, process, threads, joined->at - first);
}

enum err joined_processes(struct store *store, int64_t job_row,
                          enum err (*each)(void *context, uint32_t number, const struct process *process,
                                           const struct thread *threads, size_t count),
                          void *context)
{
    struct joined joined = { .each = each, .context = context };
    enum err err = store_threads(store, job_row, keep_thread, &joined);
    if (!err)
        err = store_processes(store, job_row, pass_process, &joined);
    free(joined.threads);
    free(joined.numbers);
    return err;
}
