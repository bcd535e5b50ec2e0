/* The thread that waits for the disk, so that the collector need not: told to, it syncs the journal and says when it is done. */
#ifndef SONDE_COLLECTOR_COMMITTER_H
#define SONDE_COLLECTOR_COMMITTER_H

#include "journal/journal.h"

struct committer;

struct committer_figures {
    uint64_t syncs, sync_ns, longest_ns;
};

enum err committer_open(struct committer **committer, struct journal *journal);
void committer_close(struct committer **committer);

int committer_fd(const struct committer *committer); /* readable: a sync has ended; ask for its result */
void committer_begin(struct committer *committer);   /* one at a time */
enum err committer_result(struct committer *committer);
void committer_figures(struct committer *committer, struct committer_figures *figures);

#endif
