/* Hides passwords and other secrets in settings, URLs and messages before they are logged or shown. */
#ifndef SONDE_BASE_MASK_H
#define SONDE_BASE_MASK_H

#include "base/buf.h"

/* Is the value of this setting, URL parameter or property a secret: password, sasl.password, token, …? */
bool mask_is_secret(struct bytes key);

/* Adds text with "***" instead of the password of each URL (scheme://user:PASSWORD@host), and instead of the values of
 * secret keys in pairs (KEY=VALUE) that are separated by white space or '&': URL parameters, and what libpq accepts. */
void mask_add_text(struct buf *out, const char *text);

/* Adds the value of a setting. "options" are librdkafka's: NAME=VALUE;NAME=VALUE. */
void mask_add_setting(struct buf *out, const char *key, const char *value);

/* Adds settings that are separated by ',': "HOST:9092/TOPIC,options=NAME=VALUE". */
void mask_add_settings(struct buf *out, const char *settings);

/* The same as mask_add_text, as a string to be freed; NULL: out of memory. */
char *mask_copy(const char *text);

#endif
