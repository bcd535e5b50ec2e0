/* Which of the two formats a client likes better: the Accept header by RFC 9110, as far as it matters here. */
#include "api/metrics_page.h"

#include <string.h>

struct liking {
    int open, text, other; /* in thousandths; -1: not named */
};

/* Up to the separator, which *rest begins behind; its data is NULL behind the last. */
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

/* "q=0.75" gives 750; anything else 1000. */
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

static void take_range(struct liking *liking, struct bytes range)
{
    struct bytes type = next_part(&range, ';');
    int quality = 1000;
    while (range.data) {
        int q = quality_of(next_part(&range, ';'));
        quality = q < quality ? q : quality;
    }
    int *place = bytes_like(type, "application/openmetrics-text") ? &liking->open
                 : bytes_like(type, "text/plain") ? &liking->text
                 : bytes_like(type, "*/*") || bytes_like(type, "text/*") ? &liking->other : NULL;
    if (place && quality > *place)
        *place = quality;
}

enum metrics_format metrics_format_negotiate(struct bytes accept)
{
    struct liking liking = { -1, -1, -1 };
    while (accept.data)
        take_range(&liking, next_part(&accept, ','));
    int text = liking.text >= 0 ? liking.text : liking.other;
    return liking.open > 0 && liking.open >= text ? METRICS_OPEN : METRICS_TEXT;
}

const char *metrics_format_content_type(enum metrics_format format)
{
    return format == METRICS_OPEN ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
}
