/* Records of arbitrary bytes, each preceded by its size in two bytes: each is refused, or decodes to a batch that
 * survives encoding and decoding by another stream, and to a state that survives a snapshot. */
#include "fuzz/streams.h"

int fuzz_stream(const uint8_t *data, size_t size);

int fuzz_stream(const uint8_t *data, size_t size)
{
    struct streams streams;
    streams_open(&streams);
    streams_feed(&streams, data, size);
    streams_close(&streams);
    return 0;
}
