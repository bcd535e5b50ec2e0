/* Content negotiation by the Accept header (RFC 9110), as far as it is needed here. */
#include "api/metrics_format.h"

#include <string.h>

struct accept_weights {
    int open, text, other; /* q values in thousandths; -1: not in the header */
};

/* The part before the separator, and *rest after it; rest->data is NULL after the last part. */
static struct bytes next_part(struct bytes *rest, char separator)
{
    const char *at = rest->size ? memchr(rest->data, separator, rest->size) : NULL;
    struct bytes part = *rest;
    if (at) {
        part.size = (size_t)(at - rest->data);
        *rest = (struct bytes){ at + 1, rest->size - part.size - 1 };
    } else {
        *rest = (struct bytes){ NULL, 0 };
    }
    return bytes_trim(part);
}

/* "q=0.75" yields 750; anything else 1000. */
static int quality_of(struct bytes parameter)
{
    if (parameter.size < 3 || (*parameter.data | 32) != 'q' || parameter.data[1] != '=')
        return 1000;
    int quality = parameter.data[2] == '1' ? 1000 : 0, weight = 100;
    for (size_t i = 4; i < parameter.size && weight > 0 && quality < 1000; i++, weight /= 10)
        if (parameter.data[i] >= '0' && parameter.data[i] <= '9')
            quality += (parameter.data[i] - '0') * weight;
    return quality;
}

static void parse_media_range(struct accept_weights *weights, struct bytes range)
{
    struct bytes type = next_part(&range, ';');
    int quality = 1000;
    while (range.data) {
        int q = quality_of(next_part(&range, ';'));
        quality = q < quality ? q : quality;
    }
    int *weight = bytes_equal_nocase(type, "application/openmetrics-text") ? &weights->open
                 : bytes_equal_nocase(type, "text/plain") ? &weights->text
                 : bytes_equal_nocase(type, "*/*") || bytes_equal_nocase(type, "text/*") ? &weights->other : NULL;
    if (weight && quality > *weight)
        *weight = quality;
}

enum metrics_format metrics_format_negotiate(struct bytes accept)
{
    struct accept_weights weights = { -1, -1, -1 };
    while (accept.data)
        parse_media_range(&weights, next_part(&accept, ','));
    int text = weights.text >= 0 ? weights.text : weights.other;
    return weights.open > 0 && weights.open >= text ? METRICS_OPEN : METRICS_TEXT;
}

const char *metrics_format_content_type(enum metrics_format format)
{
    return format == METRICS_OPEN ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
}
