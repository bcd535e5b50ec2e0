/* Numbers for texts: each different text gets the next number, from 0. Texts are borrowed until the dictionary is
 * cleared. Used to store a path once however many processes have it. */
#ifndef SONDE_MODEL_DICTIONARY_H
#define SONDE_MODEL_DICTIONARY_H

#include "base/buf.h"

#define DICTIONARY_NONE UINT32_MAX

struct dictionary {
    struct bytes *texts; /* count of them */
    uint64_t *hashes;
    size_t count, room;
    uint32_t *slots;     /* open addressing: number + 1, 0 = free; a power of two of them */
    size_t slot_count;
    uint32_t last;       /* what was found last: neighbours are often alike */
};

void dictionary_init(struct dictionary *dictionary);
void dictionary_clear(struct dictionary *dictionary);

/* The number of text, which is added when it is new; DICTIONARY_NONE when memory ran out. */
uint32_t dictionary_add(struct dictionary *dictionary, struct bytes text);

#endif
