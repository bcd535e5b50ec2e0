/* Parses a map of strings, which needs only five of MessagePack's types. */
#include "compat/colmet/config_message.h"

#include "base/parse.h"

#include <string.h>

#define PERIOD_TEXT_MAX 64

static bool read_bytes(struct bytes *rest, size_t size, struct bytes *taken)
{
    if (rest->size < size)
        return false;
    *taken = (struct bytes){ rest->data, size };
    *rest = (struct bytes){ rest->data + size, rest->size - size };
    return true;
}

/* A big-endian number of size bytes. */
static bool read_number(struct bytes *rest, size_t size, size_t *number)
{
    struct bytes digits;
    if (!read_bytes(rest, size, &digits))
        return false;
    *number = 0;
    for (size_t i = 0; i < size; i++)
        *number = *number << 8 | (uint8_t)digits.data[i];
    return true;
}

/* fixmap, map 16, map 32 */
static bool read_map(struct bytes *rest, size_t *entries)
{
    size_t head;
    if (!read_number(rest, 1, &head))
        return false;
    if ((head & 0xf0) == 0x80) {
        *entries = head & 0x0f;
        return true;
    }
    return (head == 0xde && read_number(rest, 2, entries)) || (head == 0xdf && read_number(rest, 4, entries));
}

/* fixstr, str 8 to 32; bin 8 to 32, which old versions use for strings. */
static bool read_string(struct bytes *rest, struct bytes *text)
{
    size_t head, size = 0;
    if (!read_number(rest, 1, &head))
        return false;
    if ((head & 0xe0) == 0xa0)
        return read_bytes(rest, head & 0x1f, text);
    bool known = ((head == 0xd9 || head == 0xc4) && read_number(rest, 1, &size))
                 || ((head == 0xda || head == 0xc5) && read_number(rest, 2, &size))
                 || ((head == 0xdb || head == 0xc6) && read_number(rest, 4, &size));
    return known && read_bytes(rest, size, text);
}

static bool is(struct bytes text, const char *word)
{
    return bytes_equal(text, bytes_of(word));
}

static enum err parse_period(struct bytes text, uint64_t *period_ns)
{
    char seconds[PERIOD_TEXT_MAX];
    if (!text.size || text.size >= sizeof seconds)
        return USAGE;
    memcpy(seconds, text.data, text.size);
    seconds[text.size] = '\0';
    enum err err = strspn(seconds, "0123456789.") == text.size ? parse_duration(seconds, period_ns) : USAGE;
    return !err && !*period_ns ? USAGE : err;
}

enum err colmet_config_parse(struct bytes message, struct colmet_config *config)
{
    size_t entries;
    enum err err = OK;
    *config = (struct colmet_config){ 0 };
    if (!read_map(&message, &entries))
        return CORRUPT;
    for (size_t i = 0; i < entries && !err; i++) {
        struct bytes key, value;
        if (!read_string(&message, &key) || !read_string(&message, &value))
            return CORRUPT;
        if (is(key, "sample_period"))
            err = parse_period(value, &config->period_ns);
        else if (is(key, "metrics") || is(key, "perfhw_metrics"))
            config->metrics = value;
    }
    return !err && message.size ? CORRUPT : err;
}
