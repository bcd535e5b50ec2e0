/* The file of state.h: read when an agent begins, written anew when there is news in it, and at the end. For
 * segments.c, and for an agent that reads no boards. */
#ifndef SONDE_APPMETRICS_STATE_FILE_H
#define SONDE_APPMETRICS_STATE_FILE_H

#include "base/file.h"
#include "appmetrics/state.h"

/* What boards add to the file, and take out of it. */
struct program_keeper_boards {
    void (*add)(void *context, struct buf *file);            /* program_kept_board of each */
    bool (*add_bases)(void *context, struct buf *file);      /* under the table's lock; as program_bases_add_all */
    bool (*add_rank_bases)(void *context, struct buf *file); /* the same, as program_bases_add_all_ranks */
    struct program_bases *bases;
    program_kept_hear *hear;
    void *context;
};

struct program_keeper {
    struct program_table *table; /* borrowed */
    char path[FILE_PATH_MAX];    /* "": nothing is kept */
    uint64_t next_ns;            /* not before then again */
    bool cannot_write;           /* and it was said */
};

/* What an agent before this one has left: once, since from then on it is ours. boards: NULL: there are none. */
void program_keeper_read(struct program_keeper *keeper, const struct program_keeper_boards *boards);

/* Where there is much to write it is done so seldom that it takes a twentieth of our time, but for the last one. False: later. */
bool program_keeper_write(struct program_keeper *keeper, const struct program_keeper_boards *boards, bool is_last);

#endif
