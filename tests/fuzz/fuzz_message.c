/* A message of arbitrary bytes, and an arbitrary body in a valid message: refused, or read within its bounds. */
#include "transport/message.h"

#include <stdlib.h>
#include <string.h>

int fuzz_message(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static unsigned sum_of(struct bytes bytes)
{
    unsigned sum = 0;
    for (size_t i = 0; i < bytes.size; i++)
        sum += (unsigned char)bytes.data[i];
    return sum;
}

/* Reads every byte that was returned, so that a sanitizer detects invalid ones. */
static unsigned read_bodies(struct bytes body)
{
    struct message_hello hello;
    struct message_welcome welcome;
    struct message_open open;
    struct message_cannot cannot;
    struct message_refuse refuse;
    unsigned sum = 0;
    if (message_read_hello(body, &hello) == OK)
        sum += sum_of(hello.host) + sum_of(hello.software) + sum_of(hello.role) + sum_of(hello.credential);
    if (message_read_welcome(body, &welcome) == OK)
        sum += sum_of(welcome.host) + sum_of(welcome.software);
    if (message_read_open(body, &open) == OK)
        sum += sum_of(open.host);
    if (message_read_cannot(body, &cannot) == OK)
        sum += sum_of(cannot.error);
    if (message_read_refuse(body, &refuse) == OK)
        sum += sum_of(refuse.error);
    return sum;
}

int fuzz_message(const uint8_t *data, size_t size)
{
    struct bytes bytes = { (const char *)data, size };
    struct message message;
    struct buf plain, out;
    volatile unsigned sum = read_bodies(bytes);
    buf_init(&plain, MESSAGE_MAX);
    buf_init(&out, MESSAGE_MAX);
    if (message_read(bytes, &message, &plain) == OK)
        sum = read_bodies(message.body);
    for (int compress = 0; compress < 2; compress++) {
        buf_reset(&out);
        message_write(&out, &(struct message){ 1, MESSAGE_HELLO, size, bytes }, compress);
        require(message_read((struct bytes){ out.data, out.size }, &message, &plain) == OK);
        require(message.number == size && bytes_equal(message.body, bytes));
    }
    (void)sum;
    buf_clear(&plain);
    buf_clear(&out);
    return 0;
}
