/* Statements of PostgreSQL: prepared at the first step, when the types of the parameters are known. Rows of a bulk
 * statement are buffered and sent with COPY. Large results are fetched in portions with a cursor. */
#include "store/postgres_connection.h"
#include "base/vec.h"
#include "store/postgres_sql.h"

#include "base/utf8.h"
#include "store/shell_quote.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQL_MAX (1u << 20)
#define COPY_BYTES (1u << 20) /* buffered before they are sent */
#define OID_BYTEA 17
#define OID_BIGINT 20
#define PARAMETERS_MAX 512
#define FETCH_ROWS 2048

enum parameter_kind { PARAMETER_NULL, PARAMETER_I64, PARAMETER_TEXT, PARAMETER_BLOB };

struct parameter {
    enum parameter_kind kind;
    int64_t number;
    struct bytes bytes;
    struct buf text; /* the escaped bytes, if the server does not accept them as they are */
};

struct driver_statement {
    struct driver_connection *connection;
    struct buf sql, copy; /* copy: the command, then rows */
    size_t copy_command;  /* size of the command in copy; 0: not a bulk statement */
    struct parameter *parameters;
    int parameter_count;
    char name[32];        /* of the prepared statement or cursor; "": none yet */
    bool is_many, owns_transaction;
    PGresult *result;
    int row;              /* of result */
    struct buf *columns;  /* of the row, decoded; columns_capacity of them */
    int columns_capacity;
};

enum err postgres_prepare(struct driver_connection *connection, struct driver_statement **statement, const char *sql,
                          enum driver_use use)
{
    struct driver_statement *s = *statement = calloc(1, sizeof *s);
    if (!s)
        return NOMEM;
    s->connection = connection;
    s->row = -1;
    buf_init(&s->sql, SQL_MAX);
    buf_init(&s->copy, SIZE_MAX / 2);
    s->parameter_count = postgres_sql_add(&s->sql, sql);
    s->parameters = calloc((size_t)s->parameter_count + 1, sizeof *s->parameters);
    s->is_many = use == DRIVER_MANY;
    if (use == DRIVER_BULK && postgres_sql_copy(&s->copy, sql)) {
        buf_add_char(&s->copy, '\0');
        s->copy_command = s->copy.size;
    }
    for (int i = 0; s->parameters && i < s->parameter_count; i++)
        buf_init(&s->parameters[i].text, SIZE_MAX / 2);
    enum err err = !s->parameters ? NOMEM : buf_err(&s->sql);
    if (err)
        postgres_free(s);
    return err;
}

static struct parameter *parameter_at(struct driver_statement *statement, int at)
{
    static struct parameter none; /* for numbers out of range, which are ignored as in SQLite */
    return at >= 1 && at <= statement->parameter_count ? &statement->parameters[at - 1] : &none;
}

void postgres_bind_null(struct driver_statement *statement, int at)
{
    parameter_at(statement, at)->kind = PARAMETER_NULL;
}

void postgres_bind_i64(struct driver_statement *statement, int at, int64_t value)
{
    struct parameter *parameter = parameter_at(statement, at);
    parameter->kind = PARAMETER_I64;
    parameter->number = value;
}

void postgres_bind_blob(struct driver_statement *statement, int at, struct bytes blob)
{
    struct parameter *parameter = parameter_at(statement, at);
    parameter->kind = PARAMETER_BLOB;
    parameter->bytes = blob;
}

static bool is_escaped(struct bytes text)
{
    return text.size >= 2 && memcmp(text.data, "$'", 2) == 0;
}

/* The server accepts only UTF-8 without NUL: other bytes are escaped as in a shell, $'\xff', and so is a string that
 * already looks like that. */
void postgres_bind_text(struct driver_statement *statement, int at, struct bytes text)
{
    struct parameter *parameter = parameter_at(statement, at);
    parameter->kind = PARAMETER_TEXT;
    parameter->bytes = text;
    if (!text.size || at > statement->parameter_count)
        return;
    bool plain = !memchr(text.data, 0, text.size) && utf8_valid(text);
    if (plain && !is_escaped(text))
        return;
    buf_reset(&parameter->text);
    shell_quote_escape(&parameter->text, text);
    parameter->bytes = (struct bytes){ parameter->text.data, parameter->text.size };
}

static void add_field(struct buf *copy, const void *data, size_t size)
{
    uint32_t length = htobe32((uint32_t)size);
    buf_add(copy, &length, sizeof length);
    buf_add(copy, data, size);
}

static void add_copied(struct buf *copy, const struct parameter *parameter)
{
    static const uint32_t null = UINT32_MAX;
    uint64_t number = htobe64((uint64_t)parameter->number);
    switch (parameter->kind) {
    case PARAMETER_NULL: buf_add(copy, &null, sizeof null); break;
    case PARAMETER_I64: add_field(copy, &number, sizeof number); break;
    case PARAMETER_TEXT:
    case PARAMETER_BLOB: add_field(copy, parameter->bytes.data, parameter->bytes.size); break;
    }
}

/* Sends the buffered rows with header and trailer of the COPY format. */
static enum err send_rows(struct driver_statement *s)
{
    static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* with the terminating NUL: 19 bytes */
    static const char tail[] = "\377\377";
    PGconn *pg = s->connection->pg;
    if (s->copy.size == s->copy_command)
        return OK;
    PGresult *begun = PQexec(pg, s->copy.data);
    if (PQresultStatus(begun) != PGRES_COPY_IN)
        return postgres_check_take(s->connection, begun);
    PQclear(begun);
    bool sent = PQputCopyData(pg, head, sizeof head) == 1
                && PQputCopyData(pg, s->copy.data + s->copy_command, (int)(s->copy.size - s->copy_command)) == 1
                && PQputCopyData(pg, tail, 2) == 1 && PQputCopyEnd(pg, NULL) == 1;
    enum err err = sent ? OK : postgres_failed(s->connection, NULL);
    for (PGresult *result = PQgetResult(pg); result; result = PQgetResult(pg)) {
        enum err each = postgres_check_take(s->connection, result);
        err = err ? err : each;
    }
    s->copy.size = s->copy_command;
    return err;
}

static enum err add_row(struct driver_statement *s)
{
    uint16_t count = htobe16((uint16_t)s->parameter_count);
    buf_add(&s->copy, &count, sizeof count);
    for (int i = 0; i < s->parameter_count; i++)
        add_copied(&s->copy, &s->parameters[i]);
    enum err err = buf_err(&s->copy);
    return !err && s->copy.size > COPY_BYTES ? send_rows(s) : err;
}

/* Parameters for libpq: numbers and strings as text, blobs as they are. */
struct parameter_values {
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX], formats[PARAMETERS_MAX];
    Oid types[PARAMETERS_MAX]; /* 0: chosen by the server */
    char numbers[PARAMETERS_MAX][24];
};

static bool fill_values(const struct driver_statement *s, struct parameter_values *values)
{
    if (s->parameter_count > PARAMETERS_MAX)
        return false;
    for (int i = 0; i < s->parameter_count; i++) {
        const struct parameter *parameter = &s->parameters[i];
        bool is_number = parameter->kind == PARAMETER_I64;
        snprintf(values->numbers[i], sizeof values->numbers[i], "%" PRId64, parameter->number);
        values->values[i] = parameter->kind == PARAMETER_NULL ? NULL : is_number ? values->numbers[i]
                            : parameter->bytes.size ? parameter->bytes.data : "";
        values->types[i] = is_number ? OID_BIGINT : 0; /* the server cannot infer the type of an unused parameter */
        values->lengths[i] = is_number ? 0 : (int)parameter->bytes.size;
        values->formats[i] = !is_number; /* binary format of a string is the string itself, without NUL */
    }
    return true;
}

static void set_name(struct driver_statement *s, const char *kind)
{
    snprintf(s->name, sizeof s->name, "%s%u", kind, ++s->connection->statements);
}

static enum err prepare_on_server(struct driver_statement *s, const struct parameter_values *values)
{
    if (s->name[0])
        return OK;
    set_name(s, "s");
    enum err err = postgres_check_take(s->connection, PQprepare(s->connection->pg, s->name, buf_text(&s->sql),
                                                                s->parameter_count, values->types));
    if (err)
        s->name[0] = '\0';
    return err;
}

static enum err execute(struct driver_statement *s)
{
    struct parameter_values *values = malloc(sizeof *values);
    enum err err = values && fill_values(s, values) ? prepare_on_server(s, values) : NOMEM;
    if (!err)
        s->result = PQexecPrepared(s->connection->pg, s->name, s->parameter_count, values->values, values->lengths,
                                   values->formats, 0);
    free(values);
    if (err)
        return err;
    ExecStatusType status = PQresultStatus(s->result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? OK : postgres_failed(s->connection, s->result);
}

/* DECLARE CURSOR with the numbers inserted: it takes no parameters. */
static void add_declare(const struct driver_statement *s, struct buf *sql)
{
    buf_printf(sql, "DECLARE %s NO SCROLL CURSOR FOR ", s->name);
    for (const char *at = buf_text(&s->sql); *at;) {
        if (*at != '$' || at[1] < '1' || at[1] > '9') {
            buf_add_char(sql, *at++);
            continue;
        }
        char *end;
        long number = strtol(at + 1, &end, 10);
        buf_printf(sql, "%" PRId64, s->parameters[number - 1].number);
        at = end;
    }
}

static enum err open_cursor(struct driver_statement *s)
{
    struct buf sql;
    PGconn *pg = s->connection->pg;
    if (PQtransactionStatus(pg) == PQTRANS_IDLE) {
        enum err begun = postgres_check_take(s->connection, PQexec(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
        if (begun)
            return begun;
        s->owns_transaction = true;
    }
    set_name(s, "c");
    buf_init(&sql, SQL_MAX);
    add_declare(s, &sql);
    enum err err = buf_err(&sql);
    if (!err)
        err = postgres_check_take(s->connection, PQexec(pg, buf_text(&sql)));
    if (err)
        s->name[0] = '\0';
    buf_clear(&sql);
    return err;
}

static enum err fetch(struct driver_statement *s)
{
    char sql[96];
    enum err err = s->name[0] ? OK : open_cursor(s);
    if (err)
        return err;
    PQclear(s->result);
    snprintf(sql, sizeof sql, "FETCH %d FROM %s", FETCH_ROWS, s->name);
    s->result = PQexec(s->connection->pg, sql);
    s->row = -1;
    return PQresultStatus(s->result) == PGRES_TUPLES_OK ? OK : postgres_failed(s->connection, s->result);
}

enum err postgres_step(struct driver_statement *s, bool *row)
{
    enum err err = OK;
    *row = false;
    if (s->copy_command)
        return add_row(s);
    if (s->is_many && (!s->result || s->row + 1 == FETCH_ROWS))
        err = fetch(s);
    else if (!s->result)
        err = execute(s);
    if (err)
        return err;
    *row = ++s->row < PQntuples(s->result);
    return OK;
}

static void close_cursor(struct driver_statement *s)
{
    char sql[64];
    if (s->name[0] && PQtransactionStatus(s->connection->pg) == PQTRANS_INTRANS) {
        snprintf(sql, sizeof sql, "CLOSE %s", s->name);
        PQclear(PQexec(s->connection->pg, sql));
    }
    if (s->owns_transaction)
        PQclear(PQexec(s->connection->pg, "COMMIT"));
    s->owns_transaction = false;
    s->name[0] = '\0';
}

void postgres_reset(struct driver_statement *s)
{
    PQclear(s->result);
    s->result = NULL;
    s->row = -1;
    if (s->is_many)
        close_cursor(s);
}

enum err postgres_finish(struct driver_statement *s)
{
    return s->copy_command ? send_rows(s) : OK;
}

static void deallocate(struct driver_statement *s)
{
    char sql[64];
    PGTransactionStatusType status = PQtransactionStatus(s->connection->pg);
    if (!s->name[0] || (status != PQTRANS_IDLE && status != PQTRANS_INTRANS))
        return; /* not possible in a failed transaction; the name is not reused */
    snprintf(sql, sizeof sql, "DEALLOCATE %s", s->name);
    PQclear(PQexec(s->connection->pg, sql));
}

void postgres_free(struct driver_statement *s)
{
    postgres_reset(s);
    deallocate(s);
    for (int i = 0; s->parameters && i < s->parameter_count; i++)
        buf_clear(&s->parameters[i].text);
    for (int i = 0; i < s->columns_capacity; i++)
        buf_clear(&s->columns[i]);
    free(s->columns);
    free(s->parameters);
    buf_clear(&s->sql);
    buf_clear(&s->copy);
    free(s);
}

int postgres_columns(const struct driver_statement *s)
{
    return s->result ? PQnfields(s->result) : 0;
}

bool postgres_is_known(const struct driver_statement *s, int at)
{
    return !PQgetisnull(s->result, s->row, at);
}

int64_t postgres_i64(const struct driver_statement *s, int at)
{
    return strtoll(PQgetvalue(s->result, s->row, at), NULL, 10); /* "" if NULL */
}

static struct buf *column_buf(struct driver_statement *s, int at)
{
    if (at >= s->columns_capacity) {
        int capacity = PQnfields(s->result);
        if (array_resize(s->columns, (size_t)capacity))
            return NULL;
        for (int i = s->columns_capacity; i < capacity; i++)
            buf_init(&s->columns[i], SIZE_MAX / 2);
        s->columns_capacity = capacity;
    }
    buf_reset(&s->columns[at]);
    return &s->columns[at];
}

static int digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* \x00ff… */
static void add_blob(struct buf *out, struct bytes hex)
{
    for (size_t i = 2; i + 1 < hex.size; i += 2)
        buf_add_char(out, (char)(digit(hex.data[i]) << 4 | digit(hex.data[i + 1])));
}

struct bytes postgres_bytes(const struct driver_statement *statement, int at)
{
    struct driver_statement *s = (struct driver_statement *)statement;
    if (PQgetisnull(s->result, s->row, at))
        return (struct bytes){ 0 };
    struct bytes text = { PQgetvalue(s->result, s->row, at), (size_t)PQgetlength(s->result, s->row, at) };
    bool is_blob = PQftype(s->result, at) == OID_BYTEA;
    if (!is_blob && !is_escaped(text))
        return text;
    struct buf *out = column_buf(s, at);
    if (!out)
        return (struct bytes){ 0 };
    if (is_blob)
        add_blob(out, text);
    else
        shell_quote_unescape(out, text);
    return (struct bytes){ out->data, out->size };
}
