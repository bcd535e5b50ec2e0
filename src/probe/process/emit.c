/* Writes records to the spool: buffers, framing, appending, and counting those that could not be written. */
#include "probe/process/probe.h"

#include "spool/spool.h"

#include <sys/mman.h>

bool emit_buffer_alloc(struct emit_buffer *buffer, size_t size)
{
    buffer->data = buffer->inline_data;
    buffer->size = sizeof buffer->inline_data;
    if (size <= sizeof buffer->inline_data)
        return true;
    long map = sys6(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map < 0 && map > -4096) {
        spool_count_lost(probe.spool);
        return false;
    }
    buffer->data = (uint8_t *)map;
    buffer->size = size;
    return true;
}

void emit_buffer_free(struct emit_buffer *buffer)
{
    if (buffer->data != buffer->inline_data)
        sys2(SYS_munmap, buffer->data, buffer->size);
}

void emit_add_overhead(struct probe_overhead part)
{
    struct probe_overhead *own = probe_in_main_thread() ? &probe.overhead_main : &probe.overhead_others;
    atomic_fetch_add_explicit(&own->rchar, part.rchar, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->syscr, part.syscr, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->wchar, part.wchar, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->syscw, part.syscw, memory_order_relaxed);
}

struct packer emit_begin(uint8_t *frame, size_t size)
{
    /* frame_finish needs 7 bytes after the body */
    return (struct packer){ frame + FRAME_HEAD, frame + size - 7, false };
}

/* Returns 0 if the record did not fit. */
static size_t finish(uint8_t *frame, const struct packer *packer, enum record_kind kind)
{
    return packer->full ? 0 : frame_finish(frame, kind, (size_t)(packer->at - frame) - FRAME_HEAD);
}

enum err emit_frames(const uint8_t *frames, size_t size, unsigned count, int fd)
{
    enum err err = FULL;
    if (size)
        err = spool_append_close(fd, frames, size);
    else
        sys_close(fd);
    if (err == OK && probe_is_own_process())
        emit_add_overhead((struct probe_overhead){ .wchar = size, .syscw = 1 });
    while (err != OK && count--)
        spool_count_lost(probe.spool);
    return err;
}

enum err emit_end_close(uint8_t *frame, const struct packer *packer, enum record_kind kind, int fd)
{
    return emit_frames(frame, finish(frame, packer, kind), 1, fd);
}

enum err emit_end(uint8_t *frame, const struct packer *packer, enum record_kind kind)
{
    return emit_end_close(frame, packer, kind, spool_append_open(probe.spool));
}

enum err emit_later(uint8_t *frame, const struct packer *packer, enum record_kind kind)
{
    size_t size = finish(frame, packer, kind);
    if (size && record_batch_add(frame, size, kind))
        return OK;
    return emit_frames(frame, size, 1, spool_append_open(probe.spool));
}
