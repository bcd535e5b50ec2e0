/* The scalars of PyYAML: plain where that reads back as a text, else in quotes, folded behind column 80 as it does. */
#include "compat/tau/python_text.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <string.h>

#define WIDTH 80 /* a line is folded at the first blank behind it */

/* Would a reader take it for something else than a text? The words are those of YAML 1.1. */
static bool is_word(const char *text)
{
    static const char *const words[] = {
        "yes", "Yes", "YES", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE", "on", "On", "ON",
        "off", "Off", "OFF", "~", "null", "Null", "NULL", "<<", "=",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], text) == 0)
            return true;
    return false;
}

static bool is_number(const char *text)
{
    static const char pattern[] =
        "^([-+]?[0-9][0-9_]*[.][0-9_]*([eE][-+][0-9]+)?|[.][0-9][0-9_]*([eE][-+][0-9]+)?|"
        "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+([.][0-9_]*)?|[-+]?[.](inf|Inf|INF)|[.](nan|NaN|NAN)|"
        "[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|"
        "[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.][0-9]*)?"
        "([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?)$";
    regex_t regex;
    if (!strchr("-+.0123456789", text[0])) /* which is dear */
        return false;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
        return true;
    bool is_it = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return is_it;
}

/* Has it what other styles cannot write: all but ASCII and ends of lines, and blanks beside these? */
static bool needs_escapes(const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '\n' ? (at > text && at[-1] == ' ') || at[1] == ' ' : *at < 0x20 || *at > 0x7e)
            return true;
    return false;
}

static bool may_be_plain(const char *text)
{
    size_t size = strlen(text);
    if (!size || text[0] == ' ' || text[size - 1] == ' ' || strchr("#,[]{}&*!|>'\"%@`", text[0]))
        return false;
    if (strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0)
        return false;
    if (strchr("-?", text[0]) && (text[1] == ' ' || !text[1]))
        return false;
    if (strstr(text, ": ") || text[size - 1] == ':' || strstr(text, " #") || strchr(text, '\n'))
        return false;
    return !is_word(text) && !is_number(text);
}

static void new_line(struct buf *out, size_t *column, size_t indent)
{
    buf_add_char(out, '\n');
    for (size_t i = 0; i < indent; i++)
        buf_add_char(out, ' ');
    *column = indent;
}

/* Of n ends of lines in a text there is one more. Returns how many characters of the text that was. */
static size_t add_breaks(struct buf *out, const char *text, size_t *column, size_t indent)
{
    size_t breaks = strspn(text, "\n");
    for (size_t i = 0; i < breaks; i++)
        buf_add_char(out, '\n');
    new_line(out, column, indent);
    return breaks;
}

/* Text of ASCII; a single blank behind the width becomes the end of a line. Quotes are doubled, if it has any around it. */
static void add_folded(struct buf *out, const char *text, size_t column, size_t indent, bool is_quoted)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size;) {
        size_t blanks = strspn(text + i, " ");
        if (blanks == 1 && column > WIDTH && (!is_quoted || (i > 0 && i + 1 < size))) {
            new_line(out, &column, indent);
            i++;
            continue;
        }
        if (text[i] == '\n') {
            i += add_breaks(out, text + i, &column, indent);
            continue;
        }
        size_t word = blanks ? blanks : strcspn(text + i, is_quoted ? " '\n" : " ");
        buf_add(out, text + i, word);
        column += word;
        i += word;
        if (is_quoted && text[i] == '\'') {
            buf_add_text(out, "''");
            column += 2;
            i++;
        }
    }
}

static bool is_escaped(uint32_t code)
{
    return code < 0x20 || code > 0x7e || code == '"' || code == '\\';
}

static void add_escape(struct buf *out, uint32_t code, size_t *column)
{
    static const char letters[][2] = { "\aa", "\bb", "\tt", "\nn", "\vv", "\ff", "\rr", "\033e", "\"\"", "\\\\" };
    size_t before = out->size;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (code == (uint32_t)letters[i][0])
            buf_printf(out, "\\%c", letters[i][1]);
    if (out->size > before)
        ;
    else if (code == 0x85 || code == 0xa0 || code == 0x2028 || code == 0x2029)
        buf_printf(out, "\\%c", code == 0x85 ? 'N' : code == 0xa0 ? '_' : code == 0x2028 ? 'L' : 'P');
    else
        buf_printf(out, code < 0x100 ? "\\x%02" PRIX32 : code < 0x10000 ? "\\u%04" PRIX32 : "\\U%08" PRIX32, code);
    *column += out->size - before;
}

static void fold(struct buf *out, size_t *column, size_t indent, bool is_blank_next)
{
    buf_add_char(out, '\\');
    new_line(out, column, indent);
    if (is_blank_next) { /* which would be lost at the beginning of a line */
        buf_add_char(out, '\\');
        ++*column;
    }
}

/* Everything that is not ASCII is written as a number. A line that is too long ends before a blank, and before or behind what is
 * escaped; never before the first character or about the last one. */
static void add_double(struct buf *out, const char *text, size_t column, size_t indent)
{
    struct bytes rest = bytes_of(text);
    bool is_first = true, was_escaped = false;
    buf_add_char(out, '"');
    for (column++; rest.size; is_first = false) {
        uint32_t code = 0xfffd;
        size_t size = utf8_next(rest, &code);
        code = size ? code : 0xfffd;
        rest.data += size ? size : 1;
        rest.size -= size ? size : 1;
        bool may_fold = !is_first && rest.size;
        if (is_escaped(code)) {
            add_escape(out, code, &column);
            if (may_fold && column > WIDTH + 1)
                fold(out, &column, indent, *rest.data == ' ');
        } else {
            if (may_fold && (code == ' ' || was_escaped) && column > WIDTH)
                fold(out, &column, indent, code == ' ');
            buf_add_char(out, (char)code);
            column++;
        }
        was_escaped = is_escaped(code);
    }
    buf_add_char(out, '"');
}

void python_text_yaml(struct buf *out, const char *text, size_t column, size_t indent)
{
    if (needs_escapes(text)) {
        add_double(out, text, column, indent);
    } else if (may_be_plain(text)) {
        add_folded(out, text, column, indent, false);
    } else {
        buf_add_char(out, '\'');
        add_folded(out, text, column + 1, indent, true);
        buf_add_char(out, '\'');
    }
}

void python_text_yaml_float(struct buf *out, double value)
{
    if (!isfinite(value)) {
        buf_add_text(out, isnan(value) ? ".nan" : value > 0 ? ".inf" : "-.inf");
        return;
    }
    size_t before = out->size;
    python_text_float(out, value);
    const char *text = buf_text(out) + before, *exponent = strchr(text, 'e');
    if (!exponent || strchr(text, '.'))
        return;
    char tail[32]; /* 1e+16 would be a text in YAML 1.1 */
    size_t size = strlen(exponent);
    memcpy(tail, exponent, size + 1);
    out->size -= size;
    buf_printf(out, ".0%s", tail);
}
