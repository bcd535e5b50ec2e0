/* Gathering frames and appending them. */
#include "run/spool_writer.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define GATHER_BYTES (32 << 10) /* more than this is written at once */
#define KEEP_BYTES (256 << 10)  /* a buffer that one giant command line made larger is given back */
#define GATHER_MAX (FRAME_BODY_MAX + FRAME_HEAD + 8 + GATHER_BYTES)

uint64_t writer_bytes_of_others(const struct writer *writer)
{
    struct stat st;
    if (writer->fd < 0 || fstat(writer->fd, &st) != 0 || (uint64_t)st.st_size < writer->written)
        return 0;
    return (uint64_t)st.st_size - writer->written;
}

void writer_init_take(struct writer *writer, int fd)
{
    *writer = (struct writer){ .fd = fd };
    buf_init(&writer->frames, GATHER_MAX);
    writer->written = writer_bytes_of_others(writer);
}

/* Frames that do not lie wholly within the first written bytes. */
static uint64_t frames_behind(const struct buf *frames, size_t written)
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

void writer_flush(struct writer *writer)
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
        writer->lost += frames_behind(frames, written > 0 ? (size_t)written : 0);
    writer_forget(writer);
}

void writer_forget(struct writer *writer)
{
    if (writer->frames.room > KEEP_BYTES)
        buf_clear(&writer->frames);
    else
        buf_reset(&writer->frames);
}

void writer_move(struct writer *writer, struct writer *from)
{
    if (writer->fd != WRITER_NONE)
        buf_add(&writer->frames, from->frames.data, from->frames.size);
    if (writer->frames.failed)
        writer->lost += frames_behind(&from->frames, 0);
    writer->frames.failed = false;
    writer_forget(from);
}

void writer_close(struct writer *writer)
{
    writer_flush(writer);
    buf_clear(&writer->frames);
    if (writer->fd >= 0)
        close(writer->fd);
    writer->fd = WRITER_NONE;
}

/* Room for a body of at most this size, behind the head. */
static bool begin(struct writer *writer, size_t body_max, struct packer *p)
{
    if (writer->fd == WRITER_NONE)
        return false;
    if (writer->frames.size > GATHER_BYTES)
        writer_flush(writer);
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

static void finish(struct writer *writer, enum record_kind kind, const struct packer *p)
{
    uint8_t *frame = (uint8_t *)writer->frames.data + writer->frames.size;
    size_t body_size = (size_t)(p->at - (frame + FRAME_HEAD));
    if (p->full || body_size > FRAME_BODY_MAX) {
        writer->lost++;
        return;
    }
    writer->frames.size += frame_finish(frame, kind, body_size);
}

void writer_add_frame(struct writer *writer, struct bytes frame)
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
/* Pack wants room for the longest number before each: one more at the end. */
#define X(number, name, fields) \
    void writer_add_##name(struct writer *writer, const struct name##_record *record) \
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
