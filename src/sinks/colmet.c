/* The sink `colmet`: samples as records of Colmet's Python version, or as MessagePack of its Rust version, pushed to a Colmet
 * collector (or to `sonde collect --colmet`). One message per batch, with the records in Colmet's order. Needs wire-zmq.so. */
#include "base/buf.h"
#include "compat/colmet/mapping.h"
#include "compat/colmet/rust_writer.h"
#include "sinks/sink.h"
#include "transport/address.h"
#include "compat/colmet/records.h"
#include "transport/zmq.h"

#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES (64u << 20)
#define QUEUE_MAX 1000000u

struct colmet_state {
    const char *address, *mapping, *format; /* settings */
    uint64_t queue, linger_ns;          /* settings */
    bool nvidia;
    const struct zmq_module *zmq;
    struct zmq_push *push;
    struct colmet_rows *rows;
    struct colmet_mapping files;
    struct colmet_rust_writer rust;
    enum { PYTHON, RUST_2019, RUST_2020 } kind; /* format */
    struct buf out;
    char involved[COLMET_INVOLVED_SIZE];
    char message[512];
};

static const struct setting colmet_settings[] = {
    { "address", SETTING_TEXT, "tcp://127.0.0.1:5556", offsetof(struct colmet_state, address), "address of the collector" },
    { "format", SETTING_TEXT, "python", offsetof(struct colmet_state, format),
      "python, or MessagePack of the Rust nodes, for the collectors of 2019 (rust2019) and since 2020 (rust2020)" },
    { "queue", SETTING_U64, "1000", offsetof(struct colmet_state, queue),
      "maximum number of messages queued while the collector is down; 0: unlimited" },
    { "linger", SETTING_DURATION, "2s", offsetof(struct colmet_state, linger_ns), "how long to wait for the collector at exit" },
    { "nvidia", SETTING_FLAG, "no", offsetof(struct colmet_state, nvidia),
      "send GPU records; they crash a Colmet collector that writes HDF5" },
    { "mapping", SETTING_TEXT, NULL, offsetof(struct colmet_state, mapping),
      "directory for the CSV files that describe the numbered counters; default: none" },
    { 0 },
};

static bool parse_format(struct colmet_state *s)
{
    static const char *const formats[] = { [PYTHON] = "python", [RUST_2019] = "rust2019", [RUST_2020] = "rust2020" };
    for (s->kind = PYTHON; s->kind <= RUST_2020; s->kind++)
        if (strcmp(s->format, formats[s->kind]) == 0)
            return true;
    return false;
}

static enum err colmet_check(void *state)
{
    struct colmet_state *s = state;
    char address[ADDRESS_MAX];
    s->message[0] = '\0';
    if (s->queue > QUEUE_MAX)
        snprintf(s->message, sizeof s->message, "invalid queue %llu (expected 0 to %u)", (unsigned long long)s->queue, QUEUE_MAX);
    else if (!parse_format(s))
        snprintf(s->message, sizeof s->message, "invalid format '%.40s' (expected python, rust2019 or rust2020)", s->format);
    else if (address_normalize(s->address, 0, address) || strcmp(address, s->address) != 0)
        snprintf(s->message, sizeof s->message, "invalid address '%.100s' (expected tcp://HOST:PORT)", s->address);
    return s->message[0] ? USAGE : zmq_load(&s->zmq, s->message, sizeof s->message);
}

static enum err colmet_open(void *state)
{
    struct colmet_state *s = state;
    buf_init(&s->out, MESSAGE_BYTES);
    enum err err = colmet_check(s);
    if (!err)
        err = colmet_rows_new(&s->rows);
    if (!err)
        err = s->zmq->push_open(&s->push, s->address, (unsigned)s->queue, s->message, sizeof s->message);
    if (err)
        colmet_rows_free(&s->rows);
    return err;
}

static void write_csv(struct colmet_state *s, const struct colmet_row *row)
{
    if (!s->mapping || !colmet_mapping_is_new(&s->files, row))
        return;
    colmet_mapping_note(&s->files, row);
    enum err err = colmet_mapping_write(row, s->mapping, false);
    if (err)
        snprintf(s->message, sizeof s->message, "%.200s: %s", s->mapping, err_text(err));
}

static void add_record(struct colmet_state *s, const struct colmet_row *row)
{
    if (row->backend->id == COLMET_NVIDIA && (!s->nvidia || !row->job))
        return;
    if (row->backend->has_involved)
        colmet_rows_involved(row, s->involved, sizeof s->involved);
    colmet_records_write(&s->out, row->backend, row->host, row->job, row->time_s, row->values, row->known, s->involved);
}

static enum err colmet_write(void *state, const struct batch *batch)
{
    struct colmet_state *s = state;
    const struct colmet_row *rows;
    size_t count;
    enum err err = colmet_rows_make(s->rows, batch, &rows, &count);
    if (err)
        return err;
    buf_reset(&s->out);
    for (size_t i = 0; i < count; i++) {
        write_csv(s, &rows[i]);
        if (s->kind == PYTHON)
            add_record(s, &rows[i]);
    }
    if (s->kind != PYTHON)
        err = colmet_rust_write(&s->rust, s->kind == RUST_2019 ? COLMET_RUST_2019 : COLMET_RUST_2020, batch, rows, count,
                                &s->out);
    if (err || !s->out.size)
        return err;
    err = buf_err(&s->out);
    if (!err)
        err = s->zmq->push_send(s->push, (struct bytes){ s->out.data, s->out.size });
    if (err == AGAIN)
        snprintf(s->message, sizeof s->message, "the collector at %.200s accepts no messages", s->address);
    return err;
}

/* Colmet's protocol has no acknowledgements. */
static enum err colmet_flush(void *state, uint64_t deadline_ns)
{
    (void)state, (void)deadline_ns;
    return OK;
}

static const char *colmet_message(const void *state)
{
    return ((const struct colmet_state *)state)->message;
}

static void colmet_close(void *state)
{
    struct colmet_state *s = state;
    s->zmq->push_close(&s->push, (unsigned)(s->linger_ns / 1000000));
    colmet_rows_free(&s->rows);
    colmet_mapping_clear(&s->files);
    colmet_rust_writer_clear(&s->rust);
    buf_clear(&s->out);
}

const struct sink sink_colmet = {
    .name = "colmet",
    .about = "records in Colmet's format, sent to a Colmet collector",
    .settings = colmet_settings,
    .state_size = sizeof(struct colmet_state),
    .check = colmet_check,
    .open = colmet_open,
    .write = colmet_write,
    .flush = colmet_flush,
    .close = colmet_close,
    .message = colmet_message,
};
