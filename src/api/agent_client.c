/* Finds the socket and sends the request with net/http_client. */
#include "api/agent_client.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/http_client.h"
#include "net/tcp_address.h"
#include "transport/munge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AUTHORIZATION_MAX 6000
#define SYSTEM_DIR "/run/sonde"

static enum err socket_in(const char *dir, const char *below, const char *name, char path[AGENT_CLIENT_PATH_MAX])
{
    int size = snprintf(path, AGENT_CLIENT_PATH_MAX, "%s%s/%s", dir, below, name);
    return size > 0 && size < AGENT_CLIENT_PATH_MAX ? OK : ABSENT;
}

/* Missing, or a directory into which no other user can put a socket. */
static bool is_safe(const char *directory)
{
    struct stat st;
    if (lstat(directory, &st) < 0)
        return errno == ENOENT;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* For a user without XDG_RUNTIME_DIR (su, a batch job): systemd's directory for that user if there is one, else the one in
 * which sonde run keeps its spool. */
static enum err socket_of_user(const char *name, char path[AGENT_CLIENT_PATH_MAX])
{
    char directory[64];
    snprintf(directory, sizeof directory, "/run/user/%u", (unsigned)geteuid());
    if (access(directory, W_OK) == 0 && is_safe(directory))
        return socket_in(directory, "/sonde", name, path);
    snprintf(directory, sizeof directory, "/tmp/sonde-%u", (unsigned)geteuid());
    return is_safe(directory) ? socket_in(directory, "", name, path) : ABSENT;
}

enum err agent_client_socket_named(const char *name, char path[AGENT_CLIENT_PATH_MAX])
{
    const char *dir = getenv("SONDE_SOCKET_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
    if (dir && *dir)
        return socket_in(dir, "", name, path);
    if (geteuid() == 0)
        return socket_in(SYSTEM_DIR, "", name, path);
    return runtime && *runtime == '/' ? socket_in(runtime, "/sonde", name, path) : socket_of_user(name, path);
}

enum err agent_client_socket(char path[AGENT_CLIENT_PATH_MAX])
{
    return agent_client_socket_named(AGENT_CLIENT_SOCKET, path);
}

/* The agent that root has started comes first; then one that the user has started. */
static enum err connect_local(uint64_t until_ns, int *fd, char path[AGENT_CLIENT_PATH_MAX])
{
    const char *dir = getenv("SONDE_SOCKET_DIR");
    enum err err = ABSENT;
    snprintf(path, AGENT_CLIENT_PATH_MAX, "%s", SYSTEM_DIR "/" AGENT_CLIENT_SOCKET);
    if ((!dir || !*dir) && geteuid() != 0)
        err = http_client_connect_unix(path, until_ns, fd);
    if (err && !agent_client_socket(path))
        err = http_client_connect_unix(path, until_ns, fd);
    return err;
}

enum err agent_client_find(char path[AGENT_CLIENT_PATH_MAX])
{
    int fd;
    enum err err = connect_local(clock_monotonic_ns() + AGENT_CLIENT_TIMEOUT_NS, &fd, path);
    if (!err)
        close(fd);
    return err;
}

bool agent_client_exists(void)
{
    char path[AGENT_CLIENT_PATH_MAX];
    const char *dir = getenv("SONDE_SOCKET_DIR");
    if ((!dir || !*dir) && access(SYSTEM_DIR "/" AGENT_CLIENT_SOCKET, F_OK) == 0)
        return true;
    return !agent_client_socket(path) && strcmp(path, SYSTEM_DIR "/" AGENT_CLIENT_SOCKET) != 0 && access(path, F_OK) == 0;
}

/* A path, absolute or not, or HOST:PORT. */
static bool is_socket(const char *where)
{
    struct stat status;
    return strchr(where, '/') || (stat(where, &status) == 0 && S_ISSOCK(status.st_mode));
}

/* Over TCP, with $SONDE_AUTH=munge. */
static enum err add_credential(int fd, struct buf *authorization)
{
    const char *auth = getenv(AGENT_CLIENT_AUTH);
    char address[TCP_ADDRESS_MAX];
    struct buf error;
    if (!auth || strcmp(auth, "munge") != 0)
        return OK;
    buf_init(&error, 512);
    buf_add_text(authorization, "Munge ");
    enum err err = tcp_address_own(fd, address);
    if (!err)
        err = munge_create_request(address, authorization, &error);
    if (error.size)
        log_error("%s", buf_text(&error));
    buf_clear(&error);
    return err;
}

static enum err send_request(uint64_t timeout_ns, const char *where, const struct http_client_request *request,
                             struct buf *answer,
                             int *status)
{
    uint64_t until_ns = clock_monotonic_ns() + timeout_ns;
    char found[AGENT_CLIENT_PATH_MAX];
    int fd = -1;
    *status = 0;
    enum err err = !*where            ? connect_local(until_ns, &fd, found)
                   : is_socket(where) ? http_client_connect_unix(where, until_ns, &fd)
                                      : http_client_connect_tcp(where, AGENT_CLIENT_PORT, until_ns, &fd);
    if (err)
        return err;
    struct http_client_request authorized = *request;
    struct buf authorization;
    buf_init(&authorization, AUTHORIZATION_MAX);
    if (*where && *where != '/')
        err = add_credential(fd, &authorization);
    if (authorization.size)
        authorized.authorization = buf_text(&authorization);
    if (err)
        close(fd);
    else
        err = http_client_request(fd, &authorized, until_ns, answer, status);
    buf_clear(&authorization);
    return err;
}

enum err agent_client_request(const char *where, const char *method, const char *path, struct bytes body, struct buf *answer,
                              int *status)
{
    return send_request(AGENT_CLIENT_TIMEOUT_NS, where, &(struct http_client_request){ method, path, body, -1 }, answer, status);
}

enum err agent_client_request_local(const char *method, const char *path, struct bytes body, uint64_t timeout_ns,
                                    struct buf *answer, int *status)
{
    return send_request(timeout_ns, "", &(struct http_client_request){ method, path, body, -1 }, answer, status);
}

enum err agent_client_post_fd(int file_fd, const char *path, struct bytes body, struct buf *answer, int *status)
{
    return send_request(AGENT_CLIENT_TIMEOUT_NS, "", &(struct http_client_request){ "POST", path, body, file_fd }, answer,
                        status);
}

void agent_client_post_nowait(const char *path, struct bytes body)
{
    char found[AGENT_CLIENT_PATH_MAX];
    int fd;
    if (!connect_local(0, &fd, found))
        http_client_send(fd, &(struct http_client_request){ "POST", path, body, -1 });
}
