/* Entry headers and checksums of the journal. */
#include "journal/journal_format.h"

#include <string.h>

_Static_assert(sizeof(struct journal_header) == JOURNAL_HEADER_BYTES, "the head has no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the journal is little-endian and so are we");

#define CHECKED_FROM 8 /* offset of the first byte after the checksum */

/* Eight bytes per step. Each step is reversible, so a change of one word is always visible before the final cut to 32
 * bits. */
uint64_t journal_checksum(uint64_t mix, const void *data, size_t size)
{
    const uint8_t *at = data;
    mix ^= size;
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        mix = (mix ^ word) * 0xff51afd7ed558ccdull;
        mix ^= mix >> 32;
    }
    uint64_t rest = 0;
    if (size)
        memcpy(&rest, at, size);
    mix = (mix ^ rest) * 0xc4ceb9fe1a85ec53ull;
    return mix ^ mix >> 29;
}

static uint32_t checksum_of(const struct journal_header *head, const char *host, struct bytes body, uint64_t position)
{
    uint64_t mix = journal_checksum(position, (const uint8_t *)head + CHECKED_FROM, sizeof *head - CHECKED_FROM);
    mix = journal_checksum(mix, host, head->host_size);
    mix = journal_checksum(mix, body.data, body.size);
    return (uint32_t)(mix ^ mix >> 32);
}

enum err journal_header_write(struct journal_header *head, const struct journal_entry *entry, uint64_t position)
{
    size_t host_size = entry->host ? strnlen(entry->host, JOURNAL_HOST_MAX) : 0;
    if (host_size == 0 || host_size >= JOURNAL_HOST_MAX - 1 || entry->body.size > JOURNAL_BODY_MAX)
        return USAGE;
    *head = (struct journal_header){
        .magic = JOURNAL_MAGIC,
        .size = (uint32_t)entry->body.size,
        .kind = (uint8_t)entry->kind,
        .host_size = (uint8_t)(host_size + 1),
        .stream = entry->stream,
        .sequence = entry->sequence,
        .time_ns = entry->time_ns,
    };
    head->check = checksum_of(head, entry->host, entry->body, position);
    return OK;
}

static bool is_plausible(const struct journal_header *head)
{
    return head->magic == JOURNAL_MAGIC && head->size <= JOURNAL_BODY_MAX && head->host_size > 1 && head->zero == 0;
}

enum err journal_entry_read(struct bytes rest, uint64_t position, struct journal_entry *entry, size_t *size)
{
    struct journal_header head;
    *size = sizeof head;
    if (rest.size < sizeof head)
        return AGAIN;
    memcpy(&head, rest.data, sizeof head);
    if (!is_plausible(&head))
        return CORRUPT;
    *size = sizeof head + head.host_size + head.size;
    if (rest.size < *size)
        return AGAIN;
    const char *host = rest.data + sizeof head;
    struct bytes body = { host + head.host_size, head.size };
    if (head.check != checksum_of(&head, host, body, position) || strnlen(host, head.host_size) + 1 != head.host_size)
        return CORRUPT;
    *entry = (struct journal_entry){
        .kind = (enum journal_kind)head.kind,
        .host = host,
        .stream = head.stream,
        .sequence = head.sequence,
        .time_ns = head.time_ns,
        .body = body,
        .position = position,
    };
    return OK;
}
