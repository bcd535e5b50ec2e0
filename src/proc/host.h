/* What this node is: name, kernel, processor, cores, memory. */
#ifndef SONDE_PROC_HOST_H
#define SONDE_PROC_HOST_H

#include "model/run.h"

struct host_facts {
    char name[256], kernel[128], cpu_model[128]; /* "": not known */
    uint64_t cores, memory_bytes;                /* online; 0: not known */
};

/* root "" or NULL: this machine. What cannot be read stays unknown. */
void host_read(const char *root, struct host_facts *facts);

/* As the model has it; borrows the texts of facts. */
struct host host_from_facts(const struct host_facts *facts);

#endif
