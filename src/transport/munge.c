/* libmunge by name. What is signed is "sonde HOST". */
#include "transport/munge.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define LIBRARY "libmunge.so.2"
#define PAYLOAD "sonde %s"
#define PAYLOAD_MAX 512
#define CREDENTIAL_MAX 4096
/* Of munge.h. The errors: munged itself is away, so nothing is said of the credential. */
#define MUNGE_OPT_SOCKET 8
#define EMUNGE_SNAFU 1
#define EMUNGE_SOCKET 6
#define EMUNGE_TIMEOUT 7

struct library {
    int (*encode)(char **credential, void *context, const void *payload, int size);
    int (*decode)(const char *credential, void *context, void **payload, int *size, uid_t *uid, gid_t *gid);
    const char *(*strerror)(int error);
    void *(*context_new)(void);
    void (*context_free)(void *context);
    int (*context_set)(void *context, int option, ...);
};

static struct library library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return;
    *(void **)&library.decode = dlsym(handle, "munge_decode");
    *(void **)&library.strerror = dlsym(handle, "munge_strerror");
    *(void **)&library.context_new = dlsym(handle, "munge_ctx_create");
    *(void **)&library.context_free = dlsym(handle, "munge_ctx_destroy");
    *(void **)&library.context_set = dlsym(handle, "munge_ctx_set");
    bool is_whole = library.decode && library.strerror && library.context_new && library.context_free && library.context_set;
    *(void **)&library.encode = is_whole ? dlsym(handle, "munge_encode") : NULL;
}

/* NULL: the usual munged. */
static void *context_of_site(void)
{
    const char *socket = secure_getenv("SONDE_MUNGE_SOCKET");
    void *context = socket && *socket ? library.context_new() : NULL;
    if (context)
        library.context_set(context, MUNGE_OPT_SOCKET, socket);
    return context;
}

static enum err need_library(struct buf *why)
{
    pthread_once(&once, load);
    if (library.encode)
        return OK;
    buf_printf(why, "munge is wanted, but " LIBRARY " is not installed");
    return ABSENT;
}

static bool is_munged_away(int error)
{
    return error == EMUNGE_SNAFU || error == EMUNGE_SOCKET || error == EMUNGE_TIMEOUT;
}

enum err munge_say(const char *host, struct buf *credential, struct buf *why)
{
    char payload[PAYLOAD_MAX], *text = NULL;
    enum err err = need_library(why);
    if (err)
        return err;
    int size = snprintf(payload, sizeof payload, PAYLOAD, host);
    if (size >= (int)sizeof payload)
        return USAGE;
    void *context = context_of_site();
    int error = library.encode(&text, context, payload, size);
    if (error)
        buf_printf(why, "munge gives no credential: %s. Does munged run?", library.strerror(error));
    else
        buf_add_text(credential, text);
    free(text);
    if (context)
        library.context_free(context);
    return error ? IO : buf_err(credential);
}

static enum err judge(const char *payload, int size, uid_t uid, const char *host, struct buf *why)
{
    char expected[PAYLOAD_MAX];
    int expected_size = snprintf(expected, sizeof expected, PAYLOAD, host);
    if (uid != 0 && uid != geteuid())
        buf_printf(why, "its munge credential is of uid %u, neither root nor the user of this collector", (unsigned)uid);
    else if (size != expected_size || memcmp(payload, expected, (size_t)size) != 0)
        buf_printf(why, "its munge credential does not speak for %s", host);
    else
        return OK;
    return DENIED;
}

enum err munge_check(struct bytes credential, const char *host, struct buf *why)
{
    char text[CREDENTIAL_MAX];
    void *payload = NULL;
    int size = 0;
    uid_t uid = (uid_t)-1;
    gid_t gid;
    enum err err = need_library(why);
    if (err)
        return err;
    if (!credential.size || credential.size >= sizeof text) {
        buf_add_text(why, credential.size ? "its munge credential is none"
                                          : "it has no munge credential: run the agent with --munge");
        return DENIED;
    }
    memcpy(text, credential.data, credential.size);
    text[credential.size] = '\0';
    void *context = context_of_site();
    int error = library.decode(text, context, &payload, &size, &uid, &gid);
    if (error)
        buf_printf(why, "its munge credential is refused: %s", library.strerror(error));
    err = error ? is_munged_away(error) ? IO : DENIED : judge(payload, size, uid, host, why);
    free(payload);
    if (context)
        library.context_free(context);
    return err;
}
