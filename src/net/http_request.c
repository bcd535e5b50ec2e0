/* Strict where lenient parsers allow request smuggling: two lengths, folded lines, spaces before a colon. */
#include "net/http_request.h"

#include <string.h>
#include <strings.h>

struct request_parser {
    struct http_request *request;
    int status; /* 0: valid so far */
    bool has_host, has_length, has_connection;
};

static bool is_token(struct bytes text)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        bool alnum = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (!alnum && (c == '\0' || !strchr(others, c)))
            return false;
    }
    return text.size > 0;
}

static bool is_visible(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] <= ' ' || text.data[i] == 0x7f)
            return false;
    return text.size > 0;
}

/* The part before the separator; rest is the part after it, with data NULL if there is no separator. */
static struct bytes cut(struct bytes text, char separator, struct bytes *rest)
{
    const char *at = text.size ? memchr(text.data, separator, text.size) : NULL;
    if (!at) {
        *rest = (struct bytes){ NULL, 0 };
        return text;
    }
    size_t before = (size_t)(at - text.data);
    *rest = (struct bytes){ at + 1, text.size - before - 1 };
    return (struct bytes){ text.data, before };
}

bool http_request_has_item(struct bytes value, const char *word)
{
    while (value.data) {
        struct bytes parameters, item = cut(value, ',', &value);
        if (bytes_equal_nocase(bytes_trim(cut(item, ';', &parameters)), word))
            return true;
    }
    return false;
}

static void read_target(struct request_parser *parser, struct bytes target)
{
    static const char scheme[] = "http://";
    size_t scheme_size = sizeof scheme - 1;
    if (target.size > scheme_size && strncasecmp(target.data, scheme, scheme_size) == 0) {
        const char *slash = memchr(target.data + scheme_size, '/', target.size - scheme_size);
        target = slash ? (struct bytes){ slash, target.size - (size_t)(slash - target.data) } : bytes_of("/");
    }
    if (!is_visible(target) || *target.data != '/')
        parser->status = 400;
    else
        parser->request->path = cut(target, '?', &parser->request->query);
}

static enum http_method method_of(struct bytes word)
{
    static const struct { const char *name; enum http_method method; } methods[] = {
        { "GET", HTTP_GET }, { "HEAD", HTTP_HEAD }, { "POST", HTTP_POST },
    };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (bytes_equal(word, bytes_of(methods[i].name)))
            return methods[i].method;
    return HTTP_OTHER;
}

/* "GET /metrics HTTP/1.1" */
static void read_first_line(struct request_parser *parser, struct bytes line)
{
    struct bytes rest, version, none, method = cut(line, ' ', &rest), target = cut(rest, ' ', &version);
    parser->request->method = method_of(method);
    if (!is_token(method) || version.size != 8 || memcmp(version.data, "HTTP/", 5) != 0) {
        parser->status = 400;
        return;
    }
    bool is_old = version.data[7] == '0';
    parser->request->keep_alive = !is_old;
    parser->has_host = is_old; /* HTTP/1.0 does not need one */
    if (memcmp(version.data, "HTTP/1.", 7) != 0 || version.data[7] < '0' || version.data[7] > '9')
        parser->status = 505;
    else if (cut(target, ' ', &none).size != target.size)
        parser->status = 400;
    else
        read_target(parser, target);
}

/* Two different lengths are refused: request smuggling. */
static void read_length(struct request_parser *parser, struct bytes value)
{
    size_t size = 0;
    if (value.size == 0)
        parser->status = 400;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9') {
            parser->status = 400;
            return;
        }
        if (size <= HTTP_BODY_MAX)
            size = size * 10 + (size_t)(value.data[i] - '0');
    }
    if (parser->has_length && size != parser->request->body_size)
        parser->status = 400;
    else if (size > HTTP_BODY_MAX)
        parser->status = 413;
    parser->has_length = true;
    parser->request->body_size = size;
}

static void read_connection(struct request_parser *parser, struct bytes value)
{
    if (http_request_has_item(value, "close"))
        parser->request->keep_alive = false;
    else if (http_request_has_item(value, "keep-alive") && !parser->has_connection)
        parser->request->keep_alive = true;
    parser->has_connection = true;
}

static void read_host(struct request_parser *parser, struct bytes value)
{
    for (size_t i = 0; i < value.size; i++)
        if ((unsigned char)value.data[i] <= ' ')
            parser->status = 400;
    if (parser->request->host.size && !bytes_equal(parser->request->host, value))
        parser->status = 400;
    parser->request->host = value;
    parser->has_host = true;
}

static void read_header(struct request_parser *parser, struct bytes line)
{
    struct bytes value, name = cut(line, ':', &value);
    if (!value.data || !is_token(name) || memchr(line.data, '\0', line.size)) {
        parser->status = 400;
        return;
    }
    value = bytes_trim(value);
    if (bytes_equal_nocase(name, "Content-Length"))
        read_length(parser, value);
    else if (bytes_equal_nocase(name, "Transfer-Encoding"))
        parser->status = 411; /* chunked bodies are not supported */
    else if (bytes_equal_nocase(name, "Host"))
        read_host(parser, value);
    else if (bytes_equal_nocase(name, "Connection"))
        read_connection(parser, value);
    else if (bytes_equal_nocase(name, "Accept") && parser->request->accept.size == 0)
        parser->request->accept = value;
    else if (bytes_equal_nocase(name, "Authorization"))
        parser->request->authorization = value;
    else if (bytes_equal_nocase(name, "Expect"))
        parser->request->expects_continue = bytes_equal_nocase(value, "100-continue");
}

/* The next line without its end; false: incomplete. */
static bool next_line(struct bytes text, size_t *at, struct bytes *line)
{
    const char *begin = text.data + *at;
    const char *end = *at < text.size ? memchr(begin, '\n', text.size - *at) : NULL;
    if (!end)
        return false;
    *at = (size_t)(end - text.data) + 1;
    *line = (struct bytes){ begin, (size_t)(end - begin) };
    if (line->size && begin[line->size - 1] == '\r')
        line->size--;
    return true;
}

enum err http_request_parse(struct bytes text, struct http_request *request, int *status)
{
    struct request_parser parser = { .request = request };
    struct bytes line;
    size_t at = 0;
    bool is_first = true;
    *request = (struct http_request){ .peer = { .uid = UINT32_MAX }, .connection_fd = -1, .fd = -1 };
    while (!parser.status && next_line(text, &at, &line)) {
        if (at > HTTP_HEAD_MAX)
            break;
        if (line.size == 0 && !is_first) {
            request->head_size = at;
            if (!parser.has_host)
                parser.status = 400;
            *status = parser.status;
            return parser.status ? CORRUPT : OK;
        }
        if (line.size == 0)
            continue; /* some clients send an empty line after a body */
        if (is_first)
            read_first_line(&parser, line);
        else
            read_header(&parser, line);
        is_first = false;
    }
    if (!parser.status && text.size < HTTP_HEAD_MAX)
        return AGAIN;
    *status = parser.status ? parser.status : 431;
    return CORRUPT;
}

/* Without the port. */
static struct bytes name_of(struct bytes host)
{
    const char *end = host.size && host.data[0] == '[' ? memchr(host.data, ']', host.size) : NULL;
    if (end)
        return (struct bytes){ host.data + 1, (size_t)(end - host.data) - 1 };
    const char *colon = host.size ? memchr(host.data, ':', host.size) : NULL;
    return (struct bytes){ host.data, colon ? (size_t)(colon - host.data) : host.size };
}

/* Digits and dots, or hexadecimal with colons: no name of the DNS ends in a digit. */
static bool is_address(struct bytes name)
{
    bool has_colon = name.size && memchr(name.data, ':', name.size);
    for (size_t i = 0; i < name.size; i++)
        if (!strchr(has_colon ? "0123456789abcdefABCDEF:.%" : "0123456789.", name.data[i]) || !name.data[i])
            return false;
    return name.size > 0;
}

bool http_request_is_for(struct bytes host, const char *host_name)
{
    struct bytes name = name_of(host);
    size_t own = strcspn(host_name, ".");
    if (!name.size || !memchr(name.data, '.', name.size) || is_address(name))
        return true;
    return own && name.size >= own && strncasecmp(name.data, host_name, own) == 0
        && (name.size == own || name.data[own] == '.');
}
