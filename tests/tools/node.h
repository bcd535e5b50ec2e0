/* The root of a captured node: tests/nodes/NAME. */
#ifndef SONDE_TESTS_TOOLS_NODE_H
#define SONDE_TESTS_TOOLS_NODE_H

#include <stdio.h>
#include <stdlib.h>

/* Valid until the next call. */
static inline const char *node_root(const char *name)
{
    static char path[4096];
    const char *source = getenv("SOURCE");
    snprintf(path, sizeof path, "%s/tests/nodes/%s", source ? source : ".", name);
    return path;
}

#endif
