/* A metrics segment with arbitrary bytes, which change between two readings: it is read or rejected, and nothing outside of it
 * is touched. The first byte selects whether the header is repaired, so that the code after it is reached too, and how the file
 * changes. */
#include "appmetrics/segment_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fuzz_segment(const uint8_t *data, size_t size);

enum { REPAIR_HEADER = 1, CHANGE = 2, CUT = 4 };

static char path[64];

static void require(int holds)
{
    if (!holds)
        abort();
}

static void remove_file(void)
{
    unlink(path);
}

static void make_file(void)
{
    if (*path)
        return;
    snprintf(path, sizeof path, "%s/sonde-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    int fd = mkstemp(path);
    require(fd >= 0);
    close(fd);
    atexit(remove_file);
}

static void write_file(const uint8_t *data, size_t size, int is_mended)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (is_mended && size >= SEGMENT_PAGE) {
        struct segment_header header;
        memcpy(&header, data, sizeof header);
        memcpy(header.magic, SEGMENT_MAGIC, sizeof header.magic);
        header.version = SEGMENT_VERSION;
        header.pages = header.pages > size / SEGMENT_PAGE ? size / SEGMENT_PAGE : header.pages;
        require(pwrite(fd, &header, sizeof header, 0) == sizeof header);
    }
    close(fd);
}

static unsigned touch(struct bytes text)
{
    unsigned sum = 0;
    for (size_t i = 0; i < text.size; i++)
        sum += (unsigned char)text.data[i];
    return sum;
}

static void look_at(const struct segment_reader *reader)
{
    unsigned sum = 0;
    for (size_t i = 0; i < segment_reader_count(reader); i++) {
        struct segment_value value;
        segment_reader_value(reader, i, &value);
        require(value.name.size > 0);
        sum += touch(value.name) + touch(value.labels) + touch(value.unit) + touch(value.help);
        for (size_t k = 0; value.kind == SEGMENT_HISTOGRAM && k < value.bound_count; k++)
            require(k == 0 || value.bounds[k] > value.bounds[k - 1]);
        for (size_t k = 0; value.kind == SEGMENT_HISTOGRAM && k <= value.bound_count; k++)
            sum += (unsigned)value.buckets[k];
    }
    const struct segment_info *facts = segment_reader_info(reader);
    require(strnlen(facts->command, sizeof facts->command) < sizeof facts->command);
    require(sum < UINT32_MAX || sum); /* it is used */
}

int fuzz_segment(const uint8_t *data, size_t size)
{
    struct segment_reader *reader;
    if (size < 1 || size > (1u << 20))
        return 0;
    make_file();
    int flags = data[0];
    data++;
    size--;
    write_file(data, flags & CUT ? size / 2 : size, flags & REPAIR_HEADER);
    if (segment_reader_open(&reader, path))
        return 0;
    segment_reader_read(reader);
    look_at(reader);
    size_t count = segment_reader_count(reader);
    if (flags & CHANGE)
        write_file(data + size / 3, size - size / 3, flags & REPAIR_HEADER);
    else
        write_file(data, size, flags & REPAIR_HEADER);
    segment_reader_read(reader);
    require(segment_reader_count(reader) >= count);
    look_at(reader);
    segment_reader_is_finished(reader, "");
    segment_reader_close(&reader);
    return 0;
}
