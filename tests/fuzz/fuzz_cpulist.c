/* An arbitrary CPU list, alone and intersected with itself: the intersection is the list. */
#include "proc/cpulist.h"

#include <stdlib.h>
#include <string.h>

int fuzz_cpulist(const uint8_t *data, size_t size);

int fuzz_cpulist(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text || size > 4096) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    uint64_t alone = cpulist_count(text, NULL);
    if (alone && cpulist_count(text, text) < alone)
        abort();
    if (cpulist_count("0-7", text) > 8 * size)
        abort();
    free(text);
    return 0;
}
