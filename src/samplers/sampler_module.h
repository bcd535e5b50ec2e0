/* Samplers that are a library of their own, sample-NAME.so, because they need libraries that most nodes do not use. A
 * module exports one constant, sonde_module. It is loaded when its sensor is there, and never unloaded: batches and tables
 * may point into it. */
#ifndef SONDE_SAMPLERS_SAMPLER_MODULE_H
#define SONDE_SAMPLERS_SAMPLER_MODULE_H

#include "samplers/sampler.h"

#define SAMPLER_MODULE_VERSION 1 /* of struct sampler and all that it hands over */
#define SAMPLER_MODULE_SYMBOL "sonde_module"

/* Of what is handed over: a module of another build with another layout is found out by it. */
#define SAMPLER_MODULE_SIZES \
    { sizeof(struct sampler), sizeof(struct sampler_context), sizeof(struct metric), sizeof(struct set), \
      sizeof(struct sample), sizeof(struct batch), sizeof(struct job) }

struct sampler_module {
    uint32_t version;  /* SAMPLER_MODULE_VERSION when it was built */
    uint32_t sizes[7]; /* SAMPLER_MODULE_SIZES then */
    const struct sampler *sampler;
};

/* Written once in a module. */
#define SAMPLER_MODULE_EXPORT(its_sampler) \
    extern const struct sampler_module sonde_module; \
    __attribute__((visibility("default"))) const struct sampler_module sonde_module = { \
        SAMPLER_MODULE_VERSION, SAMPLER_MODULE_SIZES, &(its_sampler) }

/* The sampler of sample-NAME.so: in $SONDE_MODULES, beside the executable, or where it was installed with it. ABSENT: there
 * is no such file, or a library that it needs is not there; CORRUPT: it is of another version of Sonde. why, when it is not
 * NULL, gets a sentence that names the file. */
enum err sampler_module_load(const char *name, const struct sampler **sampler, char *error, size_t error_size);

#endif
