/* If the kernel does not know the peer's user, no jobs are shown. */
#include "api/viewer.h"

#include "net/tcp_address.h"
#include "transport/munge.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

bool viewer_is_operator(const struct http_peer *peer)
{
    return peer->is_same_node && (peer->uid == 0 || peer->uid == geteuid());
}

uint32_t viewer_of(const struct http_peer *peer)
{
    if (!peer->is_same_node || viewer_is_operator(peer))
        return VIEW_ALL;
    return peer->uid == UINT32_MAX ? VIEW_NODE : peer->uid;
}

uint32_t viewer_of_metrics(const struct http_peer *peer)
{
    return peer->is_local ? viewer_of(peer) : VIEW_ALL;
}

bool viewer_authenticate(struct http_request *request, struct buf *error)
{
    static const char scheme[] = "Munge ";
    struct bytes credential = request->authorization;
    char address[TCP_ADDRESS_MAX];
    if (request->peer.is_same_node)
        return true;
    if (credential.size <= strlen(scheme) || strncasecmp(credential.data, scheme, strlen(scheme)) != 0) {
        buf_add_text(error, "munge authentication is required: sonde ls --auth munge, ldms_ls -a munge");
        return false;
    }
    credential = bytes_trim((struct bytes){ credential.data + strlen(scheme), credential.size - strlen(scheme) });
    request->peer.is_same_node = !tcp_address_peer(request->connection_fd, address)
                                 && !munge_check_request(credential, address, &request->peer.uid, error);
    return request->peer.is_same_node;
}
