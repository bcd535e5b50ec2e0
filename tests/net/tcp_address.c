/* Both ends of a connection name the client's address alike. */
#include "net/tcp_address.h"

#include "net/listen.h"
#include "tools/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void both_ends_agree(void **state)
{
    (void)state;
    int listening, client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char own[TCP_ADDRESS_MAX], peer[TCP_ADDRESS_MAX];
    assert_int_equal(listen_tcp("127.0.0.1", 0, &listening), OK);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(listen_port(listening)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    int server;
    while ((server = accept(listening, NULL, NULL)) < 0)
        usleep(1000);
    assert_int_equal(tcp_address_own(client, own), OK);
    assert_int_equal(tcp_address_peer(server, peer), OK);
    assert_string_equal(own, peer);
    assert_int_equal(strncmp(own, "127.0.0.1 ", 10), 0);
    assert_int_not_equal(tcp_address_peer(listening, peer), OK); /* no peer */
    close(client);
    close(server);
    close(listening);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(both_ends_agree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
