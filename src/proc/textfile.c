/* pread without asking for the end where it is known to have been reached: each saved call is a third of a microsecond,
 * and there are dozens of files. */
#include "proc/textfile.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_PAGE 4096u /* what seq_file of the kernel fills at least before it gives; it may be more */

static _Thread_local char shared[TEXTFILE_SHARED];

static char *memory_of(struct textfile *file)
{
    return file->own ? file->own : shared;
}

static size_t room_of(const struct textfile *file)
{
    return file->own ? file->room : sizeof shared;
}

/* FULL: it has all that a text may have. */
static enum err grow(struct textfile *file, size_t room)
{
    room = room < TEXTFILE_MAX ? room : TEXTFILE_MAX;
    if (room <= room_of(file))
        return FULL;
    char *own = realloc(file->own, room);
    if (!own)
        return NOMEM;
    if (!file->own)
        memcpy(own, shared, file->size);
    file->own = own;
    file->room = room;
    return OK;
}

/* The kernel stops before a line that does not fit into its page: when two of the longest would have fitted, there was
 * none. Called when less came than we had room for. */
static bool was_the_last(const struct textfile *file, size_t part)
{
    return file->way == TEXTFILE_WHOLE || (file->longest && part + 2 * file->longest < KERNEL_PAGE);
}

static enum err read_parts(struct textfile *file)
{
    for (file->size = 0;;) {
        size_t room = room_of(file) - 1 - file->size;
        ssize_t part = pread(file->fd, memory_of(file) + file->size, room, (off_t)file->size);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return err_from_errno(errno);
        file->size += (size_t)part;
        if (part == 0 || ((size_t)part < room && was_the_last(file, (size_t)part)))
            return OK;
        enum err err = (size_t)part < room ? OK : grow(file, room_of(file) * 2);
        if (err)
            return err == FULL ? OK : err;
    }
}

/* A number at the end whose line has no end may lack digits. */
static void cut_last_line(struct textfile *file)
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
    cut_last_line(file);
    return err;
}

static size_t longest_line(const struct textfile *file)
{
    size_t longest = 1;
    for (const char *line = file->text, *end; (end = strchr(line, '\n')); line = end + 1)
        if ((size_t)(end - line) + 1 > longest)
            longest = (size_t)(end - line) + 1;
    return longest;
}

enum err textfile_open(struct textfile *file, const char *root, const char *path, enum textfile_way way)
{
    *file = (struct textfile){ .way = way };
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
    file->longest = longest_line(file);
    return OK;
}

void textfile_close(struct textfile *file)
{
    if (file->is_open)
        close(file->fd);
    free(file->own);
    *file = (struct textfile){ 0 };
}
