/* How an agent makes programs leave their segments to it when they end: a locked file (SEGMENT_CLAIM in
 * segment_format.h). While it is locked, and for ten minutes after that, programs that end leave their segments
 * behind. */
#ifndef SONDE_APPMETRICS_SEGMENT_CLAIM_H
#define SONDE_APPMETRICS_SEGMENT_CLAIM_H

#include "base/file.h"

#include <stdbool.h>
#include <stdint.h>

#define SEGMENT_CLAIM_NAME_MAX 64
#define SEGMENT_CLAIM_STATE_SUFFIX ".kept"   /* after its name: the file of saved_state.h */
#define SEGMENT_CLAIM_STALE_S (24 * 3600)    /* that of a socket is removed by the next agent if it was not held for so long */

/* The name of the file. socket: as in names of segments; "": none. */
void segment_claim_name(char name[SEGMENT_CLAIM_NAME_MAX], uint32_t uid, const char *socket);

/* Root claims the segments of all users, others their own; with a socket, only those that name it. The caller closes
 * *fd at the end; the claim then lasts for SEGMENT_CLAIM_LASTS_S. dir NULL: SEGMENT_DIR. AGAIN: another agent has it;
 * DENIED: the file belongs to another user (root replaces it, and logs that); ABSENT: there is no such directory. */
enum err segment_claim_take(const char *dir, const char *socket, int *fd);

/* The path of the claim with a suffix. USAGE: too long. */
enum err segment_claim_path(char path[FILE_PATH_MAX], const char *dir, const char *socket, const char *suffix);

/* Does an agent of root or of this user claim segments in dir that name this socket ("": none)? The same test as in
 * programs (probe/segment/file.c). */
bool segment_claim_is_held(const char *dir, const char *socket);

/* The same for one claim: of root (0) or of a user, for all segments or for those that name the socket. */
bool segment_claim_is_held_by(const char *dir, uint32_t uid, const char *socket);

/* The same, for an agent that runs now. */
bool segment_claim_is_locked_by(const char *dir, uint32_t uid, const char *socket);

/* To be called at least once in SEGMENT_CLAIM_LASTS_S, which counts from here if the agent is killed. */
void segment_claim_touch(int fd);

#endif
