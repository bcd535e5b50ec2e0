/* How an agent tells programs that it wants their boards (model/board.h): a file that it keeps locked. Programs that end while it
 * is there, or within ten minutes after it was, leave their boards to it. */
#ifndef SONDE_SAMPLE_BOARD_CLAIM_H
#define SONDE_SAMPLE_BOARD_CLAIM_H

#include "base/file.h"

#include <stdbool.h>
#include <stdint.h>

/* Root claims the boards of all users, others their own. The caller keeps *fd, and closes it at the end; the claim then lasts for
 * BOARD_CLAIM_LASTS_S. folder: NULL is BOARD_FOLDER. AGAIN: another agent has it; DENIED: a file of somebody else's is in its
 * place, which root takes, and says so; ABSENT: there is no such folder. */
enum err board_claim(const char *folder, int *fd);

/* A name beside the claim, of the same agent. USAGE: too long. */
enum err board_claim_beside(char path[FILE_PATH_MAX], const char *folder, const char *suffix);

/* Does an agent of root or of this user want the boards of folder: is one there, or was it within BOARD_CLAIM_LASTS_S? As
 * programs ask it (probe/board_file.c). */
bool board_claim_is_held(const char *folder);

/* The same of one of them: of root (0), or of this user. */
bool board_claim_is_held_by(const char *folder, uint32_t uid);

/* Now and then, at least once in BOARD_CLAIM_LASTS_S: counts from here when the agent is killed. */
void board_claim_touch(int fd);

#endif
