/* Two eventfds: one wakes the thread, the other its owner. */
#include "collector/committer.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct committer {
    struct journal *journal;
    pthread_t thread;
    int start_fd, done_fd;
    bool is_started;
    atomic_bool stops;
    _Atomic enum err result;
    atomic_ullong syncs, sync_ns, longest_ns;
};

static void sync_once(struct committer *committer)
{
    uint64_t begin_ns = clock_monotonic_ns(), one = 1;
    atomic_store(&committer->result, journal_sync(committer->journal));
    uint64_t took_ns = clock_monotonic_ns() - begin_ns;
    committer->syncs++;
    committer->sync_ns += took_ns;
    if (took_ns > committer->longest_ns)
        committer->longest_ns = took_ns;
    (void)!write(committer->done_fd, &one, sizeof one);
}

static void *run(void *argument)
{
    struct committer *committer = argument;
    uint64_t count;
    while (!atomic_load(&committer->stops))
        if (read(committer->start_fd, &count, sizeof count) == (ssize_t)sizeof count && !atomic_load(&committer->stops))
            sync_once(committer);
    return NULL;
}

enum err committer_open(struct committer **committer, struct journal *journal)
{
    struct committer *new = *committer = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->journal = journal;
    new->start_fd = eventfd(0, EFD_CLOEXEC);
    new->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum err err = new->start_fd < 0 || new->done_fd < 0 ? err_from_errno(errno) : OK;
    if (!err)
        err = err_from_errno(pthread_create(&new->thread, NULL, run, new));
    new->is_started = !err;
    if (err)
        committer_close(committer);
    return err;
}

void committer_start(struct committer *committer)
{
    uint64_t one = 1;
    (void)!write(committer->start_fd, &one, sizeof one);
}

void committer_close(struct committer **committer)
{
    struct committer *old = *committer;
    if (!old)
        return;
    atomic_store(&old->stops, true);
    if (old->is_started) {
        committer_start(old);
        pthread_join(old->thread, NULL);
    }
    if (old->start_fd >= 0)
        close(old->start_fd);
    if (old->done_fd >= 0)
        close(old->done_fd);
    free(old);
    *committer = NULL;
}

int committer_fd(const struct committer *committer)
{
    return committer->done_fd;
}

enum err committer_result(struct committer *committer)
{
    uint64_t ignored;
    if (read(committer->done_fd, &ignored, sizeof ignored) != (ssize_t)sizeof ignored)
        return AGAIN;
    return atomic_load(&committer->result);
}

void committer_figures(struct committer *committer, struct committer_figures *figures)
{
    *figures = (struct committer_figures){ committer->syncs, committer->sync_ns, committer->longest_ns };
}
