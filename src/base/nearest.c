/* Edit distance with transpositions (optimal string alignment), in three rows. */
#include "base/nearest.h"

#include <string.h>

#define WORD_MAX 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], above2[j - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
    size_t typed = strlen(nearest->word), size = strlen(candidate);
    if (typed == 0 || typed > WORD_MAX || size > WORD_MAX)
        return;
    size_t far = distance(nearest->word, typed, candidate, size);
    if (typed > 1 && strncmp(nearest->word, candidate, typed) == 0)
        far = 1; /* a prefix */
    size_t allowed = typed < 5 ? 1 : typed < 6 ? 2 : 3; /* two edits turn "foo" into "job" */
    if (far > allowed || far >= size || far >= nearest->distance)
        return;
    nearest->best = candidate;
    nearest->distance = far;
}
