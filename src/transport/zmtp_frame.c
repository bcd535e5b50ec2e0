/* Greetings and frame headers. */
#include "transport/zmtp_frame.h"

#include <string.h>

#define HEAD_MAX 9
#define MECHANISM_AT 12
#define MECHANISM_BYTES 20

void zmtp_frame_add_greeting(struct buf *out, const char *mechanism, bool is_server)
{
    char greeting[ZMTP_GREETING_BYTES] = "\xff\0\0\0\0\0\0\0\0\x7f\3\1";
    memcpy(greeting + MECHANISM_AT, mechanism, strlen(mechanism));
    greeting[MECHANISM_AT + MECHANISM_BYTES] = is_server;
    buf_add(out, greeting, sizeof greeting);
}

bool zmtp_frame_fits_greeting(const char greeting[ZMTP_GREETING_BYTES], const char *mechanism)
{
    char padded[MECHANISM_BYTES] = "";
    memcpy(padded, mechanism, strlen(mechanism));
    return greeting[9] & 1 && (uint8_t)greeting[10] >= ZMTP_VERSION
        && memcmp(greeting + MECHANISM_AT, padded, sizeof padded) == 0;
}

void zmtp_frame_add_head(struct buf *out, unsigned flags, size_t size)
{
    uint8_t head[HEAD_MAX] = { (uint8_t)flags, (uint8_t)size };
    if (size < 256) {
        buf_add(out, head, 2);
        return;
    }
    head[0] |= ZMTP_LONG;
    for (int i = HEAD_MAX - 1; i > 0; i--, size >>= 8)
        head[i] = (uint8_t)size;
    buf_add(out, head, sizeof head);
}

size_t zmtp_frame_begin_command(struct buf *out)
{
    size_t start = out->size;
    buf_add(out, "\0\0", 2);
    return start;
}

void zmtp_frame_end_command(struct buf *out, size_t start)
{
    size_t size = out->size - start - 2;
    if (out->failed)
        return;
    out->data[start] = ZMTP_COMMAND;
    out->data[start + 1] = (char)size;
}

enum err zmtp_frame_find(struct bytes left, size_t max, size_t *head, size_t *body)
{
    const uint8_t *at = (const uint8_t *)left.data;
    uint64_t announced = 0;
    *head = left.size && at[0] & ZMTP_LONG ? HEAD_MAX : 2;
    if (left.size < *head)
        return AGAIN;
    for (size_t i = 1; i < *head; i++)
        announced = announced << 8 | at[i];
    if (announced > max)
        return CORRUPT;
    *body = (size_t)announced;
    return left.size - *head < announced ? AGAIN : OK;
}
