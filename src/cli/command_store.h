/* The store as commands meet it: what does not work is said on stderr, with what to do. */
#ifndef SONDE_CLI_COMMAND_STORE_H
#define SONDE_CLI_COMMAND_STORE_H

#include "cli/command.h"
#include "store/store.h"

/* Opens the store of --db, or says why not. False: return EXIT_FAILED. */
bool command_store_open(const struct command_call *call, enum store_mode mode, struct store **store);

/* Finds the job of this id (NULL: the last), or says why not. False: return EXIT_FAILED. */
bool command_store_job(const struct command_call *call, struct store *store, const char *job_id, struct store_job *job);

#endif
