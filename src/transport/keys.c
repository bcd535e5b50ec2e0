/* Key files with one key pair. */
#include "transport/keys.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 4096
#define PUBLIC "public-key"
#define SECRET "secret-key"

bool keys_is_key(const char *text)
{
    static const char alphabet[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    return strlen(text) == ZMQ_KEY_MAX - 1 && strspn(text, alphabet) == ZMQ_KEY_MAX - 1;
}

enum err keys_path(const char *name, char path[KEYS_PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int size = -1;
    if (geteuid() == 0)
        size = snprintf(path, KEYS_PATH_MAX, "/etc/sonde/%s", name);
    else if (config && *config)
        size = snprintf(path, KEYS_PATH_MAX, "%s/sonde/%s", config, name);
    else if (home && *home)
        size = snprintf(path, KEYS_PATH_MAX, "%s/.config/sonde/%s", home, name);
    return size > 0 && size < KEYS_PATH_MAX ? OK : ABSENT;
}

/* Parses a line "NAME = KEY". false: it has this name but no valid key. */
static bool parse_line(const char *line, const char *name, char key[ZMQ_KEY_MAX])
{
    char word[ZMQ_KEY_MAX + 1];
    size_t size;
    line += strspn(line, " \t");
    if (strncmp(line, name, strlen(name)) != 0)
        return true;
    line += strlen(name);
    line += strspn(line, " \t");
    if (*line != '=')
        return false;
    line += 1 + strspn(line + 1, " \t\"");
    size = strcspn(line, " \t\r\"");
    snprintf(word, sizeof word, "%.*s", (int)(size < sizeof word ? size : sizeof word - 1), line);
    if (size != ZMQ_KEY_MAX - 1 || !keys_is_key(word))
        return false;
    memcpy(key, word, ZMQ_KEY_MAX);
    return true;
}

static bool parse(char *text, struct keys_pair *pair)
{
    memset(pair, 0, sizeof *pair);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (!parse_line(line, PUBLIC, pair->public_key) || !parse_line(line, SECRET, pair->secret_key))
            return false;
    }
    return pair->public_key[0] != '\0';
}

static enum err explain_error(const char *path, bool is_ours, enum err err, struct buf *error)
{
    buf_printf(error, "cannot read key file %s: %s", path, err_text(err));
    if (err == ABSENT)
        buf_printf(error, is_ours ? "; create one with 'sonde keygen %s'" : "; copy it from the collector, where it is "
                   "/etc/sonde/collector.key.pub or what 'sonde keygen --collector' printed", path);
    return err;
}

static enum err read_pair(const char *path, bool is_ours, struct keys_pair *pair, struct buf *error)
{
    char text[FILE_MAX];
    struct stat status;
    int fd;
    enum err err = file_open(NULL, path, &fd);
    if (err)
        return explain_error(path, is_ours, err, error);
    err = fstat(fd, &status) == 0 ? file_read_fd(fd, text, sizeof text, NULL) : err_from_errno(errno);
    close(fd);
    if (err)
        return explain_error(path, is_ours, err, error);
    bool is_parsed = parse(text, pair);
    explicit_bzero(text, sizeof text);
    if (!is_parsed) {
        buf_printf(error, "%s is not a key file: no line '" PUBLIC " = KEY' (create one with 'sonde keygen')", path);
        return CORRUPT;
    }
    if (pair->secret_key[0] && status.st_mode & (S_IRWXG | S_IRWXO)) {
        buf_printf(error, "%s contains a secret key but is accessible to other users: run 'chmod 600 %s', and create a new key "
                   "if they may have read it", path, path);
        explicit_bzero(pair, sizeof *pair);
        return DENIED;
    }
    return OK;
}

enum err keys_read(const char *path, struct keys_pair *pair, struct buf *error)
{
    return read_pair(path, true, pair, error);
}

enum err keys_read_public(const char *key_or_path, char public_key[ZMQ_KEY_MAX], struct buf *error)
{
    struct keys_pair pair;
    if (keys_is_key(key_or_path)) {
        memcpy(public_key, key_or_path, ZMQ_KEY_MAX);
        return OK;
    }
    enum err err = read_pair(key_or_path, false, &pair, error);
    if (!err)
        memcpy(public_key, pair.public_key, ZMQ_KEY_MAX);
    explicit_bzero(&pair, sizeof pair);
    return err;
}

static enum err write_all(int fd, const char *text)
{
    for (size_t size = strlen(text); size;) {
        ssize_t written = write(fd, text, size);
        if (written < 0 && errno != EINTR)
            return err_from_errno(errno);
        if (written > 0) {
            text += written;
            size -= (size_t)written;
        }
    }
    return fsync(fd) == 0 ? OK : err_from_errno(errno);
}

/* Creates it under another name first, so that it is never visible half written or with another mode. */
static enum err write_file(const char *path, mode_t mode, const char *text, bool replace)
{
    char fresh[KEYS_PATH_MAX];
    if (snprintf(fresh, sizeof fresh, "%s.new-%ld", path, (long)getpid()) >= (int)sizeof fresh)
        return USAGE;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = fchmod(fd, mode) == 0 ? write_all(fd, text) : err_from_errno(errno);
    close(fd);
    if (!err && (replace ? rename(fresh, path) : link(fresh, path)) != 0)
        err = errno == EEXIST ? AGAIN : err_from_errno(errno);
    if (err || !replace)
        unlink(fresh);
    return err;
}

static void create_parents(const char *path)
{
    char directory[KEYS_PATH_MAX];
    snprintf(directory, sizeof directory, "%s", path);
    for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(directory, 0755);
        *slash = '/';
    }
}

enum err keys_write(const char *path, const struct keys_pair *pair, bool replace, struct buf *error)
{
    char text[FILE_MAX], public_path[KEYS_PATH_MAX];
    create_parents(path);
    snprintf(text, sizeof text, PUBLIC " = %s\n" SECRET " = %s\n", pair->public_key, pair->secret_key);
    enum err err = write_file(path, 0600, text, replace);
    explicit_bzero(text, sizeof text);
    snprintf(text, sizeof text, PUBLIC " = %s\n", pair->public_key);
    if (!err)
        err = snprintf(public_path, sizeof public_path, "%s.pub", path) < (int)sizeof public_path
                  ? write_file(public_path, 0644, text, true)
                  : USAGE;
    if (err == AGAIN)
        buf_printf(error, "%s already exists; --force replaces it, but then the new key must be authorized instead of the "
                   "old one", path);
    else if (err)
        buf_printf(error, "cannot write key file %s: %s", path, err_text(err));
    return err;
}
