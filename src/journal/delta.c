/* The decoding table of the delta codec, filled once by decoding every possible bit prefix. */
#include "journal/delta.h"

#include <pthread.h>

struct delta_rank_code delta_rank_codes[SIZE_CLIP + 1][1 << DELTA_RANK_BITS];

static void fill_rank_codes(void)
{
    for (unsigned last = 1; last <= SIZE_CLIP; last++)
        for (unsigned bits = 0; bits < 1 << DELTA_RANK_BITS; bits++) {
            const uint8_t bytes[8] = { (uint8_t)bits };
            struct bit_reader r = { .at = bytes, .end = bytes + sizeof bytes };
            bits_fill(&r);
            unsigned count = r.count, size = delta_size_of_rank((unsigned)delta_get_rank(&r), last), length = count - r.count;
            if (length <= DELTA_RANK_BITS && size <= 64)
                delta_rank_codes[last][bits] = (struct delta_rank_code){ (uint8_t)size, (uint8_t)length };
        }
}

void delta_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_rank_codes);
}
