/* The kernel charges a page of the spool to whoever writes to it first, we or a program, and again after it was written back. */
#include "run/spool_io.h"

#include "base/clock.h"
#include "base/file.h"
#include "proc/taskfile.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SPARE_PAGES 2             /* on a node where others sync their files, a page is written back sooner */
#define EXPIRE_NS (30 * NS_PER_S) /* vm.dirty_expire_centisecs: how often a page that keeps changing is written back */

/* Of this thread, which writes nothing but the spool until the run is saved. 0: unknown. */
static uint64_t own_write_bytes(void)
{
    char text[512];
    struct taskfile_io io;
    bool is_known = file_read("", "/proc/thread-self/io", text, sizeof text, NULL) == OK && taskfile_parse_io(text, &io) == OK;
    return is_known ? io.write_bytes : 0;
}

void spool_io_begin(struct spool_io *io)
{
    *io = (struct spool_io){ .begin_ns = clock_monotonic_ns(), .write_bytes_before = own_write_bytes() };
}

/* The last page is written back now and then while it is partly full: assume that a program was the next to write to it. */
uint64_t spool_io_dirty_bytes(uint64_t spool_bytes, uint64_t own_bytes, uint64_t page_bytes, uint64_t elapsed_ns)
{
    uint64_t again = SPARE_PAGES + elapsed_ns / EXPIRE_NS;
    uint64_t bytes = ((spool_bytes + page_bytes - 1) / page_bytes + again) * page_bytes;
    return bytes > own_bytes ? bytes - own_bytes : 0;
}

void spool_io_read(const struct spool_io *io, const struct spool_writer *writer, struct sampler_probe_io *probe_io)
{
    struct statfs fs;
    uint64_t own_bytes = own_write_bytes();
    own_bytes = own_bytes > io->write_bytes_before ? own_bytes - io->write_bytes_before : 0; /* less in a forked monitor */
    *probe_io = (struct sampler_probe_io){ .written_bytes = spool_writer_foreign_bytes(writer) };
    bool is_memory = fstatfs(writer->fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
    if (!is_memory && probe_io->written_bytes)
        probe_io->dirty_bytes = spool_io_dirty_bytes(probe_io->written_bytes + writer->written, own_bytes,
                                                     (uint64_t)sysconf(_SC_PAGESIZE), clock_monotonic_ns() - io->begin_ns);
}
