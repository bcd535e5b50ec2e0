/* Passing open files through a socket: one is received, further ones are closed. */
#include "net/fd_pass.h"

#include "base/err.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends[2];
static char path[TEMP_PATH_MAX], dir[TEMP_PATH_MAX];

static int begin(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(path, dir, "file");
    temp_write(path, "content", 7);
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static int end(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    temp_remove(dir);
    return 0;
}

/* Number of open descriptors: that of the next one. */
static int next_fd(void)
{
    int fd = dup(ends[0]);
    close(fd);
    return fd;
}

static void a_file_is_received_with_the_bytes(void **state)
{
    (void)state;
    char text[16], content[16];
    int file = open(path, O_RDONLY | O_CLOEXEC), fd = -1;
    assert_int_equal(fd_pass_send(ends[0], "hello", 5, file), 5);
    close(file);
    assert_int_equal(fd_pass_receive(ends[1], text, sizeof text, &fd), 5);
    assert_memory_equal(text, "hello", 5);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(read(fd, content, sizeof content), 7);
    close(fd);
}

static void bytes_without_a_file(void **state)
{
    (void)state;
    char text[16];
    int fd = -1;
    assert_int_equal(send(ends[0], "hello", 5, 0), 5);
    assert_int_equal(fd_pass_receive(ends[1], text, sizeof text, &fd), 5);
    assert_int_equal(fd, -1);
    assert_int_equal(fd_pass_receive(ends[1], text, sizeof text, &fd), -1); /* nothing there: does not wait */
    close(ends[0]);
    ends[0] = -1;
    assert_int_equal(fd_pass_receive(ends[1], text, sizeof text, &fd), 0);
}

static void send_many(unsigned count)
{
    char control[CMSG_SPACE(64 * sizeof(int))] = { 0 };
    struct iovec part = { "x", 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                              .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (unsigned i = 0; i < count; i++)
        memcpy(CMSG_DATA(head) + i * sizeof(int), &ends[0], sizeof(int));
    assert_int_equal(sendmsg(ends[0], &message, 0), 1);
}

static void only_one_of_several_files_is_kept(void **state)
{
    (void)state;
    char text[16];
    int before = next_fd(), fd = -1;
    for (unsigned count = 1; count <= 64; count = count * 2 + (count == 1)) { /* 1, 3, 6, … */
        send_many(count);
        assert_int_equal(fd_pass_receive(ends[1], text, sizeof text, &fd), 1);
        assert_int_equal(fd, before); /* the first, and it stays */
        assert_int_equal(next_fd(), before + 1);
    }
    close(fd);
    assert_int_equal(next_fd(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_received_with_the_bytes, begin, end),
        cmocka_unit_test_setup_teardown(bytes_without_a_file, begin, end),
        cmocka_unit_test_setup_teardown(only_one_of_several_files_is_kept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
