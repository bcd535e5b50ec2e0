/* Opens the events and sends them to sonde run, between fork and exec. */
#include "run/perf_command.h"

#include "model/process.h"
#include "spool/probe_env.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(sizeof PERF_COMMAND_FLAG == 1 + PROBE_COUNTED_DIGITS + 1, "a letter and as many digits");

/* True: the receiver will get it. */
static bool send_to(const char *path, const struct msghdr *head)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof to.sun_path)
        return false;
    memcpy(to.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool sent = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 && sendmsg(fd, head, MSG_NOSIGNAL) >= 0;
    close(fd);
    return sent;
}

static bool send_descriptors(const char *path, struct probe_perf_message *message, const int *fds, size_t count)
{
    char control[CMSG_SPACE(PROCESS_EVENTS_MAX * sizeof(int))] __attribute__((aligned(8))) = { 0 };
    struct iovec part = { message, sizeof *message };
    struct msghdr head = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(count * sizeof *fds),
    };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&head);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof *fds);
    memcpy(CMSG_DATA(rights), fds, count * sizeof *fds);
    return send_to(path, &head);
}

static int open_event(const struct perf_event_spec *spec)
{
    struct perf_event_attr attr;
    perf_event_attr_init(spec, &attr);
    attr.disabled = 1;
    attr.enable_on_exec = 1;
    return perf_event_open_call(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The strings may be modified: this process is a forked copy of sonde run. */
static void set_flag(char *const *environment)
{
    for (; *environment; environment++) {
        size_t size = strlen(*environment), flag = sizeof PERF_COMMAND_FLAG - 1;
        if (strncmp(*environment, PROBE_ENV_FLAGS "=", sizeof PROBE_ENV_FLAGS) == 0 && size > flag
            && strcmp(*environment + size - flag, PERF_COMMAND_FLAG) == 0)
            snprintf(*environment + size - PROBE_COUNTED_DIGITS, PROBE_COUNTED_DIGITS + 1, "%0*d", PROBE_COUNTED_DIGITS,
                     (int)getpid());
    }
}

void perf_command_open(const struct perf_command *command, char *const *environment)
{
    int fds[PROCESS_EVENTS_MAX];
    size_t count = 0;
    struct probe_perf_message message = { .pid = (unsigned)getpid(), .tid = (unsigned)getpid(), .since = PROBE_PERF_EXEC,
                                          .time_ns = command->time_ns };
    for (size_t i = 0; i < command->count; i++) {
        int fd = open_event(&command->specs[i]);
        if (fd < 0)
            continue;
        fds[count++] = fd;
        message.opened |= 1u << i;
    }
    if (count && send_descriptors(command->socket, &message, fds, count))
        set_flag(environment);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}
