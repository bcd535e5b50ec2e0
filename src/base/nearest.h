/* "Did you mean …?": finds the candidate that is most similar to a mistyped word. */
#ifndef SONDE_BASE_NEAREST_H
#define SONDE_BASE_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word; /* what was typed */
    const char *best; /* NULL: none is similar */
    size_t distance;
};

static inline struct nearest nearest_to(const char *word) { return (struct nearest){ word, NULL, (size_t)-1 }; }

/* Stores candidate in best if it is similar, and more similar than the ones before. Borrows candidate. */
void nearest_try(struct nearest *nearest, const char *candidate);

#endif
