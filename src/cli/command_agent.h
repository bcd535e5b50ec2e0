/* Requests to an agent, for commands: prints a helpful message when one fails. */
#ifndef SONDE_CLI_COMMAND_AGENT_H
#define SONDE_CLI_COMMAND_AGENT_H

#include "cli/command.h"

#include "api/agent_client.h"

#define COMMAND_ANSWER_MAX (512u << 20)

/* where: as in agent_client_request(); NULL is the agent of this node. Returns EXIT_GOOD if the agent has reported
 * success; otherwise prints what went wrong. */
int command_request(const struct command_call *call, const char *where, const char *method, const char *path,
                    struct bytes body, struct buf *answer);

/* Same without printing: the error message is added to error. */
enum err command_try_request(const char *where, const char *method, const char *path, struct bytes body,
                             struct buf *answer, struct buf *error);

/* Appends the value of the field name of a JSON answer to text, or nothing if it has no such field. */
void command_answer_string(const struct buf *answer, const char *name, struct buf *text);

#endif
