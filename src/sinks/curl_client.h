/* HTTP and HTTPS requests through libcurl, for the sinks of sink-http.so: a persistent connection, a time limit on
 * everything, and an error message for each failure. (net/http_client.h is the client for Sonde's own API.) */
#ifndef SONDE_SINKS_CURL_CLIENT_H
#define SONDE_SINKS_CURL_CLIENT_H

#include "base/buf.h"
#include "model/setting.h"
#include "sinks/sink.h"

#define CURL_CLIENT_RESPONSE_MAX (64u << 20)

/* Zeroed, then filled by the sink's settings. Strings are borrowed. */
struct curl_client {
    const char *url, *user, *password, *token, *credentials, *ca;
    bool insecure;
    uint64_t timeout_ns;

    const char *scheme; /* of the token in the Authorization header: "ApiKey"; NULL: "Bearer" */
    void *curl;
    char shown[256]; /* url without user and password, for messages */
    char error[512];   /* the last error message; "": none */
    bool was_slow;   /* the last request timed out */
    const atomic_ullong *stop_ns; /* as in sinks/sink.h; NULL: none */
    char authorization[1024];
};

/* Rows for the settings table of a sink whose state is of the given type and has a struct curl_client in field.
 * token_key: the name of the token setting. */
#define CURL_CLIENT_SETTINGS(type, field, url_help, token_key) \
    { "url", SETTING_TEXT, NULL, offsetof(type, field.url), url_help }, \
    { "user", SETTING_TEXT, NULL, offsetof(type, field.user), "user name" }, \
    { "password", SETTING_TEXT, NULL, offsetof(type, field.password), "password; safer in a file (credentials)" }, \
    { token_key, SETTING_TEXT, NULL, offsetof(type, field.token), \
      "instead of user and password; safer in a file (credentials)" }, \
    { "credentials", SETTING_TEXT, NULL, offsetof(type, field.credentials), \
      "file with one line: USER:PASSWORD, or ApiKey, Bearer or Token and the key" }, \
    { "ca", SETTING_TEXT, NULL, offsetof(type, field.ca), "file with the CA certificates to trust" }, \
    { "insecure", SETTING_FLAG, "no", offsetof(type, field.insecure), "do not verify the server's certificate" }, \
    { "timeout", SETTING_DURATION, "30s", offsetof(type, field.timeout_ns), "time limit for a response" }

struct curl_request {
    const char *method; /* "HEAD", "GET", "PUT", "POST" */
    const char *path;   /* appended to url: "/_bulk" */
    const char *content_type; /* NULL: no body */
    const char *const *headers; /* "Name: value", terminated by NULL; may be NULL */
    struct bytes body;
};

struct curl_response {
    unsigned status;
    struct buf body;
    char content_type[64]; /* "": none */
    uint64_t retry_after_ns; /* from Retry-After; 0: none */
};

/* Are the settings valid, and their files readable? USAGE, ABSENT, DENIED: client->error says why not. */
enum err curl_client_check(struct curl_client *client);

/* Validates the settings and reads the credentials, without connecting. USAGE, ABSENT, DENIED as above. */
enum err curl_client_open(struct curl_client *client);
void curl_client_close(struct curl_client *client);

void curl_response_init(struct curl_response *answer);
void curl_response_clear(struct curl_response *answer);

/* Sends a request and waits for the response, until deadline_ns or the timeout. OK: there is a response, of any
 * status. AGAIN: no response, or not in time; IO: retrying will not help. */
enum err curl_client_send(struct curl_client *client, const struct curl_request *request, struct curl_response *answer,
                          uint64_t deadline_ns);

/* OK (2xx), DENIED (401, 403), FULL (413: request too large), AGAIN (408, 429, 5xx), else IO. Sets client->error,
 * with the start of the response. */
enum err curl_client_check_status(struct curl_client *client, const struct curl_request *request,
                                  const struct curl_response *answer);

/* The response is an HTML page, for example of a proxy. */
bool curl_response_is_html(const struct curl_response *answer);

/* Sets client->error. */
void curl_client_set_error(struct curl_client *client, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The start of an untrusted string, on one line, without tags and control characters. */
void curl_client_excerpt(char *text, size_t size, struct bytes body);

#endif
