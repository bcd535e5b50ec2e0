/* A message from a topic of Kafka, whoever wrote it: what is borrowed lies inside, and what it carries may be anything. */
#include "transport/kafka_envelope.h"
#include "journal/stream.h"

#include <stdlib.h>

int fuzz_parcel(const uint8_t *data, size_t size);

static void must_lie_inside(struct bytes part, const char *text, size_t size)
{
    if (part.data < text || part.data + part.size > text + size)
        abort();
}

int fuzz_parcel(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct parcel parcel;
    struct delta_stream *stream;
    struct batch batch;
    if (parcel_read((struct bytes){ text, size }, &parcel) || stream_new(&stream))
        return 0;
    must_lie_inside(parcel.host, text, size);
    must_lie_inside(parcel.state, text, size);
    must_lie_inside(parcel.record, text, size);
    batch_init(&batch);
    if (!stream_restore(stream, parcel.state))
        stream_decode(stream, parcel.record, &batch);
    batch_clear(&batch);
    stream_free(&stream);
    return 0;
}
