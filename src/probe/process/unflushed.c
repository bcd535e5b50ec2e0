/* What libc will write after the end record: exit() flushes the buffers of stdio streams after all exit handlers. We only look at
 * the streams: flushing them earlier could wait for a lock that exit() does not take. */
#include "probe/process/probe.h"

#include <stdio.h>
#include <sys/stat.h>

/* glibc's list of open streams; other C libraries do not have it. */
extern FILE *_IO_list_all;
#pragma weak _IO_list_all

#define STREAMS_MAX 4096 /* open descriptors are limited to 1024 by default */

/* The condition under which glibc's exit writes. Wide streams keep data elsewhere, memory streams have no descriptor. */
static size_t pending_bytes(const FILE *stream)
{
    if (stream->_mode > 0 || stream->_fileno < 0 || stream->_IO_write_ptr <= stream->_IO_write_base)
        return 0;
    return (size_t)(stream->_IO_write_ptr - stream->_IO_write_base);
}

static void add_stream(const FILE *stream, struct unflushed *unflushed)
{
    struct stat st;
    size_t size = pending_bytes(stream);
    if (!size || sys4(SYS_newfstatat, stream->_fileno, "", &st, AT_EMPTY_PATH) != 0)
        return;
    unflushed->bytes += size;
    unflushed->calls++;
    unflushed->has_file |= S_ISREG(st.st_mode);
}

/* Other running threads may close streams meanwhile: then only stdout is safe to look at, which is never freed. */
struct unflushed unflushed_read(bool is_alone)
{
    struct unflushed unflushed = { 0 };
    if (is_alone && &_IO_list_all) {
        const FILE *stream = _IO_list_all;
        for (int i = 0; stream && i < STREAMS_MAX; i++, stream = stream->_chain)
            add_stream(stream, &unflushed);
    } else {
        add_stream(stdout, &unflushed);
    }
    return unflushed;
}
