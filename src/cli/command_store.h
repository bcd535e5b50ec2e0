/* The job database, for commands: prints what went wrong and how to fix it. */
#ifndef SONDE_CLI_COMMAND_STORE_H
#define SONDE_CLI_COMMAND_STORE_H

#include "cli/command.h"
#include "store/store.h"

/* Opens the database of --db, or prints an error. False: return EXIT_FAILED. */
bool command_store_open(const struct command_call *call, enum store_mode mode, struct store **store);

/* Finds the job with this id (NULL: the last), or prints an error. False: return EXIT_FAILED. */
bool command_store_job(const struct command_call *call, struct store *store, const char *job_id, struct store_job *job);

#endif
