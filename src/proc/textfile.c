/* Avoids the final pread where the end is known to be reached: each saved call is a third of a microsecond, and there
 * are dozens of files. */
#include "proc/textfile.h"

#include "base/file.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_PAGE 4096u /* the kernel's seq_file fills at least this much before it returns */

static _Thread_local char shared[TEXTFILE_SHARED];

static char *memory_of(struct textfile *file)
{
    return file->own ? file->own : shared;
}

static size_t capacity_of(const struct textfile *file)
{
    return file->own ? file->capacity : sizeof shared;
}

/* FULL: the maximum is reached. */
static enum err grow(struct textfile *file, size_t capacity)
{
    capacity = capacity < TEXTFILE_MAX ? capacity : TEXTFILE_MAX;
    if (capacity <= capacity_of(file))
        return FULL;
    bool was_shared = !file->own;
    if (array_resize(file->own, capacity))
        return NOMEM;
    if (was_shared)
        memcpy(file->own, shared, file->size);
    file->capacity = capacity;
    return OK;
}

/* The kernel stops before a line that does not fit into its page: if two of the longest would have fitted, there was
 * none left. Called after a short read. */
static bool is_complete(const struct textfile *file, size_t part)
{
    return file->mode == TEXTFILE_WHOLE || (file->longest_line && part + 2 * file->longest_line < KERNEL_PAGE);
}

static enum err read_parts(struct textfile *file)
{
    for (file->size = 0;;) {
        size_t capacity = capacity_of(file) - 1 - file->size;
        ssize_t part = pread(file->fd, memory_of(file) + file->size, capacity, (off_t)file->size);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return err_from_errno(errno);
        file->size += (size_t)part;
        if (part == 0 || ((size_t)part < capacity && is_complete(file, (size_t)part)))
            return OK;
        enum err err = (size_t)part < capacity ? OK : grow(file, capacity_of(file) * 2);
        if (err)
            return err == FULL ? OK : err;
    }
}

/* A number in a line without a newline may lack digits. */
static void drop_partial_line(struct textfile *file)
{
    char *text = memory_of(file);
    while (file->size && text[file->size - 1] != '\n')
        file->size--;
    text[file->size] = '\0';
    file->text = text;
}

enum err textfile_read(struct textfile *file)
{
    enum err err = read_parts(file);
    file->size = err ? 0 : file->size;
    drop_partial_line(file);
    return err;
}

static size_t find_longest_line(const struct textfile *file)
{
    size_t longest_line = 1;
    for (const char *line = file->text, *end; (end = strchr(line, '\n')); line = end + 1)
        if ((size_t)(end - line) + 1 > longest_line)
            longest_line = (size_t)(end - line) + 1;
    return longest_line;
}

enum err textfile_open(struct textfile *file, const char *root, const char *path, enum textfile_mode mode)
{
    *file = (struct textfile){ .mode = mode };
    enum err err = file_open(root, path, &file->fd);
    if (err)
        return err;
    file->is_open = true;
    err = textfile_read(file);
    if (!err && file->own && grow(file, file->size + file->size / 2) == NOMEM)
        err = NOMEM;
    if (err) {
        textfile_close(file);
        return err;
    }
    file->text = memory_of(file);
    file->longest_line = find_longest_line(file);
    return OK;
}

void textfile_close(struct textfile *file)
{
    if (file->is_open)
        close(file->fd);
    free(file->own);
    *file = (struct textfile){ 0 };
}
