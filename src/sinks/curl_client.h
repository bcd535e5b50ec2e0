/* Requests over HTTP and HTTPS for the sinks of sink-http.so, through libcurl: one connection that is kept, a time limit on
 * everything, and a sentence for people about each failure. */
#ifndef SONDE_SINKS_CURL_CLIENT_H
#define SONDE_SINKS_CURL_CLIENT_H

#include "base/buf.h"
#include "model/setting.h"

#define CURL_CLIENT_RESPONSE_MAX (64u << 20)

/* Zeroed, then with settings in it. Texts are borrowed. */
struct curl_client {
    const char *url, *user, *password, *token, *credentials, *ca;
    bool insecure;
    uint64_t timeout_ns;

    const char *scheme; /* of the token in the header Authorization: "ApiKey", "Bearer"; NULL: "Bearer" */
    void *curl;
    char shown[256]; /* the address without what is secret in it */
    char error[512];   /* the last failure; "" at first */
    bool was_slow;   /* the last request was not answered in time */
    char authorization[1024];
};

/* The rows of a table of settings of a sink whose state, a struct type, has a struct curl_client in field. token_key: what
 * the other side calls a token. */
#define CURL_CLIENT_SETTINGS(type, field, url_help, token_key) \
    { "url", SETTING_TEXT, NULL, offsetof(type, field.url), url_help }, \
    { "user", SETTING_TEXT, NULL, offsetof(type, field.user), "user name" }, \
    { "password", SETTING_TEXT, NULL, offsetof(type, field.password), "password; safer in a file (credentials)" }, \
    { token_key, SETTING_TEXT, NULL, offsetof(type, field.token), "instead of user and password; safer in a file (credentials)" }, \
    { "credentials", SETTING_TEXT, NULL, offsetof(type, field.credentials), \
      "file with one line: USER:PASSWORD, or ApiKey, Bearer or Token and the key" }, \
    { "ca", SETTING_TEXT, NULL, offsetof(type, field.ca), "file with the CA certificates to trust" }, \
    { "insecure", SETTING_FLAG, "no", offsetof(type, field.insecure), "do not verify the server's certificate" }, \
    { "timeout", SETTING_DURATION, "30s", offsetof(type, field.timeout_ns), "time limit for a response" }

struct curl_request {
    const char *method; /* "HEAD", "GET", "PUT", "POST" */
    const char *path;   /* behind the address: "/_bulk" */
    const char *content_type; /* NULL: without a body */
    const char *const *headers; /* "Name: value", NULL at the end; may be NULL */
    struct bytes body;
};

struct curl_response {
    unsigned status;
    struct buf body;
    char content_type[64]; /* "": not told */
    uint64_t retry_after_ns; /* how long it asks us to wait; 0: not told */
};

/* Whether the settings make sense and its files can be read. USAGE, ABSENT, DENIED: error says what is wrong. */
enum err curl_client_check(struct curl_client *client);

/* Checks the settings and reads the credentials; connects to nobody. USAGE, ABSENT, DENIED: error says what is wrong. */
enum err curl_client_open(struct curl_client *client);
void curl_client_close(struct curl_client *client);

void curl_response_init(struct curl_response *answer);
void curl_response_clear(struct curl_response *answer);

/* Asks, and waits for the answer, at most until deadline_ns and at most as long as the timeout. OK: there is one, of whatever
 * status. AGAIN: there is none, or not in time; IO: there will be none before somebody mends something. */
enum err curl_client_send(struct curl_client *client, const struct curl_request *request, struct curl_response *answer,
                          uint64_t deadline_ns);

/* What a status means: OK (2xx), DENIED (401, 403), FULL (413: it was too much at once), AGAIN (408, 429, 5xx), else IO. Says
 * so in error, with the beginning of the answer. */
enum err curl_client_check_status(struct curl_client *client, const struct curl_request *request, const struct curl_response *answer);

/* The answer is a page for people, not what a program asked for. */
bool curl_response_is_html(const struct curl_response *answer);

/* Sets error. */
void curl_client_set_error(struct curl_client *client, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The beginning of a text from outside, on one line, without tags and control characters. */
void curl_client_excerpt(char *text, size_t size, struct bytes body);

#endif
