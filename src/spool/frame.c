/* Frames: head, checksum, padding. Part of the probe too: no allocation, no libc beyond memcpy. */
#include "spool/frame.h"

struct head {
    uint32_t magic, size, check;
    uint8_t kind, zero[3];
};
_Static_assert(sizeof(struct head) == FRAME_HEAD, "the head has no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire is little-endian and so are we");

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

/* Eight bytes at a step: a tenth of the time of a table CRC, and good enough to find torn writes. */
static uint32_t check_of(const uint8_t *body, size_t padded_size, uint32_t size, uint8_t kind)
{
    uint64_t mix = 0x9e3779b97f4a7c15ull ^ size ^ (uint64_t)kind << 32;
    for (size_t i = 0; i < padded_size; i += 8) {
        uint64_t word;
        memcpy(&word, body + i, 8);
        mix = (mix ^ word) * 0xff51afd7ed558ccdull;
        mix ^= mix >> 32;
    }
    return (uint32_t)mix;
}

size_t frame_finish(uint8_t *frame, enum record_kind kind, size_t body_size)
{
    size_t whole = padded(body_size);
    memset(frame + FRAME_HEAD + body_size, 0, whole - body_size);
    struct head head = {
        .magic = FRAME_MAGIC,
        .size = (uint32_t)body_size,
        .check = check_of(frame + FRAME_HEAD, whole, (uint32_t)body_size, (uint8_t)kind),
        .kind = (uint8_t)kind,
    };
    memcpy(frame, &head, sizeof head);
    return FRAME_HEAD + whole;
}

/* Bytes to the next place where a frame may begin: a torn write can leave any number of bytes. */
static size_t to_next_magic(struct bytes rest)
{
    const uint32_t magic = FRAME_MAGIC;
    for (size_t i = 1; i + sizeof magic <= rest.size; i++)
        if (memcmp(rest.data + i, &magic, sizeof magic) == 0)
            return i;
    return rest.size > 3 ? rest.size - 3 : rest.size;
}

enum err frame_read(struct bytes rest, enum record_kind *kind, struct bytes *body, size_t *size)
{
    struct head head;
    if (rest.size < sizeof head)
        return AGAIN;
    memcpy(&head, rest.data, sizeof head);
    if (head.magic != FRAME_MAGIC || head.size > FRAME_BODY_MAX) {
        *size = to_next_magic(rest);
        return CORRUPT;
    }
    size_t whole = padded(head.size);
    if (rest.size - FRAME_HEAD < whole) {
        *size = to_next_magic(rest);
        return *size < rest.size - 3 ? CORRUPT : AGAIN;
    }
    if (head.check != check_of((const uint8_t *)rest.data + FRAME_HEAD, whole, head.size, head.kind)) {
        *size = to_next_magic(rest);
        return CORRUPT;
    }
    *kind = head.kind;
    *body = (struct bytes){ rest.data + FRAME_HEAD, head.size };
    *size = FRAME_HEAD + whole;
    return OK;
}
