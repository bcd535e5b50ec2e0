/* System-call counts from the agent to a user's `sonde run` (POST /job): [{"set": "syscall", "instance": "read",
 * "values": [12, 0, 4096, null]}, …], with null for missing values. */
#ifndef SONDE_API_SYSCALLS_JSON_H
#define SONDE_API_SYSCALLS_JSON_H

#include "net/json.h"
#include "net/json_read.h"
#include "model/batch.h"

/* Writes the samples of batch as a JSON array. */
void syscalls_json_write(struct json *json, const struct batch *batch);

/* Adds samples to out, and skips those of unknown sets. False: not an array. */
bool syscalls_json_read(struct json_read *read, uint64_t time_ns, struct batch *out);

#endif
