/* Requests over HTTP and HTTPS for the sinks of sink-http.so, through libcurl: one connection that is kept, a time limit on
 * everything, and a sentence for people about each failure. */
#ifndef SONDE_SINKS_CURL_CLIENT_H
#define SONDE_SINKS_CURL_CLIENT_H

#include "base/buf.h"
#include "model/setting.h"

#define HTTP_CLIENT_ANSWER_MAX (64u << 20)

/* Zeroed, then with settings in it. Texts are borrowed. */
struct http_client {
    const char *url, *user, *password, *token, *credentials, *ca;
    bool insecure;
    uint64_t timeout_ns;

    const char *scheme; /* of the token in the header Authorization: "ApiKey", "Bearer"; NULL: "Bearer" */
    void *curl;
    char shown[256]; /* the address without what is secret in it */
    char why[512];   /* the last failure; "" at first */
    bool was_slow;   /* the last request was not answered in time */
    char authorization[1024];
};

/* The rows of a table of settings of a sink whose state, a struct type, has a struct http_client in field. token_key: what
 * the other side calls a token. */
#define HTTP_CLIENT_SETTINGS(type, field, url_help, token_key) \
    { "url", SETTING_TEXT, NULL, offsetof(type, field.url), url_help }, \
    { "user", SETTING_TEXT, NULL, offsetof(type, field.user), "user, with password" }, \
    { "password", SETTING_TEXT, NULL, offsetof(type, field.password), "its password; better in a file: credentials" }, \
    { token_key, SETTING_TEXT, NULL, offsetof(type, field.token), "in place of user and password; better in a file" }, \
    { "credentials", SETTING_TEXT, NULL, offsetof(type, field.credentials), \
      "a file of one line: USER:PASSWORD, or ApiKey, Bearer or Token and the key" }, \
    { "ca", SETTING_TEXT, NULL, offsetof(type, field.ca), "file with the certificates of who may sign the server's" }, \
    { "insecure", SETTING_FLAG, "no", offsetof(type, field.insecure), "do not check the server's certificate" }, \
    { "timeout", SETTING_DURATION, "30s", offsetof(type, field.timeout_ns), "how long an answer may take" }

struct http_request {
    const char *method; /* "HEAD", "GET", "PUT", "POST" */
    const char *path;   /* behind the address: "/_bulk" */
    const char *content_type; /* NULL: without a body */
    const char *const *headers; /* "Name: value", NULL at the end; may be NULL */
    struct bytes body;
};

struct http_answer {
    unsigned status;
    struct buf body;
    char content_type[64]; /* "": not told */
    uint64_t retry_after_ns; /* how long it asks us to wait; 0: not told */
};

/* Whether the settings make sense and its files can be read. USAGE, ABSENT, DENIED: why says what is wrong. */
enum err http_client_check(struct http_client *client);

/* Checks the settings and reads the credentials; connects to nobody. USAGE, ABSENT, DENIED: why says what is wrong. */
enum err http_client_open(struct http_client *client);
void http_client_close(struct http_client *client);

void http_answer_init(struct http_answer *answer);
void http_answer_clear(struct http_answer *answer);

/* Asks, and waits for the answer, at most until deadline_ns and at most as long as the timeout. OK: there is one, of whatever
 * status. AGAIN: there is none, or not in time; IO: there will be none before somebody mends something. */
enum err http_client_send(struct http_client *client, const struct http_request *request, struct http_answer *answer,
                          uint64_t deadline_ns);

/* What a status means: OK (2xx), DENIED (401, 403), FULL (413: it was too much at once), AGAIN (408, 429, 5xx), else IO. Says
 * so in why, with the beginning of the answer. */
enum err http_client_judge(struct http_client *client, const struct http_request *request, const struct http_answer *answer);

/* The answer is a page for people, not what a program asked for. */
bool http_answer_is_page(const struct http_answer *answer);

/* Sets why. */
void http_client_say(struct http_client *client, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The beginning of a text from outside, on one line, without tags and control characters. */
void http_client_excerpt(char *text, size_t size, struct bytes body);

#endif
