/* Files with one key pair. */
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

/* "public-key = KEY" on a line; false: the line is of this name, but no key stands there. */
static bool take_line(const char *line, const char *name, char key[ZMQ_KEY_MAX])
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
        if (!take_line(line, PUBLIC, pair->public_key) || !take_line(line, SECRET, pair->secret_key))
            return false;
    }
    return pair->public_key[0] != '\0';
}

static enum err complain(const char *path, bool is_ours, enum err err, struct buf *why)
{
    buf_printf(why, "cannot read the key %s: %s", path, err_text(err));
    if (err == ABSENT)
        buf_printf(why, is_ours ? ". 'sonde keygen %s' makes one" : ". Copy it from the collector: there it is "
                   "/etc/sonde/collector.key.pub, or what 'sonde keygen --collector' printed", path);
    return err;
}

static enum err read_pair(const char *path, bool is_ours, struct keys_pair *pair, struct buf *why)
{
    char text[FILE_MAX];
    struct stat status;
    int fd;
    enum err err = file_open(NULL, path, &fd);
    if (err)
        return complain(path, is_ours, err, why);
    err = fstat(fd, &status) == 0 ? file_read_fd(fd, text, sizeof text, NULL) : err_from_errno(errno);
    close(fd);
    if (err)
        return complain(path, is_ours, err, why);
    bool is_parsed = parse(text, pair);
    explicit_bzero(text, sizeof text);
    if (!is_parsed) {
        buf_printf(why, "%s is not a key file: it has no line '" PUBLIC " = KEY' as 'sonde keygen' writes it", path);
        return CORRUPT;
    }
    if (pair->secret_key[0] && status.st_mode & (S_IRWXG | S_IRWXO)) {
        buf_printf(why, "%s holds a secret key and others may read it: chmod 600 %s, and make a new one if they have", path,
                   path);
        explicit_bzero(pair, sizeof *pair);
        return DENIED;
    }
    return OK;
}

enum err keys_read(const char *path, struct keys_pair *pair, struct buf *why)
{
    return read_pair(path, true, pair, why);
}

enum err keys_read_public(const char *key_or_path, char public_key[ZMQ_KEY_MAX], struct buf *why)
{
    struct keys_pair pair;
    if (keys_is_key(key_or_path)) {
        memcpy(public_key, key_or_path, ZMQ_KEY_MAX);
        return OK;
    }
    enum err err = read_pair(key_or_path, false, &pair, why);
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

/* Under another name first: nobody sees half of it, and it never has another mode. */
static enum err make_file(const char *path, mode_t mode, const char *text, bool replace)
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

static void make_folder(const char *path)
{
    char folder[KEYS_PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0755);
        *slash = '/';
    }
}

enum err keys_write(const char *path, const struct keys_pair *pair, bool replace, struct buf *why)
{
    char text[FILE_MAX], public_path[KEYS_PATH_MAX];
    make_folder(path);
    snprintf(text, sizeof text, PUBLIC " = %s\n" SECRET " = %s\n", pair->public_key, pair->secret_key);
    enum err err = make_file(path, 0600, text, replace);
    explicit_bzero(text, sizeof text);
    snprintf(text, sizeof text, PUBLIC " = %s\n", pair->public_key);
    if (!err)
        err = snprintf(public_path, sizeof public_path, "%s.pub", path) < (int)sizeof public_path
                  ? make_file(public_path, 0644, text, true)
                  : USAGE;
    if (err == AGAIN)
        buf_printf(why, "there is a key at %s already; --force replaces it, and whoever allowed it must be told the new one",
                   path);
    else if (err)
        buf_printf(why, "cannot write the key %s: %s", path, err_text(err));
    return err;
}
