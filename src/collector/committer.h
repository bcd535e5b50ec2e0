/* A thread that syncs the journal, so that the collector's loop never waits for the disk. */
#ifndef SONDE_COLLECTOR_COMMITTER_H
#define SONDE_COLLECTOR_COMMITTER_H

#include "journal/journal.h"

struct committer;

struct committer_figures {
    uint64_t syncs, sync_ns, longest_ns;
};

enum err committer_open(struct committer **committer, struct journal *journal);
void committer_close(struct committer **committer);

int committer_fd(const struct committer *committer); /* readable: a sync has ended; get its result */
void committer_start(struct committer *committer);   /* only one at a time */
enum err committer_result(struct committer *committer);
void committer_figures(struct committer *committer, struct committer_figures *figures);

#endif
