/* Boards that nobody will read any more: of programs that were killed while no agent ran. An agent removes those of all; where
 * there is none, sonde run removes those of its user, and doctor tells of them. */
#ifndef SONDE_APPMETRICS_SEGMENT_LEFTOVERS_H
#define SONDE_APPMETRICS_SEGMENT_LEFTOVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_LEFTOVERS_OLD_S (24 * 3600) /* by then no agent wants them that is being started anew, and no sonde submit */

#define SEGMENT_LEFTOVERS_GRACE_S 60 /* the same of folders that only an agent wants, and none is there */

struct segment_leftovers {
    size_t count;   /* boards, and folders of runs, whose process is gone */
    uint64_t bytes; /* of memory that the boards take */
    size_t removed;
    bool is_claimed; /* an agent is there: they are its to read and remove */
};

/* Looks for those of this user in dir that have not been written to for old_s seconds, or were left to an agent, and removes
 * them if may_remove and no agent is there. */
void segment_leftovers_find(const char *dir, uint64_t old_s, bool may_remove, struct segment_leftovers *leftovers);

#endif
