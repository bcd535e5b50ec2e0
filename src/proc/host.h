/* The facts of this node: name, kernel, processor, cores, memory. */
#ifndef SONDE_PROC_HOST_H
#define SONDE_PROC_HOST_H

#include "model/run.h"

struct host_facts {
    char name[256], kernel[128], cpu_model[128]; /* "": unknown */
    uint64_t cores, memory_bytes;                /* online cores; 0: unknown */
};

/* root "" or NULL: this node. What cannot be read stays unknown. */
void host_read(const char *root, struct host_facts *facts);

/* Converts to the model's struct; borrows the strings of facts. */
struct host host_from_facts(const struct host_facts *facts);

#endif
