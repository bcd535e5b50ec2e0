/* Buffers frames and appends them to the spool. */
#include "run/spool_writer.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_BYTES (32 << 10) /* larger amounts are written immediately */
#define KEEP_BYTES (256 << 10)  /* a buffer that grew for one huge command line is freed */
#define BUFFER_MAX (FRAME_BODY_MAX + FRAME_HEAD + 8 + FLUSH_BYTES)

uint64_t spool_writer_foreign_bytes(const struct spool_writer *writer)
{
    struct stat st;
    if (writer->fd < 0 || fstat(writer->fd, &st) != 0 || (uint64_t)st.st_size < writer->written)
        return 0;
    return (uint64_t)st.st_size - writer->written;
}

void spool_writer_init_take(struct spool_writer *writer, int fd)
{
    *writer = (struct spool_writer){ .fd = fd };
    buf_init(&writer->frames, BUFFER_MAX);
    writer->written = spool_writer_foreign_bytes(writer);
}

/* Number of frames that are not completely within the first `written` bytes. */
static uint64_t incomplete_frames(const struct buf *frames, size_t written)
{
    uint64_t count = 0;
    size_t at = 0;
    while (at + FRAME_HEAD <= frames->size) {
        uint32_t body;
        memcpy(&body, frames->data + at + 4, sizeof body);
        at += FRAME_HEAD + ((body + 7u) & ~7u);
        if (at > written)
            count++;
    }
    return count;
}

void spool_writer_flush(struct spool_writer *writer)
{
    struct buf *frames = &writer->frames;
    if (!frames->size || writer->fd < 0)
        return;
    ssize_t written;
    do
        written = write(writer->fd, frames->data, frames->size);
    while (written < 0 && errno == EINTR);
    if (written > 0)
        writer->written += (uint64_t)written;
    if (written < (ssize_t)frames->size)
        writer->lost += incomplete_frames(frames, written > 0 ? (size_t)written : 0);
    spool_writer_discard(writer);
}

void spool_writer_discard(struct spool_writer *writer)
{
    if (writer->frames.capacity > KEEP_BYTES)
        buf_clear(&writer->frames);
    else
        buf_reset(&writer->frames);
}

void spool_writer_move(struct spool_writer *writer, struct spool_writer *from)
{
    if (writer->fd != SPOOL_WRITER_NONE)
        buf_add(&writer->frames, from->frames.data, from->frames.size);
    if (writer->frames.failed)
        writer->lost += incomplete_frames(&from->frames, 0);
    writer->frames.failed = false;
    spool_writer_discard(from);
}

void spool_writer_close(struct spool_writer *writer)
{
    spool_writer_flush(writer);
    buf_clear(&writer->frames);
    if (writer->fd >= 0)
        close(writer->fd);
    writer->fd = SPOOL_WRITER_NONE;
}

/* Reserves space for a frame with a body of at most this size. */
static bool begin(struct spool_writer *writer, size_t body_max, struct packer *p)
{
    if (writer->fd == SPOOL_WRITER_NONE)
        return false;
    if (writer->frames.size > FLUSH_BYTES)
        spool_writer_flush(writer);
    char *frame = buf_reserve(&writer->frames, FRAME_HEAD + body_max + 8);
    if (!frame) {
        writer->frames.failed = false;
        writer->lost++;
        return false;
    }
    uint8_t *body = (uint8_t *)frame + FRAME_HEAD;
    *p = (struct packer){ body, body + body_max, false };
    return true;
}

static void finish(struct spool_writer *writer, enum record_kind kind, const struct packer *p)
{
    uint8_t *frame = (uint8_t *)writer->frames.data + writer->frames.size;
    size_t body_size = (size_t)(p->at - (frame + FRAME_HEAD));
    if (p->full || body_size > FRAME_BODY_MAX) {
        writer->lost++;
        return;
    }
    writer->frames.size += frame_finish(frame, kind, body_size);
}

void spool_writer_add_frame(struct spool_writer *writer, struct bytes frame)
{
    struct packer p;
    if (!begin(writer, frame.size, &p))
        return;
    memcpy(writer->frames.data + writer->frames.size, frame.data, frame.size);
    writer->frames.size += frame.size;
}

#define size_of_number(value) ((void)(value), (size_t)PACK_NUMBER_MAX)
#define size_of_text(value) (PACK_NUMBER_MAX + (value).size)
#define size_of_counters(value) ((void)(value).known, (size_t)PACK_NUMBER_MAX * (COUNTERS_SIZE + 1))
#define FIELD(type, field) +size_of_##type(record->field)
/* The packer needs space for the longest number before each field: one more at the end. */
#define X(number, name, fields) \
    void spool_writer_add_##name(struct spool_writer *writer, const struct name##_record *record) \
    { \
        struct packer p; \
        if (!begin(writer, PACK_NUMBER_MAX fields(FIELD), &p)) \
            return; \
        record_pack_##name(&p, record); \
        finish(writer, RECORD_KIND_##name, &p); \
    }
RECORD_KINDS(X)
#undef X
#undef FIELD
