/* Format: magic, generation, position, count, rows…, checksum; all u64, little-endian. */
#include "sinks/hdf5/record.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x31304d4554535953ull
#define HEAD 4u /* numbers before the rows */

void hdf5_record_clear(struct hdf5_record *record)
{
    free(record->rows);
    *record = (struct hdf5_record){ 0 };
}

size_t hdf5_record_size(uint64_t tables)
{
    return (HEAD + (size_t)tables + 1) * 8;
}

static uint64_t number_at(const uint8_t *bytes, size_t i)
{
    uint64_t number;
    memcpy(&number, bytes + 8 * i, 8);
    return number;
}

static uint64_t check_of(const uint8_t *bytes, size_t numbers)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < numbers; i++) {
        hash = (hash ^ number_at(bytes, i)) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}

void hdf5_record_write(const struct hdf5_record *record, uint8_t *out, size_t size)
{
    const uint64_t head[HEAD] = { MAGIC, record->generation, record->position, record->count };
    memset(out, 0, size);
    memcpy(out, head, sizeof head);
    if (record->count)
        memcpy(out + sizeof head, record->rows, record->count * 8);
    uint64_t check = check_of(out, HEAD + record->count);
    memcpy(out + (HEAD + record->count) * 8, &check, sizeof check);
}

static bool is_whole(const uint8_t *bytes, size_t size)
{
    size_t numbers = size / 8;
    return numbers > HEAD && number_at(bytes, 0) == MAGIC && number_at(bytes, 3) < numbers - HEAD
           && number_at(bytes, HEAD + number_at(bytes, 3)) == check_of(bytes, HEAD + number_at(bytes, 3));
}

enum err hdf5_record_read(struct hdf5_record *record, const uint8_t *bytes, size_t size)
{
    const uint8_t *newest = NULL;
    *record = (struct hdf5_record){ 0 };
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *place = bytes + i * (size / 2);
        if (is_whole(place, size / 2) && (!newest || number_at(place, 1) > number_at(newest, 1)))
            newest = place;
    }
    if (!newest)
        return CORRUPT;
    *record = (struct hdf5_record){ number_at(newest, 1), number_at(newest, 2), number_at(newest, 3), NULL };
    record->rows = calloc(record->count + 1, 8);
    if (!record->rows)
        return NOMEM;
    memcpy(record->rows, newest + (size_t)HEAD * 8, record->count * 8);
    return OK;
}
