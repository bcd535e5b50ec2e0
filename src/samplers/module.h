/* Samplers that are a library of their own, sample-NAME.so, because they need libraries that most nodes do not use. A
 * module exports one constant, sonde_module. It is loaded when its sensor is there, and never unloaded: batches and tables
 * may point into it. */
#ifndef SONDE_SAMPLERS_MODULE_H
#define SONDE_SAMPLERS_MODULE_H

#include "samplers/sampler.h"

#define MODULE_VERSION 1 /* of struct sampler and all that it hands over */
#define MODULE_SYMBOL "sonde_module"

/* Of what is handed over: a module of another build with another layout is found out by it. */
#define MODULE_SIZES \
    { sizeof(struct sampler), sizeof(struct sampler_context), sizeof(struct metric), sizeof(struct set), \
      sizeof(struct sample), sizeof(struct batch), sizeof(struct job) }

struct module {
    uint32_t version;  /* MODULE_VERSION when it was built */
    uint32_t sizes[7]; /* MODULE_SIZES then */
    const struct sampler *sampler;
};

/* Written once in a module. */
#define MODULE_EXPORT(its_sampler) \
    extern const struct module sonde_module; \
    __attribute__((visibility("default"))) const struct module sonde_module = { \
        MODULE_VERSION, MODULE_SIZES, &(its_sampler) }

/* The sampler of sample-NAME.so: in $SONDE_MODULES, beside the executable, or where it was installed with it. ABSENT: there
 * is no such file, or a library that it needs is not there; CORRUPT: it is of another version of Sonde. why, when it is not
 * NULL, gets a sentence that names the file. */
enum err module_load(const char *name, const struct sampler **sampler, char *why, size_t why_size);

#endif
