/* The table of rank codes, made once by reading every possible beginning. */
#include "journal/delta.h"

#include <pthread.h>

struct rank_code rank_codes[SIZE_CLIP + 1][1 << RANK_BITS];

static void make(void)
{
    for (unsigned last = 1; last <= SIZE_CLIP; last++)
        for (unsigned bits = 0; bits < 1 << RANK_BITS; bits++) {
            const uint8_t bytes[8] = { (uint8_t)bits };
            struct bit_reader r = { .at = bytes, .end = bytes + sizeof bytes };
            bits_fill(&r);
            unsigned count = r.count, size = size_of_rank((unsigned)rank_get(&r), last), length = count - r.count;
            if (length <= RANK_BITS && size <= 64)
                rank_codes[last][bits] = (struct rank_code){ (uint8_t)size, (uint8_t)length };
        }
}

void rank_codes_make(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
}
