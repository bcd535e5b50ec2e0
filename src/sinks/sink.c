/* The list of built-in sinks. To add one, declare it and list it below. */
#include "sinks/sink.h"

#include <string.h>

extern const struct sink sink_colmet, sink_colmet_stdout, sink_csv, sink_json, sink_null, sink_stdout, sink_store;

const struct sink *const sink_all[] = { &sink_colmet, &sink_colmet_stdout, &sink_csv,   &sink_json,
                                        &sink_null,   &sink_stdout,        &sink_store, NULL };

const struct sink *sink_find(const char *name)
{
    for (const struct sink *const *sink = sink_all; *sink; sink++)
        if (strcmp((*sink)->name, name) == 0)
            return *sink;
    return NULL;
}
