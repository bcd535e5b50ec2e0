/* How an agent tells programs that it wants their boards (appmetrics/segment_format.h): a file that it keeps locked.
 * Programs that end while it is there, or within ten minutes after it was, leave their boards to it. */
#ifndef SONDE_APPMETRICS_SEGMENT_CLAIM_H
#define SONDE_APPMETRICS_SEGMENT_CLAIM_H

#include "base/file.h"

#include <stdbool.h>
#include <stdint.h>

#define SEGMENT_CLAIM_NAME_MAX 64
#define SEGMENT_CLAIM_STATE_SUFFIX ".kept" /* behind its name: what its agent keeps for the next one */
#define SEGMENT_CLAIM_STALE_S (24 * 3600) /* one of a socket that nobody has held for so long is removed by the next agent */

/* The file's name; socket as in the names of boards, "": of all. */
void segment_claim_name(char name[SEGMENT_CLAIM_NAME_MAX], uint32_t uid, const char *socket);

/* Root claims the boards of all users, others their own; with a socket, those alone which name it. The caller keeps *fd, and
 * closes it at the end; the claim then lasts for SEGMENT_CLAIM_LASTS_S. dir: NULL is SEGMENT_DIR. AGAIN: another agent has it;
 * DENIED: a file of somebody else's is in its place, which root takes, and says so; ABSENT: there is no such dir. */
enum err segment_claim_take(const char *dir, const char *socket, int *fd);

/* A name beside the claim, of the same agent. USAGE: too long. */
enum err segment_claim_path(char path[FILE_PATH_MAX], const char *dir, const char *socket, const char *suffix);

/* Does an agent of root or of this user want the boards of dir that name this socket (""): is one there, or was it within
 * SEGMENT_CLAIM_LASTS_S? As programs ask it (probe/segment/file.c). */
bool segment_claim_is_held(const char *dir, const char *socket);

/* The same of one of them: of root (0), or of this user; of all boards, or of those alone which name the socket. */
bool segment_claim_is_held_by(const char *dir, uint32_t uid, const char *socket);

/* Now and then, at least once in SEGMENT_CLAIM_LASTS_S: counts from here when the agent is killed. */
void segment_claim_touch(int fd);

#endif
