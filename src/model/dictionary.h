/* Numbers for strings: each different string gets the next number, from 0. The strings are borrowed until the dictionary is
 * cleared. Used to store a path once, however many processes have it. */
#ifndef SONDE_MODEL_DICTIONARY_H
#define SONDE_MODEL_DICTIONARY_H

#include "base/buf.h"
#include "base/map.h"

#define DICTIONARY_NONE UINT32_MAX

struct dictionary {
    struct bytes *strings; /* by number */
    size_t count, capacity;
    struct map numbers;
    uint32_t last; /* the number returned last: neighbours are often equal */
};

void dictionary_init(struct dictionary *dictionary);
void dictionary_clear(struct dictionary *dictionary);

/* The number of a string, which is added when it is new; DICTIONARY_NONE if out of memory. */
uint32_t dictionary_add(struct dictionary *dictionary, struct bytes string);

#endif
