/* Two checks with different beginnings make an identity; a table that is at most half full holds them. */
#include "sinks/kafka/seen.h"

#include "journal/check.h"
#include "transport/kafka_envelope.h"

#include <stdlib.h>

#define ROOM_FIRST 1024u
#define OTHER_START 0xd1b54a32d192ed03ull

/* All zeroes stands for an empty slot. */
static struct kafka_identity finish(uint64_t one, uint64_t other)
{
    one = (one ^ one >> 29) * 0xbf58476d1ce4e5b9ull;
    other = (other ^ other >> 31) * 0x94d049bb133111ebull;
    return (struct kafka_identity){ { one ^ one >> 32, (other ^ other >> 32) | 1 } };
}

static uint64_t add(uint64_t mix, struct bytes bytes)
{
    return check_add(mix, bytes.size ? bytes.data : "", bytes.size);
}

struct kafka_identity kafka_identity_of_row(struct bytes key, struct bytes body)
{
    return finish(add(add(CHECK_START, key), body), add(add(OTHER_START, key), body));
}

struct kafka_identity kafka_identity_of_record(struct bytes host, uint64_t stream, uint64_t sequence)
{
    const uint64_t numbers[] = { stream, sequence };
    return kafka_identity_of_row(host, (struct bytes){ (const char *)numbers, sizeof numbers });
}

struct kafka_identity kafka_identity_of(bool is_record, struct bytes key, struct bytes body)
{
    struct parcel parcel;
    if (is_record && !parcel_read(body, &parcel))
        return kafka_identity_of_record(parcel.host, parcel.stream, parcel.sequence);
    return kafka_identity_of_row(key, body);
}

void kafka_seen_init(struct kafka_seen *seen, size_t max)
{
    *seen = (struct kafka_seen){ .max = max };
}

void kafka_seen_clear(struct kafka_seen *seen)
{
    free(seen->slots);
    kafka_seen_init(seen, seen->max);
}

/* The slot in which it is, or would be. */
static struct kafka_identity *slot_of(const struct kafka_seen *seen, const struct kafka_identity *identity)
{
    size_t at = identity->words[0] & (seen->room - 1);
    while (seen->slots[at].words[1]
           && (seen->slots[at].words[0] != identity->words[0] || seen->slots[at].words[1] != identity->words[1]))
        at = (at + 1) & (seen->room - 1);
    return &seen->slots[at];
}

static enum err grow(struct kafka_seen *seen)
{
    struct kafka_seen larger = { .room = seen->room ? seen->room * 2 : ROOM_FIRST };
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return NOMEM;
    for (size_t i = 0; i < seen->room; i++)
        if (seen->slots[i].words[1])
            *slot_of(&larger, &seen->slots[i]) = seen->slots[i];
    free(seen->slots);
    seen->slots = larger.slots;
    seen->room = larger.room;
    return OK;
}

enum err kafka_seen_add(struct kafka_seen *seen, struct kafka_identity identity)
{
    if (kafka_seen_has(seen, identity))
        return OK;
    if (seen->count >= seen->max)
        return FULL;
    enum err err = (seen->count + 1) * 2 > seen->room ? grow(seen) : OK;
    if (err)
        return err;
    *slot_of(seen, &identity) = identity;
    seen->count++;
    return OK;
}

bool kafka_seen_has(const struct kafka_seen *seen, struct kafka_identity identity)
{
    return seen->room && slot_of(seen, &identity)->words[1];
}
