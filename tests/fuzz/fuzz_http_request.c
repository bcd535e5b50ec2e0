/* A request with any content, and its Accept header: whatever is borrowed lies inside of what came in. */
#include "net/http_request.h"
#include "api/metrics_page.h"

#include <stdlib.h>

int fuzz_http_request(const uint8_t *data, size_t size);

static void must_lie_inside(struct bytes part, const char *text, size_t size)
{
    if (part.size && !(part.size == 1 && *part.data == '/') && (part.data < text || part.data + part.size > text + size))
        abort();
}

int fuzz_http_request(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct http_request request;
    int status = 0;
    enum err err = http_request_parse((struct bytes){ text, size }, &request, &status);
    if (err == CORRUPT && status < 400)
        abort();
    if (err == OK && (request.head_size > size || request.head_size > HTTP_HEAD_MAX || request.body_size > HTTP_BODY_MAX
                      || request.path.size == 0 || *request.path.data != '/'))
        abort();
    if (err == OK) {
        must_lie_inside(request.path, text, size);
        must_lie_inside(request.query, text, size);
        must_lie_inside(request.accept, text, size);
        metrics_format_negotiate(request.accept);
    }
    metrics_format_negotiate((struct bytes){ text, size });
    return 0;
}
