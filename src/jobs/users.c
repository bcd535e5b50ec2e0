/* First /etc/passwd, which is fast, then the name service (getpwuid_r). A query is owned by its thread too, so that
 * nobody has to wait for the thread. */
#include "jobs/users.h"

#include "base/file.h"
#include "base/scan.h"
#include "base/vec.h"

#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define USERS_MAX 4096
#define PASSWD_MAX (256 << 10)
#define NAME_MAX_BYTES 64
#define THREAD_STACK (256 << 10)

struct user {
    bool by_name; /* looks up the uid of a name; else the name of a uid */
    uint32_t uid;
    atomic_int holders; /* references: the table, and the thread while it runs */
    atomic_bool is_answered;
    char name[NAME_MAX_BYTES];
};

static void user_release(struct user *user)
{
    if (atomic_fetch_sub(&user->holders, 1) == 1)
        free(user);
}

static void set_name(struct user *user, const char *name, size_t size)
{
    if (size < sizeof user->name) {
        memcpy(user->name, name, size);
        user->name[size] = '\0';
    }
}

/* "anna:x:1000:…": the uid follows the second colon. False: another user, or not a user line. */
static bool take_line(struct user *user, const char *line)
{
    uint64_t number;
    size_t size = strcspn(line, ":\n");
    const char *at = line;
    for (int i = 0; i < 2; i++) {
        at += strcspn(at, ":\n");
        if (*at++ != ':')
            return false;
    }
    if (!scan_u64(&at, &number) || *at != ':' || number >= UINT32_MAX)
        return false;
    if (user->by_name ? size != strlen(user->name) || memcmp(user->name, line, size) != 0 : number != user->uid)
        return false;
    user->uid = (uint32_t)number;
    set_name(user, line, size);
    return true;
}

static bool find_in_passwd(struct user *user, const char *root)
{
    char *text = malloc(PASSWD_MAX);
    bool is_found = false;
    if (text && !file_read(root, "/etc/passwd", text, PASSWD_MAX, NULL))
        for (const char *line = text; line && !is_found; line = scan_next_line(line))
            is_found = take_line(user, line);
    free(text);
    return is_found;
}

static void *query(void *context)
{
    struct user *user = context;
    struct passwd entry, *found = NULL;
    char text[16 << 10];
    int failure = user->by_name ? getpwnam_r(user->name, &entry, text, sizeof text, &found)
                                : getpwuid_r(user->uid, &entry, text, sizeof text, &found);
    if (!failure && found && user->by_name)
        user->uid = entry.pw_uid;
    else if (!failure && found)
        set_name(user, entry.pw_name, strlen(entry.pw_name));
    atomic_store(&user->is_answered, true);
    user_release(user);
    return NULL;
}

static void query_in_thread(struct user *user)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    atomic_store(&user->holders, 2);
    if (pthread_create(&thread, &attributes, query, user) != 0) {
        atomic_store(&user->holders, 1);
        atomic_store(&user->is_answered, true);
    }
    pthread_attr_destroy(&attributes);
}

static struct user *user_new(struct users *users, uint32_t uid, const char *name)
{
    if (array_reserve(users->list, users->capacity, users->count + 1, USERS_MAX))
        return NULL;
    struct user *user = calloc(1, sizeof *user);
    if (!user)
        return NULL;
    user->uid = uid;
    user->by_name = name != NULL;
    if (name)
        set_name(user, name, strlen(name));
    atomic_store(&user->holders, 1);
    users->list[users->count++] = user;
    bool is_known = find_in_passwd(user, users->root);
    if (is_known || *users->root)
        atomic_store(&user->is_answered, true);
    else
        query_in_thread(user);
    return user;
}

void users_init(struct users *users, const char *root)
{
    *users = (struct users){ .root = root };
}

void users_clear(struct users *users)
{
    for (size_t i = 0; i < users->count; i++)
        user_release(users->list[i]);
    free(users->list);
    *users = (struct users){ .root = "" };
}

static bool is_query_for(const struct user *user, uint32_t uid, const char *name)
{
    return user->by_name ? name && !strcmp(user->name, name) : !name && user->uid == uid;
}

/* Finds or starts a query by name, or by uid if name is NULL. NULL: no memory, or no answer yet. */
static const struct user *find(struct users *users, uint32_t uid, const char *name, bool *is_pending)
{
    struct user *user = NULL;
    for (size_t i = 0; i < users->count && !user; i++)
        if (is_query_for(users->list[i], uid, name))
            user = users->list[i];
    if (!user)
        user = user_new(users, uid, name);
    if (!user || atomic_load(&user->is_answered))
        return user;
    *is_pending = true;
    return NULL;
}

const char *users_name(struct users *users, uint32_t uid, bool *is_pending)
{
    const struct user *user = find(users, uid, NULL, is_pending);
    return user ? user->name : "";
}

uint32_t users_uid(struct users *users, const char *name, bool *is_pending)
{
    const struct user *user = strlen(name) < NAME_MAX_BYTES ? find(users, UINT32_MAX, name, is_pending) : NULL;
    return user ? user->uid : UINT32_MAX;
}
