/* Sinks in shared libraries ("modules"), because they need libraries that most commands do not use: sink-kafka.so,
 * or one module for several sinks (sink-http.so). A module exports one constant, sonde_sinks. It is never unloaded. */
#ifndef SONDE_SINKS_SINK_MODULE_H
#define SONDE_SINKS_SINK_MODULE_H

#include "base/log.h"
#include "sinks/sink.h"

#define SINK_MODULE_VERSION 4 /* of struct sink and everything passed to it */
#define SINK_MODULE_SYMBOL "sonde_sinks"

/* Sizes of the structs passed to a sink: detects a module that was built with other layouts. */
#define SINK_MODULE_SIZES \
    { sizeof(struct sink), sizeof(struct setting), sizeof(struct metric), sizeof(struct set), sizeof(struct sample), \
      sizeof(struct batch), sizeof(struct job) }

struct sink_module {
    uint32_t version;  /* SINK_MODULE_VERSION when it was built */
    uint32_t sizes[7]; /* SINK_MODULE_SIZES when it was built */
    const struct sink *const *sinks; /* terminated by NULL */
    void (*set_log_level)(int level); /* a module has its own copy of base/log.c */
};

/* Exports the sinks of a module: use it once per module. */
#define SINK_MODULE_EXPORT(...) \
    static const struct sink *const sink_module_list[] = { __VA_ARGS__, NULL }; \
    extern const struct sink_module sonde_sinks; \
    __attribute__((visibility("default"))) const struct sink_module sonde_sinks = { \
        SINK_MODULE_VERSION, SINK_MODULE_SIZES, sink_module_list, log_set_level }

/* Which module contains which sink, and its description for lists, without loading the module. */
struct sink_in_module {
    const char *sink, *module; /* "elasticsearch", "sink-http.so" */
    const char *about;
};

extern const struct sink_in_module sink_modules[]; /* terminated by .sink NULL */

/* The sink of this name, built in or from its module. ABSENT: there is none, or its module cannot be loaded;
 * CORRUPT: the module is of another version of Sonde. error gets the reason, as one sentence. */
enum err sink_module_load(const char *name, const struct sink **sink, char *error, size_t error_size);

#endif
