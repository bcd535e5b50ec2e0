/* Did you mean …? Finds the word that a mistyped one was most likely meant to be. */
#ifndef SONDE_BASE_NEAREST_H
#define SONDE_BASE_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word; /* what was typed */
    const char *best; /* NULL: nothing is near */
    size_t distance;
};

static inline struct nearest nearest_to(const char *word) { return (struct nearest){ word, NULL, (size_t)-1 }; }

/* Keeps candidate in best when it is near and nearer than what was tried before. Borrows candidate. */
void nearest_try(struct nearest *nearest, const char *candidate);

#endif
