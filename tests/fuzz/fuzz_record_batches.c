/* A page of held records with any bytes: what is taken from it are whole frames, in no more bytes than it has. The first byte of
 * the input says whether the page tells a size that may be, so that what is behind it is reached too. */
#include "run/record_batches.h"

#include "spool/record_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int fuzz_record_batches(const uint8_t *data, size_t size);

static char folder[64], path[128];

static void require(int holds)
{
    if (!holds)
        abort();
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    if (*folder)
        return;
    snprintf(folder, sizeof folder, "%s/sonde-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/%s1", folder, RECORD_BATCH_PREFIX);
    atexit(remove_folder);
}

static void write_page(const uint8_t *data, size_t size, int is_mended)
{
    union {
        struct record_batch records;
        uint8_t bytes[RECORD_BATCH_BYTES];
    } page = { .bytes = { 0 } };
    memcpy(page.bytes, data, size < sizeof page ? size : sizeof page);
    if (is_mended)
        page.records.size %= RECORD_BATCH_CAPACITY + 1;
    FILE *file = fopen(path, "w");
    require(file && fwrite(page.bytes, is_mended || size > sizeof page ? sizeof page : size, 1, file) <= 1);
    require(fclose(file) == 0);
}

int fuzz_record_batches(const uint8_t *data, size_t size)
{
    struct spool_writer writer;
    if (size < 1)
        return 0;
    make_folder();
    write_page(data + 1, size - 1, data[0] & 1);
    spool_writer_init_take(&writer, SPOOL_WRITER_BUFFER);
    record_batches_read(folder, &writer);
    require(writer.frames.size <= RECORD_BATCH_CAPACITY);
    for (struct bytes rest = { writer.frames.data, writer.frames.size }; rest.size;) {
        enum record_kind kind;
        struct bytes body;
        size_t taken = 0;
        require(frame_read(rest, &kind, &body, &taken) == OK && taken > 0 && taken <= rest.size);
        rest.data += taken;
        rest.size -= taken;
    }
    spool_writer_close(&writer);
    return 0;
}
