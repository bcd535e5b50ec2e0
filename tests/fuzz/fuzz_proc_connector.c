/* Arbitrary bytes as a datagram of the proc connector: it is an event, an acknowledgement or something else. */
#include "proc/proc_connector.h"

#include <stdlib.h>

int fuzz_proc_connector(const uint8_t *data, size_t size);

int fuzz_proc_connector(const uint8_t *data, size_t size)
{
    struct proc_connector_event event;
    enum proc_connector_message message = proc_connector_parse((struct bytes){ (const char *)data, size }, &event);
    if (message != PROC_CONNECTOR_EVENT && message != PROC_CONNECTOR_ACK && message != PROC_CONNECTOR_OTHER)
        abort();
    if (message == PROC_CONNECTOR_EVENT && event.kind != PROC_CONNECTOR_FORK && event.kind != PROC_CONNECTOR_EXEC
        && event.kind != PROC_CONNECTOR_EXIT)
        abort();
    return 0;
}
