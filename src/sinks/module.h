/* Sinks that are a library of their own, because they need libraries that most commands do not use: sink-kafka.so, or
 * one library for several sinks (sink-http.so). A module exports one constant, sonde_sinks. It is never unloaded. */
#ifndef SONDE_SINKS_MODULE_H
#define SONDE_SINKS_MODULE_H

#include "base/log.h"
#include "sinks/sink.h"

#define SINK_MODULE_VERSION 4 /* of struct sink and all that it is handed */
#define SINK_MODULE_SYMBOL "sonde_sinks"

/* Of what is handed over: a module of another build with another layout is found out by it. */
#define SINK_MODULE_SIZES \
    { sizeof(struct sink), sizeof(struct setting), sizeof(struct metric), sizeof(struct set), sizeof(struct sample), \
      sizeof(struct batch), sizeof(struct job) }

struct sink_module {
    uint32_t version;  /* SINK_MODULE_VERSION when it was built */
    uint32_t sizes[7]; /* SINK_MODULE_SIZES then */
    const struct sink *const *sinks; /* NULL at the end */
    void (*set_log_level)(int level); /* it has a log of its own */
};

/* Written once in a module, with its sinks. */
#define SINK_MODULE_EXPORT(...) \
    static const struct sink *const sink_module_list[] = { __VA_ARGS__, NULL }; \
    extern const struct sink_module sonde_sinks; \
    __attribute__((visibility("default"))) const struct sink_module sonde_sinks = { \
        SINK_MODULE_VERSION, SINK_MODULE_SIZES, sink_module_list, log_set_level }

/* Which module has which sink, and what a list of sinks says of those that are not built in, without loading anything. */
struct sink_in_module {
    const char *sink, *module; /* "elasticsearch", "sink-http.so" */
    const char *about;
};

extern const struct sink_in_module sink_modules[]; /* .sink NULL at the end */

#endif
