/* Small files of the journal, replaced atomically: written under another name, synced, renamed. */
#include "journal/journal_blob.h"

#include "journal/journal_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x31624a6e73u /* "snJb1" */
#define NAME_MAX_BYTES 300

void journal_blob_start(struct buf *blob)
{
    static const char head[JOURNAL_BLOB_HEADER_BYTES];
    buf_init(blob, JOURNAL_BLOB_MAX);
    buf_add(blob, head, sizeof head);
}

void journal_blob_u64(struct buf *blob, uint64_t value)
{
    buf_add(blob, &value, sizeof value);
}

void journal_blob_string(struct buf *blob, const char *text)
{
    size_t size = strnlen(text, UINT8_MAX);
    buf_add_char(blob, (char)size);
    buf_add(blob, text, size);
}

static uint64_t checksum_of(struct bytes content)
{
    return journal_checksum(MAGIC, content.data, content.size);
}

static enum err write_all(int fd, struct bytes bytes)
{
    while (bytes.size) {
        ssize_t put = write(fd, bytes.data, bytes.size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_from_errno(errno);
        bytes.data += put;
        bytes.size -= (size_t)put;
    }
    return fsync(fd) == 0 ? OK : err_from_errno(errno);
}

static enum err write_new(int directory, const char *name, struct bytes bytes)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = write_all(fd, bytes);
    if (close(fd) != 0 && !err)
        err = err_from_errno(errno);
    return err;
}

enum err journal_blob_save(struct buf *blob, int directory, const char *name)
{
    enum err err = buf_err(blob);
    char temporary[NAME_MAX_BYTES];
    snprintf(temporary, sizeof temporary, "%s.new", name);
    if (!err) {
        uint64_t head[2] = { MAGIC, checksum_of((struct bytes){ blob->data + JOURNAL_BLOB_HEADER_BYTES,
                                                             blob->size - JOURNAL_BLOB_HEADER_BYTES }) };
        memcpy(blob->data, head, sizeof head);
        err = write_new(directory, temporary, (struct bytes){ blob->data, blob->size });
    }
    if (!err && renameat(directory, temporary, directory, name) != 0)
        err = err_from_errno(errno);
    if (!err && fsync(directory) != 0)
        err = err_from_errno(errno);
    if (err)
        unlinkat(directory, temporary, 0); /* it may occupy the last free space */
    buf_clear(blob);
    return err;
}

static enum err read_all(int fd, struct buf *blob)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_from_errno(errno);
    if (!S_ISREG(st.st_mode) || st.st_size > JOURNAL_BLOB_MAX)
        return CORRUPT;
    char *to = buf_reserve(blob, (size_t)st.st_size);
    if (!to)
        return NOMEM;
    while (blob->size < (size_t)st.st_size) {
        ssize_t got = read(fd, blob->data + blob->size, (size_t)st.st_size - blob->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_from_errno(errno);
        if (got == 0)
            break;
        blob->size += (size_t)got;
    }
    return OK;
}

enum err journal_blob_load(struct buf *blob, int directory, const char *name, struct bytes *content)
{
    buf_init(blob, JOURNAL_BLOB_MAX);
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = read_all(fd, blob);
    close(fd);
    uint64_t head[2] = { 0 };
    if (!err && blob->size >= JOURNAL_BLOB_HEADER_BYTES) {
        memcpy(head, blob->data, sizeof head);
        *content = (struct bytes){ blob->data + JOURNAL_BLOB_HEADER_BYTES, blob->size - JOURNAL_BLOB_HEADER_BYTES };
    }
    if (!err && (head[0] != MAGIC || head[1] != checksum_of(*content)))
        err = CORRUPT;
    if (err)
        buf_clear(blob);
    return err;
}

bool journal_blob_take_u64(struct bytes *content, uint64_t *value)
{
    if (content->size < sizeof *value)
        return false;
    memcpy(value, content->data, sizeof *value);
    *content = (struct bytes){ content->data + sizeof *value, content->size - sizeof *value };
    return true;
}

bool journal_blob_take_string(struct bytes *content, char text[256])
{
    size_t size = content->size ? (uint8_t)content->data[0] : 0;
    if (content->size < 1 + size)
        return false;
    memcpy(text, content->data + 1, size);
    text[size] = '\0';
    *content = (struct bytes){ content->data + 1 + size, content->size - 1 - size };
    return true;
}
