/* How an agent tells programs that it wants their boards (model/board.h): a file that it keeps locked. Programs that end while it
 * is there, or within ten minutes after it was, leave their boards to it. */
#ifndef SONDE_SAMPLE_BOARD_CLAIM_H
#define SONDE_SAMPLE_BOARD_CLAIM_H

#include "base/err.h"

/* Root claims the boards of all users, others their own. The caller keeps *fd, and closes it at the end; the claim then lasts for
 * BOARD_CLAIM_LASTS_S. folder: NULL is BOARD_FOLDER. AGAIN: another agent has it; DENIED: a file of somebody else's is in its
 * place; ABSENT: there is no such folder. */
enum err board_claim(const char *folder, int *fd);

/* Now and then, at least once in BOARD_CLAIM_LASTS_S: counts from here when the agent is killed. */
void board_claim_touch(int fd);

#endif
