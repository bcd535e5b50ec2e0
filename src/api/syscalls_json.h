/* Counted system calls on their way from the agent to a user's sonde run: [{"set": "syscall", "instance": "read", "values":
 * [12, 0, 4096, null]}, …], null is what is not known. */
#ifndef SONDE_API_SYSCALLS_JSON_H
#define SONDE_API_SYSCALLS_JSON_H

#include "net/json.h"
#include "net/json_read.h"
#include "model/batch.h"

/* The samples of batch, as the value of a key. */
void syscalls_json_write(struct json *json, const struct batch *batch);

/* Adds samples to out; those of sets that we do not know are passed over. False: it is not that. */
bool syscalls_json_read(struct json_read *read, uint64_t time_ns, struct batch *out);

#endif
