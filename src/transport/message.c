/* Message headers: written and read independently of the body. */
#include "transport/message.h"

#include "model/pack.h"

#include <zstd.h>
#include <string.h>

/* A fast 64-bit checksum: detects truncated, torn and flipped data, eight bytes per step. It does not protect against
 * deliberate changes; CURVE does. */
#define CHECKSUM_START 0x9e3779b97f4a7c15ull

/* Continues the checksum mix over these bytes. Each step is reversible, so a change of a single word always changes the
 * result. */
static uint64_t checksum_add(uint64_t mix, const void *data, size_t size)
{
    const char *at = data;
    uint64_t word;
    for (mix ^= size; size >= 8; size -= 8, at += 8) {
        memcpy(&word, at, 8);
        mix = (mix ^ word) * 0xff51afd7ed558ccdull;
        mix ^= mix >> 32;
    }
    word = 0;
    if (size)
        memcpy(&word, at, size);
    mix = (mix ^ word) * 0xc4ceb9fe1a85ec53ull;
    return mix ^ mix >> 32;
}

static uint32_t checksum_finish(uint64_t mix)
{
    mix = (mix ^ mix >> 33) * 0xff51afd7ed558ccdull;
    return (uint32_t)(mix ^ mix >> 33);
}

#define FLAG_ZSTD 1
#define HEAD_MAX (4 + 2 * PACK_NUMBER_MAX + PACK_NUMBER_MAX) /* one extra: the packer requires capacity for its largest number */
#define COMPRESS_FROM 512
#define COMPRESS_LEVEL 3

static uint32_t checksum_of(const uint8_t *head, size_t head_size, struct bytes body)
{
    return checksum_finish(checksum_add(checksum_add(CHECKSUM_START, head, head_size), body.data, body.size));
}

static void write_as(struct buf *out, const struct message *message, struct bytes body, uint8_t flags)
{
    uint8_t head[HEAD_MAX] = { MESSAGE_MAGIC, message->version, (uint8_t)message->kind, flags };
    struct packer p = { head + 4, head + sizeof head, false };
    pack_number(&p, body.size);
    pack_number(&p, message->number);
    uint32_t check = checksum_of(head, (size_t)(p.at - head), body);
    buf_add(out, head, (size_t)(p.at - head));
    buf_add(out, &check, sizeof check);
    buf_add(out, body.data, body.size);
}

void message_write(struct buf *out, const struct message *message, bool compress)
{
    struct bytes body = message->body;
    struct buf small;
    buf_init(&small, MESSAGE_MAX);
    size_t bound = ZSTD_compressBound(body.size);
    char *to = compress && body.size > COMPRESS_FROM ? buf_reserve(&small, bound) : NULL;
    size_t size = to ? ZSTD_compress(to, bound, body.data, body.size, COMPRESS_LEVEL) : 0;
    bool is_smaller = to && !ZSTD_isError(size) && size < body.size;
    write_as(out, message, is_smaller ? (struct bytes){ to, size } : body, is_smaller ? FLAG_ZSTD : 0);
    buf_clear(&small);
}

static enum err expand(struct bytes body, struct bytes *expanded, struct buf *plain)
{
    unsigned long long size = ZSTD_getFrameContentSize(body.data, body.size);
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
        return CORRUPT;
    if (size > MESSAGE_MAX)
        return FULL;
    buf_reset(plain);
    char *to = buf_reserve(plain, (size_t)size);
    if (!to)
        return buf_err(plain);
    if (ZSTD_decompress(to, (size_t)size, body.data, body.size) != size)
        return CORRUPT;
    plain->size = (size_t)size;
    plain->data[size] = '\0';
    *expanded = (struct bytes){ to, (size_t)size };
    return OK;
}

enum err message_read(struct bytes bytes, struct message *message, struct buf *plain)
{
    const uint8_t *head = (const uint8_t *)bytes.data;
    uint32_t check;
    if (bytes.size < 4 + 2 + sizeof check || head[0] != MESSAGE_MAGIC || head[3] & ~FLAG_ZSTD)
        return CORRUPT;
    struct unpacker u = { head + 4, head + bytes.size, false };
    uint64_t size = unpack_number(&u), number = unpack_number(&u);
    size_t head_size = (size_t)(u.at - head);
    if (!u.bad && size > MESSAGE_MAX)
        return FULL;
    if (u.bad || bytes.size - head_size < sizeof check || size != bytes.size - head_size - sizeof check)
        return CORRUPT;
    memcpy(&check, u.at, sizeof check);
    struct bytes body = { (const char *)u.at + sizeof check, (size_t)size };
    if (check != checksum_of(head, head_size, body))
        return CORRUPT;
    *message = (struct message){ .version = head[1], .kind = (enum message_kind)head[2], .number = number, .body = body };
    return head[3] & FLAG_ZSTD ? expand(body, &message->body, plain) : OK;
}
