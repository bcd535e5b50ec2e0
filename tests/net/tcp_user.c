/* Connections of this test with itself: the user of the other end is known, also through IPv6, through an address of the
 * network, and where it is another user's; not when it has been closed. */
#include "tools/unit.h"

#include "net/listen.h"
#include "net/tcp_user.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOMEBODY 65534

struct pair {
    int ours, theirs;
};

static int socket_of(int family, uint32_t uid)
{
    uint32_t own = geteuid();
    if (uid != own)
        setfsuid(uid);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (uid != own)
        setfsuid(own);
    return fd;
}

/* False: this node has no such address. */
static bool connect_pair(struct pair *pair, const char *listen, const char *to, uint32_t uid)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    int listener;
    if (listen_tcp(listen, 0, &listener))
        return false;
    bool is_v4 = inet_pton(AF_INET, to, &v4.sin_addr) == 1;
    assert_true(is_v4 || inet_pton(AF_INET6, to, &v6.sin6_addr) == 1);
    v4.sin_port = v6.sin6_port = htons(listen_port(listener));
    pair->theirs = socket_of(is_v4 ? AF_INET : AF_INET6, uid);
    assert_int_equal(is_v4 ? connect(pair->theirs, (struct sockaddr *)&v4, sizeof v4)
                           : connect(pair->theirs, (struct sockaddr *)&v6, sizeof v6), 0);
    assert_int_equal(poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, 60000), 1);
    pair->ours = accept(listener, NULL, NULL);
    assert_true(pair->ours >= 0);
    close(listener);
    return true;
}

static void expect_user(const char *listen, const char *to, uint32_t uid)
{
    struct pair pair;
    uint32_t found;
    if (!connect_pair(&pair, listen, to, uid))
        leave_out("this machine has no such address");
    assert_true(tcp_user_is_local(pair.ours, &found));
    assert_int_equal(found, uid);
    shutdown(pair.theirs, SHUT_WR); /* it may still read */
    assert_true(tcp_user_is_local(pair.ours, &found));
    assert_int_equal(found, uid);
    close(pair.theirs);
    assert_true(tcp_user_is_local(pair.ours, &found));
    assert_int_equal(found, UINT32_MAX); /* not 0, which is what the kernel calls it */
    close(pair.ours);
}

static void our_own_user_is_found(void **state)
{
    (void)state;
    expect_user("127.0.0.1", "127.0.0.1", geteuid());
    expect_user("*", "127.0.0.1", geteuid());
}

static void knows_the_own_user_through_ipv6(void **state)
{
    (void)state;
    expect_user("::1", "::1", geteuid());
}

static void another_user_is_found(void **state)
{
    (void)state;
    if (geteuid() != 0)
        leave_out("needs root");
    expect_user("127.0.0.1", "127.0.0.1", SOMEBODY);
    expect_user("*", "127.0.0.1", SOMEBODY);
}

/* An address that is not of the loopback network, on a machine of our own. */
static bool has_address(const char *text)
{
    struct ifreq request = { .ifr_name = "lo:1" };
    struct sockaddr_in *at = (struct sockaddr_in *)&request.ifr_addr;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    at->sin_family = AF_INET;
    inet_pton(AF_INET, text, &at->sin_addr);
    bool is_set = ioctl(fd, SIOCSIFADDR, &request) == 0;
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    is_set = ioctl(fd, SIOCSIFFLAGS, &request) == 0 && is_set;
    close(fd);
    return is_set;
}

/* Bits: the user is known through an address of the network; who is elsewhere is not here; but on loopback it is, unknown. */
static int look_from_afar(void)
{
    struct pair far, near;
    uint32_t uid;
    if (unshare(CLONE_NEWNET) || !has_address("10.9.8.7"))
        return 100;
    if (!connect_pair(&far, "10.9.8.7", "10.9.8.7", SOMEBODY) || !connect_pair(&near, "127.0.0.1", "127.0.0.1", SOMEBODY))
        return 101;
    int result = tcp_user_is_local(far.ours, &uid) && uid == SOMEBODY ? 1 : 0;
    if (unshare(CLONE_NEWNET)) /* from here the other end is as little to be seen as on another machine */
        return 102;
    result |= !tcp_user_is_local(far.ours, &uid) && uid == UINT32_MAX ? 2 : 0;
    result |= tcp_user_is_local(near.ours, &uid) && uid == UINT32_MAX ? 4 : 0;
    return result;
}

static void other_nodes_are_distinguished(void **state)
{
    (void)state;
    int status;
    if (geteuid() != 0)
        leave_out("needs root");
    pid_t child = fork();
    if (child == 0)
        _exit(look_from_afar());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 100)
        leave_out("no network of our own here");
    assert_int_equal(WEXITSTATUS(status), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_user_is_found),
        cmocka_unit_test(knows_the_own_user_through_ipv6),
        cmocka_unit_test(another_user_is_found),
        cmocka_unit_test(other_nodes_are_distinguished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
