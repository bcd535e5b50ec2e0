/* Samplers in a shared library of their own, sample-NAME.so, because they need libraries that most nodes do not have. A
 * module exports one constant, sonde_module. It is loaded if its sensor is present and never unloaded: batches and
 * tables may point into it. */
#ifndef SONDE_SAMPLERS_SAMPLER_MODULE_H
#define SONDE_SAMPLERS_SAMPLER_MODULE_H

#include "samplers/sampler.h"

#define SAMPLER_MODULE_VERSION 1 /* version of struct sampler and everything passed to it */
#define SAMPLER_MODULE_SYMBOL "sonde_module"

/* Sizes of the structs that are passed between Sonde and a module: detects a module built with another layout. */
#define SAMPLER_MODULE_SIZES \
    { sizeof(struct sampler), sizeof(struct sampler_context), sizeof(struct metric), sizeof(struct set), \
      sizeof(struct sample), sizeof(struct batch), sizeof(struct job) }

struct sampler_module {
    uint32_t version;  /* SAMPLER_MODULE_VERSION at build time */
    uint32_t sizes[7]; /* SAMPLER_MODULE_SIZES at build time */
    const struct sampler *sampler;
};

/* Use once in each module. */
#define SAMPLER_MODULE_EXPORT(its_sampler) \
    extern const struct sampler_module sonde_module; \
    __attribute__((visibility("default"))) const struct sampler_module sonde_module = { \
        SAMPLER_MODULE_VERSION, SAMPLER_MODULE_SIZES, &(its_sampler) }

/* Loads the sampler of sample-NAME.so from $SONDE_MODULES, the executable's directory, or the library directory
 * installed with it. ABSENT: the file or a library that it needs is missing; CORRUPT: it belongs to another version of
 * Sonde. error, unless NULL, receives a sentence that names the file. */
enum err sampler_module_load(const char *name, const struct sampler **sampler, char *error, size_t error_size);

#endif
