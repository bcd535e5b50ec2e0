/* One libcurl handle per sink, which keeps its connection. Redirects are not followed, so that samples and passwords
 * go only to the configured server. */
#include "sinks/curl_client.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mask.h"
#include "net/json.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CONNECT_MS 10000L
#define URL_MAX 65536u
#define HEADERS_MAX 8

void curl_client_set_error(struct curl_client *client, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(client->error, sizeof client->error, format, args);
    va_end(args);
}

static void init_library(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* "http://user:secret@host/x" becomes "http://host/x". */
static void set_shown_url(struct curl_client *client)
{
    const char *host = strstr(client->url, "://") + 3;
    size_t authority = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', authority);
    struct buf masked; /* also parameters such as ?password= */
    buf_init(&masked, URL_MAX);
    mask_add_text(&masked, at ? at + 1 : host);
    snprintf(client->shown, sizeof client->shown, "%.*s%s", (int)(host - client->url), client->url, buf_text(&masked));
    buf_clear(&masked);
    size_t size = strlen(client->shown);
    while (size && client->shown[size - 1] == '/')
        client->shown[--size] = '\0';
}

/* Elasticsearch API keys: "id:key" is sent in base64, the "encoded" form as it is. */
static void set_token(struct curl_client *client, const char *scheme, const char *token)
{
    struct buf encoded;
    struct json json;
    buf_init(&encoded, sizeof client->authorization);
    if (strcmp(scheme, "ApiKey") == 0 && strchr(token, ':')) {
        json_init_line(&json, &encoded);
        json_base64(&json, bytes_of(token));
        encoded.data[encoded.size - 1] = '\0'; /* without the quotes */
        token = encoded.data + 1;
    }
    snprintf(client->authorization, sizeof client->authorization, "Authorization: %s %s", scheme, token);
    buf_clear(&encoded);
}

static void set_basic(struct curl_client *client, const char *pair)
{
    struct buf encoded;
    struct json json;
    buf_init(&encoded, sizeof client->authorization);
    json_init_line(&json, &encoded);
    json_base64(&json, bytes_of(pair));
    if (encoded.size > 2)
        snprintf(client->authorization, sizeof client->authorization, "Authorization: Basic %.*s", (int)encoded.size - 2,
                 encoded.data + 1);
    buf_clear(&encoded);
}

static enum err read_credentials(struct curl_client *client)
{
    static const char *const schemes[] = { "ApiKey", "Bearer", "Token" };
    char line[512];
    enum err err = file_read_line(NULL, client->credentials, line, sizeof line);
    if (err) {
        curl_client_set_error(client, "cannot read the credentials in %s: %s", client->credentials, err_text(err));
        return err;
    }
    line[strcspn(line, "\r\n")] = '\0';
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t size = strlen(schemes[i]);
        if (strncasecmp(line, schemes[i], size) == 0 && line[size] == ' ') {
            set_token(client, schemes[i], line + size + 1 + strspn(line + size + 1, " "));
            return OK;
        }
    }
    if (!strchr(line, ':')) {
        curl_client_set_error(client,
                              "%s holds no credentials (expected USER:PASSWORD, or ApiKey, Bearer or Token and the key)",
                        client->credentials);
        return USAGE;
    }
    set_basic(client, line);
    return OK;
}

static enum err set_authorization(struct curl_client *client)
{
    char pair[512];
    if (client->credentials)
        return read_credentials(client);
    if (client->token) {
        set_token(client, client->scheme ? client->scheme : "Bearer", client->token);
    } else if (client->user) {
        snprintf(pair, sizeof pair, "%s:%s", client->user, client->password ? client->password : "");
        set_basic(client, pair);
    }
    return OK;
}

static enum err reject(struct curl_client *client, const char *error)
{
    curl_client_set_error(client, "%s", error);
    return USAGE;
}

static enum err check_settings(struct curl_client *client)
{
    if (!client->url || (strncasecmp(client->url, "http://", 7) != 0 && strncasecmp(client->url, "https://", 8) != 0))
        return reject(client, "url must start with http:// or https://: url=http://HOST:PORT");
    if (!strcspn(strstr(client->url, "://") + 3, "/?#"))
        return reject(client, "url has no host: url=http://HOST:PORT");
    if (!client->timeout_ns)
        return reject(client, "invalid timeout 0 (expected a duration, for example 30s)");
    if (client->password && !client->user)
        return reject(client, "password is set, but user is not");
    if (!!client->credentials + !!client->token + !!client->user > 1)
        return reject(client, "user and password, a key or token, and credentials exclude each other: set one of them");
    return OK;
}

enum err curl_client_check(struct curl_client *client)
{
    client->error[0] = client->authorization[0] = '\0';
    enum err err = check_settings(client);
    if (!err)
        err = set_authorization(client);
    memset(client->authorization, 0, sizeof client->authorization);
    if (err || !client->ca || access(client->ca, R_OK) == 0)
        return err;
    curl_client_set_error(client, "cannot read the certificates in %.300s: %s", client->ca, strerror(errno));
    return err_from_errno(errno);
}

enum err curl_client_open(struct curl_client *client)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_library);
    client->error[0] = client->authorization[0] = '\0';
    enum err err = check_settings(client);
    if (err)
        return err;
    set_shown_url(client);
    err = set_authorization(client);
    if (err)
        return err;
    client->curl = curl_easy_init();
    return client->curl ? OK : NOMEM;
}

void curl_client_close(struct curl_client *client)
{
    curl_easy_cleanup(client->curl);
    client->curl = NULL;
    memset(client->authorization, 0, sizeof client->authorization);
}

void curl_response_init(struct curl_response *answer)
{
    *answer = (struct curl_response){ 0 };
    buf_init(&answer->body, CURL_CLIENT_RESPONSE_MAX);
}

void curl_response_clear(struct curl_response *answer)
{
    buf_clear(&answer->body);
}

static size_t on_body(char *data, size_t one, size_t size, void *user)
{
    struct curl_response *answer = user;
    buf_add(&answer->body, data, one * size);
    return answer->body.failed ? 0 : one * size;
}

/* libcurl calls it at least once a second. */
static int on_progress(void *user, curl_off_t download, curl_off_t downloaded, curl_off_t upload, curl_off_t uploaded)
{
    const struct curl_client *client = user;
    (void)download, (void)downloaded, (void)upload, (void)uploaded;
    return sink_deadline(client->stop_ns, UINT64_MAX) <= clock_monotonic_ns();
}

static struct curl_slist *build_headers(const struct curl_client *client, const struct curl_request *request)
{
    char type[128];
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no "100 Continue" round trip */
    if (request->content_type) {
        snprintf(type, sizeof type, "Content-Type: %s", request->content_type);
        list = curl_slist_append(list, type);
    }
    if (client->authorization[0])
        list = curl_slist_append(list, client->authorization);
    for (size_t i = 0; request->headers && i < HEADERS_MAX && request->headers[i]; i++)
        list = curl_slist_append(list, request->headers[i]);
    return list;
}

static void set_security(const struct curl_client *client)
{
    curl_easy_setopt(client->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (client->ca)
        curl_easy_setopt(client->curl, CURLOPT_CAINFO, client->ca);
    if (client->insecure) {
        curl_easy_setopt(client->curl, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(client->curl, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static void set_request(struct curl_client *client, const struct curl_request *request, long limit_ms)
{
    CURL *curl = client->curl;
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "sonde/" SONDE_VERSION);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limit_ms);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, limit_ms < CONNECT_MS ? limit_ms : CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
    if (request->content_type) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.size ? request->body.data : "");
    }
    if (strcmp(request->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

/* Turns a libcurl error into a message that says what to do. */
static enum err explain_failure(struct curl_client *client, CURLcode code, const char *detail, long limit_ms)
{
    const char *text = *detail ? detail : curl_easy_strerror(code);
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        if (client->was_slow && (uint64_t)limit_ms * NS_PER_MS < client->timeout_ns)
            return AGAIN; /* it had less time than before: keep the first message */
        client->was_slow = true;
        curl_client_set_error(client, "%s did not answer within %ld.%03ld s", client->shown, limit_ms / 1000, limit_ms % 1000);
        return AGAIN;
    case CURLE_PEER_FAILED_VERIFICATION:
        curl_client_set_error(client, "the certificate of %s is not trusted: %s. Set ca=FILE to the certificate of its CA",
                        client->shown, text);
        return IO;
    case CURLE_SSL_CACERT_BADFILE:
        curl_client_set_error(client, "cannot read the certificates in %s: %s", client->ca, text);
        return IO;
    case CURLE_URL_MALFORMAT:
        curl_client_set_error(client, "invalid url %s: %s", client->shown, text);
        return IO;
    case CURLE_WRITE_ERROR:
        curl_client_set_error(client, "the response of %s exceeds %u MiB", client->shown, CURL_CLIENT_RESPONSE_MAX >> 20);
        return IO;
    default:
        curl_client_set_error(client, "no answer from %s: %s", client->shown, text);
        return AGAIN;
    }
}

static void read_response_info(const struct curl_client *client, struct curl_response *answer)
{
    long status = 0;
    const char *type = NULL;
    curl_off_t wait_s = 0;
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(client->curl, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(client->curl, CURLINFO_RETRY_AFTER, &wait_s);
    answer->status = (unsigned)status;
    snprintf(answer->content_type, sizeof answer->content_type, "%s", type ? type : "");
    answer->retry_after_ns = wait_s > 0 && wait_s < 3600 ? (uint64_t)wait_s * NS_PER_S : 0;
}

static long limit_of(const struct curl_client *client, uint64_t deadline_ns)
{
    uint64_t now_ns = clock_monotonic_ns(), limit_ns = client->timeout_ns;
    if (deadline_ns && deadline_ns <= now_ns)
        return 0;
    if (deadline_ns && deadline_ns - now_ns < limit_ns)
        limit_ns = deadline_ns - now_ns;
    return (long)(limit_ns / NS_PER_MS) + 1;
}

enum err curl_client_send(struct curl_client *client, const struct curl_request *request, struct curl_response *answer,
                          uint64_t deadline_ns)
{
    char url[2048], detail[CURL_ERROR_SIZE] = "";
    size_t base = strlen(client->url);
    long limit_ms = limit_of(client, deadline_ns);
    if (!limit_ms)
        return AGAIN;
    while (base && client->url[base - 1] == '/')
        base--;
    if (snprintf(url, sizeof url, "%.*s%s", (int)base, client->url, request->path) >= (int)sizeof url)
        return USAGE;
    buf_reset(&answer->body);
    answer->status = 0;
    answer->retry_after_ns = 0;
    struct curl_slist *headers = build_headers(client, request);
    curl_easy_reset(client->curl); /* the connection stays open */
    set_security(client);
    set_request(client, request, limit_ms);
    curl_easy_setopt(client->curl, CURLOPT_URL, url);
    curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(client->curl, CURLOPT_ERRORBUFFER, detail);
    CURLcode code = curl_easy_perform(client->curl);
    curl_easy_setopt(client->curl, CURLOPT_ERRORBUFFER, NULL);
    curl_slist_free_all(headers);
    if (code != CURLE_OPERATION_TIMEDOUT)
        client->was_slow = false;
    if (code != CURLE_OK)
        return explain_failure(client, code, detail, limit_ms);
    read_response_info(client, answer);
    return OK;
}

bool curl_response_is_html(const struct curl_response *answer)
{
    const char *text = buf_text(&answer->body);
    text += strspn(text, " \t\r\n");
    return strncasecmp(answer->content_type, "text/html", 9) == 0 || *text == '<';
}

/* The title of an HTML page, else the whole body. */
static struct bytes title_of(struct bytes body)
{
    const char *begin = body.size ? memmem(body.data, body.size, "<title>", 7) : NULL;
    if (!begin)
        return body;
    struct bytes title = { begin + 7, (size_t)(body.data + body.size - begin) - 7 };
    const char *end = memchr(title.data, '<', title.size);
    title.size = end ? (size_t)(end - title.data) : title.size;
    return title;
}

void curl_client_excerpt(char *text, size_t size, struct bytes body)
{
    size_t used = 0;
    bool in_tag = false, is_blank = true, is_page = body.size && body.data[0] == '<';
    body = title_of(body);
    for (size_t i = 0; i < body.size && used + 1 < size; i++) {
        unsigned char c = (unsigned char)body.data[i];
        if (is_page && (c == '<' || c == '>')) {
            in_tag = c == '<';
            continue;
        }
        bool blank = c <= ' ' || c >= 0x7f;
        if (in_tag || (blank && is_blank))
            continue;
        text[used++] = blank ? ' ' : (char)c;
        is_blank = blank;
    }
    while (used && text[used - 1] == ' ')
        used--;
    text[used] = '\0';
}

static const char *hint_of(unsigned status)
{
    return status == 401 ? ": check user, password or key"
        : status == 403  ? ": access denied"
        : status == 429  ? ": too many requests"
                         : "";
}

static void explain_status(struct curl_client *client, const struct curl_request *request, const struct curl_response *answer)
{
    char excerpt[200], path[200];
    curl_client_excerpt(excerpt, sizeof excerpt, (struct bytes){ buf_text(&answer->body), answer->body.size });
    snprintf(path, sizeof path, "%s", request->path);
    path[strcspn(path, "?")] = '\0';
    curl_client_set_error(client, "%s%s returned HTTP %u%s%s%s%s", client->shown, path, answer->status, hint_of(answer->status),
                    *excerpt ? " (" : "", excerpt, *excerpt ? ")" : "");
}

/* The file may have been updated after a 401. Keeps the error message. */
static void reread_credentials(struct curl_client *client)
{
    char error[sizeof client->error];
    memcpy(error, client->error, sizeof error);
    read_credentials(client);
    memcpy(client->error, error, sizeof error);
}

enum err curl_client_check_status(struct curl_client *client, const struct curl_request *request,
                                  const struct curl_response *answer)
{
    unsigned status = answer->status;
    if (status >= 200 && status < 300)
        return OK;
    explain_status(client, request, answer);
    if (status == 401 && client->credentials)
        reread_credentials(client);
    if (status == 401 || status == 403)
        return DENIED;
    if (status == 413)
        return FULL;
    return status == 408 || status == 429 || status >= 500 ? AGAIN : IO;
}
