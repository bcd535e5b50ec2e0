/* The list of authorized keys: read completely, sorted, and replaced as a whole when its file changes. The router's
 * thread looks keys up. */
#include "transport/keys.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (32u << 20)
#define NAME_BYTES 256

struct authorized_key {
    char key[ZMQ_KEY_MAX], name[NAME_BYTES];
};

struct keys_list {
    pthread_mutex_t lock;
    char path[KEYS_PATH_MAX];
    struct stat seen;            /* the file when it was last checked */
    bool is_error_logged;        /* it could not be read then, and that was logged */
    struct authorized_key *keys; /* sorted by key */
    size_t size;
    uint64_t version;
};

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct authorized_key *)a)->key, ((const struct authorized_key *)b)->key, ZMQ_KEY_MAX);
}

static const char *next_word(const char **at, char *word, size_t capacity)
{
    *at += strspn(*at, " \t\r");
    size_t size = strcspn(*at, " \t\r\n");
    snprintf(word, capacity, "%.*s", (int)(size < capacity ? size : capacity - 1), *at);
    *at += size;
    return size < capacity ? word : NULL;
}

/* mistake is set if the line is invalid. false: no key on this line. A key may start with '#', like a comment. */
static bool parse_line(const char *line, struct authorized_key *entry, const char **mistake)
{
    char key[ZMQ_KEY_MAX + 1];
    const char *whole_key = next_word(&line, key, sizeof key);
    if (!*key || (*key == '#' && !(whole_key && keys_is_key(key))))
        return false;
    memset(entry, 0, sizeof *entry);
    if (!whole_key || !keys_is_key(key))
        *mistake = "does not start with a key of 40 characters";
    else if (!next_word(&line, entry->name, sizeof entry->name))
        *mistake = "host name too long";
    else if (!*entry->name || *entry->name == '#')
        *mistake = "missing host name (or * for any host) after the key";
    else if (line += strspn(line, " \t\r"), *line && *line != '#')
        *mistake = "unexpected text after the host name";
    if (*mistake)
        return false;
    memcpy(entry->key, key, sizeof entry->key);
    if (!strcmp(entry->name, "*"))
        entry->name[0] = '\0';
    return true;
}

static size_t count_lines(const char *text)
{
    size_t lines = 1;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

static enum err sort(struct keys_list *list, struct authorized_key *entries, size_t count, struct buf *error)
{
    qsort(entries, count, sizeof *entries, compare);
    for (size_t i = 1; i < count; i++)
        if (!compare(&entries[i - 1], &entries[i])) {
            buf_printf(error, "%s: key %s is listed twice", list->path, entries[i].key);
            free(entries);
            return CORRUPT;
        }
    free(list->keys);
    list->keys = entries;
    list->size = count;
    list->version++;
    return OK;
}

static enum err parse(struct keys_list *list, char *text, struct buf *error)
{
    struct authorized_key *entries = calloc(count_lines(text), sizeof *entries);
    size_t count = 0, number = 1;
    if (!entries)
        return NOMEM;
    for (char *line = text, *next; line; line = next, number++) {
        const char *mistake = NULL;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (parse_line(line, &entries[count], &mistake))
            count++;
        if (mistake) {
            buf_printf(error, "%s:%zu: %s", list->path, number, mistake);
            free(entries);
            return CORRUPT;
        }
    }
    return sort(list, entries, count, error);
}

static enum err read_text(struct keys_list *list, char **text)
{
    int fd;
    enum err err = file_open(NULL, list->path, &fd);
    if (err)
        return err;
    if (fstat(fd, &list->seen) != 0)
        err = err_from_errno(errno);
    else if (!S_ISREG(list->seen.st_mode) || list->seen.st_size >= (off_t)FILE_MAX)
        err = USAGE;
    *text = err ? NULL : malloc((size_t)list->seen.st_size + 2);
    if (!err)
        err = *text ? file_read_fd(fd, *text, (size_t)list->seen.st_size + 2, NULL) : NOMEM;
    close(fd);
    return err;
}

/* Whoever can change the list can speak for every host. */
static bool is_protected(const struct stat *file)
{
    return (file->st_uid == 0 || file->st_uid == geteuid()) && !(file->st_mode & (S_IWGRP | S_IWOTH));
}

static enum err read_list(struct keys_list *list, struct buf *error)
{
    char *text = NULL;
    enum err err = read_text(list, &text);
    if (!err && !is_protected(&list->seen)) {
        err = DENIED;
        buf_printf(error, "the list of authorized keys %s can be changed by others than its user; run: chown root %s && "
                   "chmod go-w %s", list->path, list->path, list->path);
    } else if (err)
        buf_printf(error, "cannot read the list of authorized keys %s: %s", list->path, err_text(err));
    else
        err = parse(list, text, error);
    free(text);
    return err;
}

enum err keys_list_open(struct keys_list **list, const char *path, struct buf *error)
{
    struct keys_list *l = *list = calloc(1, sizeof *l);
    if (!l)
        return NOMEM;
    pthread_mutex_init(&l->lock, NULL);
    snprintf(l->path, sizeof l->path, "%s", path);
    enum err err = read_list(l, error);
    if (err)
        keys_list_close(list);
    return err;
}

void keys_list_close(struct keys_list **list)
{
    if (!*list)
        return;
    pthread_mutex_destroy(&(*list)->lock);
    free((*list)->keys);
    free(*list);
    *list = NULL;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size
           && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec
           && a->st_mode == b->st_mode && a->st_uid == b->st_uid;
}

static void refresh(struct keys_list *list)
{
    struct stat now;
    struct buf error;
    bool is_there = stat(list->path, &now) == 0;
    if (is_there ? is_same(&now, &list->seen) : list->is_error_logged)
        return;
    memset(&list->seen, 0, sizeof list->seen);
    if (is_there)
        list->seen = now; /* also if it cannot be opened: log that only once */
    buf_init(&error, 8192);
    enum err err = read_list(list, &error);
    if (err)
        log_warn("%s; the previous list stays in effect", buf_text(&error));
    list->is_error_logged = err != OK;
    buf_clear(&error);
}

void keys_list_refresh(struct keys_list *list)
{
    pthread_mutex_lock(&list->lock);
    refresh(list);
    pthread_mutex_unlock(&list->lock);
}

bool keys_list_authorizes(struct keys_list *list, const char *public_key, char name[256])
{
    struct authorized_key key = { .key = "" };
    if (!public_key || !keys_is_key(public_key))
        return false;
    memcpy(key.key, public_key, sizeof key.key);
    pthread_mutex_lock(&list->lock);
    refresh(list);
    const struct authorized_key *found =
        list->size ? bsearch(&key, list->keys, list->size, sizeof key, compare) : NULL;
    if (found)
        memcpy(name, found->name, sizeof found->name);
    pthread_mutex_unlock(&list->lock);
    return found != NULL;
}

uint64_t keys_list_version(struct keys_list *list)
{
    pthread_mutex_lock(&list->lock);
    uint64_t version = list->version;
    pthread_mutex_unlock(&list->lock);
    return version;
}

size_t keys_list_size(struct keys_list *list)
{
    pthread_mutex_lock(&list->lock);
    size_t size = list->size;
    pthread_mutex_unlock(&list->lock);
    return size;
}
