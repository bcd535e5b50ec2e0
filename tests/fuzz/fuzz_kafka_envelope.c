/* A Kafka message of arbitrary bytes: what is borrowed lies inside it, and its contents may be anything. */
#include "transport/kafka_envelope.h"
#include "journal/stream.h"

#include <stdlib.h>

int fuzz_kafka_envelope(const uint8_t *data, size_t size);

static void must_lie_inside(struct bytes part, const char *text, size_t size)
{
    if (part.data < text || part.data + part.size > text + size)
        abort();
}

int fuzz_kafka_envelope(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct kafka_envelope envelope;
    struct delta_stream *stream;
    struct batch batch;
    if (kafka_envelope_read((struct bytes){ text, size }, &envelope) || stream_new(&stream))
        return 0;
    must_lie_inside(envelope.host, text, size);
    must_lie_inside(envelope.state, text, size);
    must_lie_inside(envelope.record, text, size);
    batch_init(&batch);
    if (!stream_restore(stream, envelope.state))
        stream_decode(stream, envelope.record, &batch);
    batch_clear(&batch);
    stream_free(&stream);
    return 0;
}
