/* Reads all threads first and keeps them: both come in the order of the processes' numbers. */
#include "report/process_threads.h"

#include "base/vec.h"

#include <stdlib.h>

struct process_threads {
    struct thread *threads;
    uint32_t *numbers; /* of the threads' processes */
    size_t count, capacity, at;
    enum err (*each)(void *context, uint32_t number, const struct process *process, const struct thread *threads,
                     size_t count);
    void *context;
};

static enum err grow(struct process_threads *state)
{
    size_t capacity = vec_capacity(state->capacity, state->count + 1, VEC_MAX);
    if (array_resize(state->threads, capacity) || array_resize(state->numbers, capacity))
        return NOMEM;
    state->capacity = capacity;
    return OK;
}

static enum err keep_thread(void *context, uint32_t number, const struct thread *thread)
{
    struct process_threads *state = context;
    if (state->count == state->capacity && grow(state))
        return NOMEM;
    state->numbers[state->count] = number;
    state->threads[state->count++] = *thread;
    return OK;
}

static enum err pass_process(void *context, uint32_t number, const struct process *process)
{
    struct process_threads *state = context;
    while (state->at < state->count && state->numbers[state->at] < number)
        state->at++;
    size_t first = state->at;
    while (state->at < state->count && state->numbers[state->at] == number)
        state->at++;
    const struct thread *threads = state->threads ? state->threads + first : NULL;
    return state->each(state->context, number, process, threads, state->at - first);
}

enum err process_threads_each(struct store *store, int64_t job_row,
                              enum err (*each)(void *context, uint32_t number, const struct process *process,
                                               const struct thread *threads, size_t count),
                              void *context)
{
    struct process_threads state = { .each = each, .context = context };
    enum err err = store_threads(store, job_row, keep_thread, &state);
    if (!err)
        err = store_processes(store, job_row, pass_process, &state);
    free(state.threads);
    free(state.numbers);
    return err;
}
