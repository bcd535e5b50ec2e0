/* Reads one number from a string or a file. */
#include "proc/number.h"

#include "base/file.h"
#include "base/scan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define NUMBER_TEXT_MAX 64

enum err number_parse_u64(const char *text, uint64_t *value)
{
    uint64_t number;
    if (!scan_u64(&text, &number) || text[strspn(text, " \t\n")])
        return CORRUPT;
    *value = number;
    return OK;
}

enum err number_parse_i64(const char *text, int64_t *value)
{
    uint64_t number;
    text += strspn(text, " \t");
    bool negative = *text == '-';
    text += negative;
    if (*text < '0' || *text > '9' || number_parse_u64(text, &number) || number > INT64_MAX)
        return CORRUPT;
    *value = negative ? -(int64_t)number : (int64_t)number;
    return OK;
}

static enum err read_text(int fd, char text[NUMBER_TEXT_MAX])
{
    ssize_t got;
    do
        got = pread(fd, text, NUMBER_TEXT_MAX - 1, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_from_errno(errno);
    text[got] = '\0';
    return OK;
}

enum err number_read_u64(int fd, uint64_t *value)
{
    char text[NUMBER_TEXT_MAX];
    enum err err = read_text(fd, text);
    return err ? err : number_parse_u64(text, value);
}

enum err number_read_i64(int fd, int64_t *value)
{
    char text[NUMBER_TEXT_MAX];
    enum err err = read_text(fd, text);
    return err ? err : number_parse_i64(text, value);
}

enum err number_file_u64(const char *root, const char *path, uint64_t *value)
{
    int fd;
    enum err err = file_open(root, path, &fd);
    if (err)
        return err;
    err = number_read_u64(fd, value);
    close(fd);
    return err;
}

enum err number_file_i64(const char *root, const char *path, int64_t *value)
{
    int fd;
    enum err err = file_open(root, path, &fd);
    if (err)
        return err;
    err = number_read_i64(fd, value);
    close(fd);
    return err;
}
