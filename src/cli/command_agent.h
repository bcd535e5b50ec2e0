/* What commands that talk to an agent share: a request, and a message that helps when it fails. */
#ifndef SONDE_CLI_COMMAND_AGENT_H
#define SONDE_CLI_COMMAND_AGENT_H

#include "net/http_client.h"
#include "cli/command.h"

#define COMMAND_ANSWER_MAX (512u << 20)

/* where: as of ask(); NULL is this machine's agent. Returns EXIT_GOOD when the agent has answered with success; else the
 * person was told why not. */
int command_ask(const struct command_call *call, const char *where, const char *method, const char *path,
                struct bytes body, struct buf *answer);

/* The same without a message: an explanation is added to why. */
enum err command_ask_quietly(const char *where, const char *method, const char *path, struct bytes body,
                             struct buf *answer, struct buf *why);

/* {name: TEXT} of an answer into text, which is left as it is where there is none. */
void command_answer_text(const struct buf *answer, const char *name, struct buf *text);

#endif
