/* A snapshot of arbitrary bytes, preceded by its size in two bytes, and the records after it. */
#include "fuzz/streams.h"

int fuzz_stream_state(const uint8_t *data, size_t size);

int fuzz_stream_state(const uint8_t *data, size_t size)
{
    struct streams streams;
    size_t state = size < 2 ? 0 : (size_t)(data[0] | data[1] << 8);
    if (size < 2 || state > size - 2)
        return 0;
    streams_open(&streams);
    if (stream_restore(streams.decoder, (struct bytes){ (const char *)data + 2, state }) == OK) {
        streams_check_state(&streams);
        streams_feed(&streams, data + 2 + state, size - 2 - state);
    } else {
        streams_require(stream_time_ns(streams.decoder) == 0);
    }
    streams_close(&streams);
    return 0;
}
