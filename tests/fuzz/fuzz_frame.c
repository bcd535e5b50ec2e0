/* A spool of any bytes: frames are found or skipped, each record parses or is refused, and the reader always comes to
 * the end. */
#include "spool/spool.h"

#include <stdlib.h>

int fuzz_frame(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static bool within(struct bytes part, struct bytes whole)
{
    return part.size == 0 || (part.data >= whole.data && part.data + part.size <= whole.data + whole.size);
}

static void check_number(uint64_t number, struct bytes body) { (void)number, (void)body; }
static void check_text(struct bytes text, struct bytes body) { require(within(text, body)); }
static void check_counters(struct counters counters, struct bytes body)
{
    (void)body;
    require(counters.known >> COUNTERS_SIZE == 0);
}

#define FIELD(type, field) check_##type(record.field, body);
#define X(number, name, fields) \
    static void check_##name##_record(struct bytes body) \
    { \
        struct name##_record record; \
        record_unpack_##name(body, &record); \
        fields(FIELD) \
    }
RECORD_KINDS(X)
#undef X

static void check_record(enum record_kind kind, struct bytes body)
{
    switch (kind) {
#define X(number, name, fields) case RECORD_KIND_##name: check_##name##_record(body); break;
        RECORD_KINDS(X)
#undef X
    }
}

int fuzz_frame(const uint8_t *data, size_t size)
{
    struct spool_reader reader = { .all = { (const char *)data, size } };
    enum record_kind kind;
    struct bytes body;
    size_t before = 0;
    while (spool_next(&reader, &kind, &body) == OK) {
        require(reader.at > before && within(body, reader.all));
        before = reader.at;
        check_record(kind, body);
    }
    require(reader.at == size && reader.damaged_bytes <= size);
    return 0;
}
