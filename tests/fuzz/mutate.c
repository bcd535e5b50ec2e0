/* The changes: bits, bytes, numbers of interest, cuts, doublings. */
#include "fuzz/mutate.h"

#include <string.h>

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static size_t below(uint64_t *random, size_t limit)
{
    return limit ? (size_t)(next(random) % limit) : 0;
}

static void set_number(uint64_t *random, uint8_t *data, size_t size)
{
    static const uint32_t numbers[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff };
    uint32_t number = numbers[below(random, sizeof numbers / sizeof *numbers)];
    size_t wide = (size_t)1 << below(random, 3);
    if (size >= wide)
        memcpy(data + below(random, size - wide + 1), &number, wide);
}

static size_t cut(uint64_t *random, uint8_t *data, size_t size)
{
    size_t from = below(random, size), count = below(random, size - from) + 1;
    memmove(data + from, data + from + count, size - from - count);
    return size - count;
}

static size_t repeat(uint64_t *random, uint8_t *data, size_t size, size_t room)
{
    size_t from = below(random, size), count = below(random, size - from) + 1;
    if (count > room - size)
        count = room - size;
    memmove(data + from + count, data + from, size - from);
    return size + count;
}

size_t mutate(uint64_t *random, uint8_t *data, size_t size, size_t room)
{
    for (size_t times = below(random, 6) + 1; times > 0; times--) {
        if (size == 0)
            data[size++] = (uint8_t)next(random);
        switch (below(random, 6)) {
        case 0: data[below(random, size)] ^= (uint8_t)(1u << below(random, 8)); break;
        case 1: data[below(random, size)] = (uint8_t)next(random); break;
        case 2: set_number(random, data, size); break;
        case 3: size = cut(random, data, size); break;
        case 4: size = repeat(random, data, size, room); break;
        case 5: size -= below(random, size); break;
        }
    }
    return size;
}
