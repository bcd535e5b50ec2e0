/* Records one after another, each behind its size in two bytes, of any bytes: each is refused, or makes a batch that survives
 * being encoded and decoded by a stream of its own, and a state that survives being a snapshot. */
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
