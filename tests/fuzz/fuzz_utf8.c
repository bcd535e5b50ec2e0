/* Any bytes on a screen and in JSON: what comes out is valid UTF-8, holds no control character, and fits. */
#include "net/json.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

int fuzz_utf8(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_harmless(struct bytes text, bool ascii)
{
    require(utf8_valid(text));
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        require(c >= 0x20 && c != 0x7f && (!ascii || c < 0x80));
    }
}

static void check_screen(struct bytes text, bool utf8)
{
    struct buf out;
    buf_init(&out, 16 * text.size + 64);
    utf8_add_safe(&out, text, utf8);
    struct bytes shown = { buf_text(&out), out.size };
    require(buf_err(&out) == OK);
    check_harmless(shown, !utf8);
    require(utf8_columns(shown, true) == utf8_columns(text, utf8));
    buf_reset(&out);
    size_t columns = text.size % 50, taken = utf8_add_fit(&out, text, columns, utf8);
    shown = (struct bytes){ buf_text(&out), out.size };
    check_harmless(shown, !utf8);
    require(taken <= columns && utf8_columns(shown, true) == taken);
    buf_clear(&out);
}

static void check_json(struct bytes text)
{
    struct buf out;
    struct json json;
    buf_init(&out, 16 * text.size + 64);
    json_init(&json, &out);
    json_bytes(&json, text);
    require(buf_err(&out) == OK && out.size >= 2);
    check_harmless((struct bytes){ buf_text(&out), out.size }, false);
    for (size_t i = 1; i < out.size - 1; i++) {
        require(out.data[i] != '"');
        i += out.data[i] == '\\';
    }
    require(out.data[out.size - 1] == '"');
    buf_clear(&out);
}

int fuzz_utf8(const uint8_t *data, size_t size)
{
    struct bytes text = { (const char *)data, size };
    check_screen(text, true);
    check_screen(text, false);
    check_json(text);
    return 0;
}
