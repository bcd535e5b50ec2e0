/* Status line and the headers that the standard requires. */
#include "net/http_head.h"

#include <stdio.h>
#include <time.h>

const char *http_head_reason(int status)
{
    static const struct { int status; const char *text; } reasons[] = {
        { 200, "OK" }, { 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" }, { 404, "Not Found" },
        { 405, "Method Not Allowed" }, { 409, "Conflict" }, { 411, "Length Required" }, { 413, "Content Too Large" },
        { 421, "Misdirected Request" },
        { 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" }, { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Error";
}

size_t http_head_write(char head[HTTP_HEAD_BYTES_MAX], const struct http_answer *answer, bool is_last)
{
    struct tm utc;
    char date[64] = "";
    time_t now = time(NULL);
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    int size = snprintf(head, HTTP_HEAD_BYTES_MAX,
                        "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s%s%s\r\n",
                        answer->status, http_head_reason(answer->status), date, answer->type, answer->body.size,
                        answer->allow ? "Allow: " : "", answer->allow ? answer->allow : "", answer->allow ? "\r\n" : "",
                        is_last ? "Connection: close\r\n" : "");
    return size > 0 && size < HTTP_HEAD_BYTES_MAX ? (size_t)size : 0;
}
