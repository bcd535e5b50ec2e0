/* bench-wire [CYCLES]: reads the six sets of LDMS on this node once a second, encodes them as the agent does, and prints the bytes per
 * cycle, the time per value for encoding and decoding, and the memory of a stream. */
#include "base/clock.h"
#include "samplers/all.h"
#include "samplers/samplers.h"
#include "tools.h"
#include "transport/message.h"
#include "model/pack.h"
#include "journal/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLERS_MAX 8
#define CYCLES_MAX 3600
#define WARM 10   /* cycles until the encoder has sent all descriptions and found correlated values */
#define ROUNDS 40
#define CURVE 35  /* bytes around a small message: ZMTP's frame 2, CURVE's "MESSAGE" 8, nonce 8, box 16, flags 1 */

static const char *const names[] = { "meminfo", "vmstat", "stat", "interrupts", "loadavg", "self", NULL };
static struct batch batches[CYCLES_MAX];
static struct buf records[CYCLES_MAX];
static size_t cycles = 30, values;

static void find_samplers(const struct sampler **list)
{
    size_t count = 0;
    for (size_t i = 0; names[i]; i++)
        for (size_t k = 0; sampler_all[k]; k++)
            if (strcmp(sampler_all[k]->name, names[i]) == 0)
                list[count++] = sampler_all[k];
    list[count] = NULL;
}

/* On multiples of a second, as the agent does. */
static void read_all(struct samplers *samplers)
{
    for (size_t i = 0; i < cycles; i++) {
        usleep((useconds_t)((NS_PER_S - clock_realtime_ns() % NS_PER_S) / 1000 + 1));
        batch_init(&batches[i]);
        samplers_read(samplers, &batches[i]);
    }
    for (size_t i = 0; i < batches[0].count; i++)
        values += batches[0].samples[i].set->size;
}

/* Returns the CPU time per record, without the first one, which describes all sets. */
static double encode_all(struct delta_stream *stream)
{
    uint64_t start_ns = 0;
    for (size_t i = 0; i < cycles; i++) {
        if (i == 1)
            start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        buf_reset(&records[i]);
        if (stream_encode(stream, &batches[i], &records[i]))
            tools_die("cannot encode");
    }
    return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns) / (double)(cycles - 1);
}

static double decode_all(struct delta_stream *stream, struct batch *out)
{
    uint64_t start_ns = 0;
    for (size_t i = 0; i < cycles; i++) {
        if (i == 1)
            start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (stream_decode(stream, (struct bytes){ records[i].data, records[i].size }, out))
            tools_die("cannot decode");
    }
    return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns) / (double)(cycles - 1);
}

static size_t message_size(enum message_kind kind, struct bytes body, bool compress)
{
    struct buf out;
    buf_init(&out, MESSAGE_MAX);
    message_write(&out, &(struct message){ MESSAGE_VERSION, kind, 100000, body }, compress);
    size_t size = out.size;
    buf_clear(&out);
    return size;
}

static size_t record_message_size(const struct buf *record)
{
    struct buf body;
    uint8_t head[3 * PACK_NUMBER_MAX];
    struct packer p = { head, head + sizeof head, false };
    pack_number(&p, 0);      /* the stream */
    pack_number(&p, 100000); /* the sequence number, after a day */
    buf_init(&body, MESSAGE_MAX);
    buf_add(&body, head, (size_t)(p.at - head));
    buf_add(&body, record->data, record->size);
    size_t size = message_size(MESSAGE_RECORD, (struct bytes){ body.data, body.size }, false);
    buf_clear(&body);
    return size;
}

static void show_bytes(void)
{
    double payload = 0, message = 0;
    size_t most = 0, count = 0;
    for (size_t i = WARM < cycles ? WARM : 1; i < cycles; i++, count++) {
        payload += (double)records[i].size;
        message += (double)record_message_size(&records[i]);
        most = records[i].size > most ? records[i].size : most;
    }
    payload /= (double)count;
    message /= (double)count;
    size_t ack = message_size(MESSAGE_ACK, (struct bytes){ "\xa0\x8d\x06", 3 }, false);
    printf("   %zu values in %zu samples; the first record %zu bytes\n", values, batches[0].count, records[0].size);
    printf("   per cycle: record %.0f bytes (maximum %zu), message %.0f, with CURVE %.0f, with an acknowledgement each %.0f\n", payload,
           most, message, message + CURVE, message + CURVE + (double)ack + CURVE);
}

static void show_state(const struct delta_stream *encoder, const struct delta_stream *decoder)
{
    struct buf state;
    buf_init(&state, MESSAGE_MAX);
    stream_snapshot(decoder, &state);
    printf("   state: %zu bytes at the decoder, %zu at the encoder; a snapshot %zu bytes, as a message %zu\n",
           stream_memory(decoder), stream_memory(encoder), state.size,
           message_size(MESSAGE_STATE, (struct bytes){ state.data, state.size }, true));
    buf_clear(&state);
}

int main(int argc, char **argv)
{
    const struct sampler *list[SAMPLERS_MAX];
    struct sampler_context here = { .root = "" };
    struct samplers *samplers;
    struct delta_stream *encoder = NULL, *decoder = NULL;
    struct batch out;
    double encode_ns = 1e9, decode_ns = 1e9;
    if (argc > 1)
        cycles = strtoul(argv[1], NULL, 10);
    if (cycles < 2 || cycles > CYCLES_MAX)
        tools_die("bench-wire [CYCLES]: 2 to 3600 seconds");
    find_samplers(list);
    if (samplers_open(&samplers, list, &here))
        tools_die("cannot open the sensors");
    read_all(samplers);
    batch_init(&out);
    for (size_t i = 0; i < cycles; i++)
        buf_init(&records[i], STREAM_RECORD_MAX);
    for (int round = 0; round < ROUNDS; round++) {
        stream_free(&encoder);
        stream_free(&decoder);
        if (stream_new(&encoder) || stream_new(&decoder))
            tools_die("out of memory");
        encode_ns = tools_smaller(encode_ns, encode_all(encoder));
        decode_ns = tools_smaller(decode_ns, decode_all(decoder, &out));
    }
    show_bytes();
    printf("   encode %.1f us (%.1f ns per value), decode %.1f us (%.1f ns per value, %.2f us for 50)\n", encode_ns / 1e3,
           encode_ns / (double)values, decode_ns / 1e3, decode_ns / (double)values, decode_ns / (double)values * 50 / 1e3);
    show_state(encoder, decoder);
    return 0;
}
