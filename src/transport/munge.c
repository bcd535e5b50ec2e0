/* libmunge, loaded at run time. The signed payload is "sonde HOST", or "sonde-request ADDRESS PORT". */
#include "transport/munge.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define LIBRARY "libmunge.so.2"
#define PAYLOAD_HOST "sonde "
#define PAYLOAD_REQUEST "sonde-request "
#define PAYLOAD_MAX 512
#define CREDENTIAL_MAX 4096
/* From munge.h. These errors mean that munged is not available, and say nothing about the credential. */
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

/* NULL: the default munged. */
static void *socket_context(void)
{
    const char *socket = secure_getenv("SONDE_MUNGE_SOCKET");
    void *context = socket && *socket ? library.context_new() : NULL;
    if (context)
        library.context_set(context, MUNGE_OPT_SOCKET, socket);
    return context;
}

static enum err need_library(struct buf *error)
{
    pthread_once(&once, load);
    if (library.encode)
        return OK;
    buf_printf(error, "munge authentication needs " LIBRARY ", which is not installed");
    return ABSENT;
}

static bool is_munged_down(int error)
{
    return error == EMUNGE_SNAFU || error == EMUNGE_SOCKET || error == EMUNGE_TIMEOUT;
}

static enum err encode(const char *format, const char *subject, struct buf *credential, struct buf *error)
{
    char payload[PAYLOAD_MAX], *text = NULL;
    enum err err = need_library(error);
    if (err)
        return err;
    int size = snprintf(payload, sizeof payload, "%s%s", format, subject);
    if (size >= (int)sizeof payload)
        return USAGE;
    void *context = socket_context();
    int result = library.encode(&text, context, payload, size);
    if (result)
        buf_printf(error, "cannot create a munge credential: %s (is munged running?)", library.strerror(result));
    else
        buf_add_text(credential, text);
    free(text);
    if (context)
        library.context_free(context);
    return result ? IO : buf_err(credential);
}

enum err munge_create(const char *host, struct buf *credential, struct buf *error)
{
    return encode(PAYLOAD_HOST, host, credential, error);
}

enum err munge_create_request(const char *address, struct buf *credential, struct buf *error)
{
    return encode(PAYLOAD_REQUEST, address, credential, error);
}

/* *matches: the payload is prefix and subject. */
static enum err decode(struct bytes credential, const char *prefix, const char *subject, uid_t *uid, bool *matches,
                       struct buf *error)
{
    char text[CREDENTIAL_MAX], expected[PAYLOAD_MAX];
    void *payload = NULL;
    int size = 0;
    gid_t gid;
    enum err err = need_library(error);
    if (err)
        return err;
    if (credential.size >= sizeof text) {
        buf_add_text(error, "its munge credential is too long");
        return DENIED;
    }
    memcpy(text, credential.data, credential.size);
    text[credential.size] = '\0';
    void *context = socket_context();
    int result = library.decode(text, context, &payload, &size, uid, &gid);
    if (result)
        buf_printf(error, "its munge credential was rejected: %s", library.strerror(result));
    else {
        int expected_size = snprintf(expected, sizeof expected, "%s%s", prefix, subject);
        *matches = size == expected_size && memcmp(payload, expected, (size_t)size) == 0;
    }
    free(payload);
    if (context)
        library.context_free(context);
    return !result ? OK : is_munged_down(result) ? IO : DENIED;
}

enum err munge_check(struct bytes credential, const char *host, struct buf *error)
{
    uid_t uid = (uid_t)-1;
    bool matches = false;
    if (!credential.size) {
        buf_add_text(error, "it sent no munge credential; run the agent with --munge");
        return DENIED;
    }
    enum err err = decode(credential, PAYLOAD_HOST, host, &uid, &matches, error);
    if (err)
        return err;
    if (uid != 0 && uid != geteuid())
        buf_printf(error, "its munge credential belongs to uid %u, which is neither root nor the user of this collector",
                   (unsigned)uid);
    else if (!matches)
        buf_printf(error, "its munge credential is not for host %s", host);
    return uid != 0 && uid != geteuid() ? DENIED : matches ? OK : DENIED;
}

enum err munge_check_request(struct bytes credential, const char *address, uint32_t *uid, struct buf *error)
{
    uid_t owner = (uid_t)-1;
    bool matches = false;
    enum err err = decode(credential, PAYLOAD_REQUEST, address, &owner, &matches, error);
    if (!err && !matches)
        buf_add_text(error, "its munge credential is for another connection");
    *uid = owner;
    return !err && !matches ? DENIED : err;
}
