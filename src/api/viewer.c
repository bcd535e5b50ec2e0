/* If the kernel does not know the peer's user, no jobs are shown. */
#include "api/viewer.h"

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
