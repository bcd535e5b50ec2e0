/* The list of keys that are let in: read whole, sorted, and replaced whole when its file changes. The gate of a router asks
 * it from a thread of its own. */
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
#define NAME_ROOM 256

struct allowed {
    char key[ZMQ_KEY_MAX], name[NAME_ROOM];
};

struct keys_list {
    pthread_mutex_t lock;
    char path[KEYS_PATH_MAX];
    struct stat seen;   /* of the file when it was looked at last */
    bool is_complained; /* … and it could not be read then */
    struct allowed *allowed; /* sorted by key */
    size_t size;
    uint64_t version;
};

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct allowed *)a)->key, ((const struct allowed *)b)->key, ZMQ_KEY_MAX);
}

static const char *word_at(const char **at, char *word, size_t room)
{
    *at += strspn(*at, " \t\r");
    size_t size = strcspn(*at, " \t\r\n");
    snprintf(word, room, "%.*s", (int)(size < room ? size : room - 1), *at);
    *at += size;
    return size < room ? word : NULL;
}

/* *mistake: NULL when all is well. False: no key on this line. A key may begin with #, as a comment does. */
static bool parse_line(const char *line, struct allowed *entry, const char **mistake)
{
    char key[ZMQ_KEY_MAX + 1];
    const char *whole_key = word_at(&line, key, sizeof key);
    if (!*key || (*key == '#' && !(whole_key && keys_is_key(key))))
        return false;
    memset(entry, 0, sizeof *entry);
    if (!whole_key || !keys_is_key(key))
        *mistake = "it does not begin with a key of 40 characters";
    else if (!word_at(&line, entry->name, sizeof entry->name))
        *mistake = "its name is too long";
    else if (!*entry->name || *entry->name == '#')
        *mistake = "behind the key there is no name of a host, nor * for any";
    else if (line += strspn(line, " \t\r"), *line && *line != '#')
        *mistake = "something stands behind the name";
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

static enum err sort(struct keys_list *list, struct allowed *entries, size_t count, struct buf *why)
{
    qsort(entries, count, sizeof *entries, compare);
    for (size_t i = 1; i < count; i++)
        if (!compare(&entries[i - 1], &entries[i])) {
            buf_printf(why, "%s: the key %s stands there twice", list->path, entries[i].key);
            free(entries);
            return CORRUPT;
        }
    free(list->allowed);
    list->allowed = entries;
    list->size = count;
    list->version++;
    return OK;
}

static enum err parse(struct keys_list *list, char *text, struct buf *why)
{
    struct allowed *entries = calloc(count_lines(text), sizeof *entries);
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
            buf_printf(why, "%s:%zu: %s", list->path, number, mistake);
            free(entries);
            return CORRUPT;
        }
    }
    return sort(list, entries, count, why);
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

static enum err read_list(struct keys_list *list, struct buf *why)
{
    char *text = NULL;
    enum err err = read_text(list, &text);
    if (err)
        buf_printf(why, "cannot read the list of allowed keys %s: %s", list->path, err_text(err));
    else
        err = parse(list, text, why);
    free(text);
    return err;
}

enum err keys_list_open(struct keys_list **list, const char *path, struct buf *why)
{
    struct keys_list *l = *list = calloc(1, sizeof *l);
    if (!l)
        return NOMEM;
    pthread_mutex_init(&l->lock, NULL);
    snprintf(l->path, sizeof l->path, "%s", path);
    enum err err = read_list(l, why);
    if (err)
        keys_list_close(list);
    return err;
}

void keys_list_close(struct keys_list **list)
{
    if (!*list)
        return;
    pthread_mutex_destroy(&(*list)->lock);
    free((*list)->allowed);
    free(*list);
    *list = NULL;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size
           && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void refresh(struct keys_list *list)
{
    struct stat now;
    struct buf why;
    bool is_there = stat(list->path, &now) == 0;
    if (is_there ? is_same(&now, &list->seen) : list->is_complained)
        return;
    memset(&list->seen, 0, sizeof list->seen);
    if (is_there)
        list->seen = now; /* also when it cannot be opened: not to complain at each look */
    buf_init(&why, 8192);
    enum err err = read_list(list, &why);
    if (err)
        log_warn("%s. The list as it was before still holds.", buf_text(&why));
    list->is_complained = err != OK;
    buf_clear(&why);
}

void keys_list_refresh(struct keys_list *list)
{
    pthread_mutex_lock(&list->lock);
    refresh(list);
    pthread_mutex_unlock(&list->lock);
}

bool keys_list_allows(struct keys_list *list, const char *public_key, char name[256])
{
    struct allowed wanted = { .key = "" };
    if (!public_key || !keys_is_key(public_key))
        return false;
    memcpy(wanted.key, public_key, sizeof wanted.key);
    pthread_mutex_lock(&list->lock);
    refresh(list);
    const struct allowed *found =
        list->size ? bsearch(&wanted, list->allowed, list->size, sizeof wanted, compare) : NULL;
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
