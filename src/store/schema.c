/* Version 1 of the schema, unchanged since its release: later changes are steps in migrate.c. SQLite and PostgreSQL
 * have the same tables (store/postgres_sql.c translates the types). */
#include "store/schema.h"

#include "store/columns.h"

/* Longer than the C standard guarantees; our compilers accept it. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

_Static_assert(COUNTERS_SIZE == 28, "a new counter needs a migration that adds its columns (migrate.c)");

#define COUNTER_COLUMNS COUNTERS_LIST(COLUMNS_COUNTER_INTEGER)
#define SUMMARY_COLUMNS COLUMNS_SUMMARY(COLUMNS_INTEGER, COLUMNS_COUNTER_INTEGER, COLUMNS_TOTAL_INTEGER)

/* Ends with a column that needs no comma. */
#define VIEW_COUNTER(name, kind, unit, help) "p." #name ","

const char schema_version_1[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"

    "CREATE TABLE hosts (id INTEGER PRIMARY KEY, name TEXT, kernel TEXT, cpu_model TEXT, cores INTEGER,"
    " memory_bytes INTEGER);"

    "CREATE TABLE jobs (id INTEGER PRIMARY KEY," JOB_STRINGS(COLUMNS_TEXT) JOB_NUMBERS(COLUMNS_INTEGER) SUMMARY_COLUMNS
    " UNIQUE (job_id));"
    "CREATE TABLE job_tags (job INTEGER, key TEXT, value TEXT, PRIMARY KEY (job, key)) WITHOUT ROWID;"

    "CREATE TABLE runs (id INTEGER PRIMARY KEY," RUN_STRINGS(COLUMNS_TEXT) RUN_NUMBERS(COLUMNS_INTEGER) SUMMARY_COLUMNS
    " UNIQUE (run_id));"

    "CREATE TABLE executables (id INTEGER PRIMARY KEY, path TEXT, name TEXT);"
    "CREATE TABLE directories (id INTEGER PRIMARY KEY, path TEXT);"
    "CREATE TABLE tag_sets (id INTEGER PRIMARY KEY, tags TEXT);"

    "CREATE TABLE processes (job INTEGER, number INTEGER," PROCESS_COLUMNS(COLUMNS_INTEGER) COUNTER_COLUMNS
    " args TEXT, PRIMARY KEY (job, number)) WITHOUT ROWID;"
    "CREATE TABLE threads (job INTEGER, process INTEGER, number INTEGER, tid INTEGER, name TEXT, start_ns INTEGER,"
    " end_ns INTEGER," COUNTER_COLUMNS " PRIMARY KEY (job, process, number)) WITHOUT ROWID;"

    "CREATE TABLE run_executables (job INTEGER, run INTEGER, executable INTEGER," EXECUTABLE_COLUMNS(COLUMNS_INTEGER)
    " PRIMARY KEY (job, run, executable)) WITHOUT ROWID;"
    "CREATE TABLE top_processes (job INTEGER, run INTEGER, process INTEGER, cpu_us INTEGER,"
    " PRIMARY KEY (job, run, process)) WITHOUT ROWID;"
    "CREATE TABLE top_threads (job INTEGER, run INTEGER, process INTEGER, thread INTEGER, cpu_us INTEGER,"
    " PRIMARY KEY (job, run, process, thread)) WITHOUT ROWID;"

    "CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
    "CREATE TABLE run_events (job INTEGER, run INTEGER, event INTEGER, value INTEGER,"
    " PRIMARY KEY (job, run, event)) WITHOUT ROWID;"
    "CREATE TABLE process_events (job INTEGER, process INTEGER, event INTEGER, value INTEGER,"
    " PRIMARY KEY (job, process, event)) WITHOUT ROWID;"
    "CREATE TABLE thread_events (job INTEGER, process INTEGER, thread INTEGER, event INTEGER, value INTEGER,"
    " PRIMARY KEY (job, process, thread, event)) WITHOUT ROWID;"

    "CREATE TABLE sets (id INTEGER PRIMARY KEY, name TEXT, hash INTEGER UNIQUE);"
    "CREATE TABLE set_metrics (set_id INTEGER, number INTEGER, name TEXT, unit TEXT, kind TEXT, type TEXT, help TEXT,"
    " PRIMARY KEY (set_id, number)) WITHOUT ROWID;"
    "CREATE TABLE series (job INTEGER, run INTEGER, number INTEGER, chunk INTEGER, set_id INTEGER, instance TEXT,"
    " count INTEGER, start_ns INTEGER, end_ns INTEGER, data BLOB, PRIMARY KEY (job, run, number, chunk)) WITHOUT ROWID;"

    "CREATE VIEW process AS SELECT j.job_id, p.job, p.number, h.name AS host, p.pid, p.image, p.parent, p.last, p.depth,"
    " p.ppid, p.pgid, p.sid, p.uid, CASE WHEN p.uid = r.uid THEN r.\"user\" END AS \"user\","
    " e.name AS exe, e.path, p.args, d.path AS cwd, t.tags,"
    " CASE p.state WHEN 0 THEN 'ended' WHEN 1 THEN 'execed' WHEN 2 THEN 'running' WHEN 3 THEN 'lost' END AS state,"
    " p.exit_code, p.exit_signal, p.start_ns, p.end_ns,"
    " datetime(p.start_ns / 1000000000, 'unixepoch') AS start_utc, (p.end_ns - p.start_ns) / 1e9 AS duration_s,"
    " p.usertime + p.systemtime AS cpu_us, p.inclusive_cpu_us, p.thread_count," COUNTERS_LIST(VIEW_COUNTER)
    " p.sources, p.run FROM processes p LEFT JOIN jobs j ON j.id = p.job LEFT JOIN runs r ON r.id = p.run"
    " LEFT JOIN hosts h ON h.id = r.host LEFT JOIN executables e ON e.id = p.executable"
    " LEFT JOIN directories d ON d.id = p.directory LEFT JOIN tag_sets t ON t.id = p.tag_set;"

    "CREATE VIEW thread AS SELECT j.job_id, p.job, p.process, p.number, p.tid, p.name, p.start_ns, p.end_ns,"
    COUNTERS_LIST(VIEW_COUNTER) " p.usertime + p.systemtime AS cpu_us FROM threads p JOIN jobs j ON j.id = p.job UNION ALL"
    " SELECT j.job_id, p.job, p.number, 0, p.pid, e.name, p.start_ns, p.end_ns," COUNTERS_LIST(VIEW_COUNTER)
    " p.usertime + p.systemtime FROM processes p JOIN jobs j ON j.id = p.job"
    " LEFT JOIN executables e ON e.id = p.executable WHERE p.thread_count <= 1;"

    "CREATE VIEW executable AS SELECT j.job_id, x.job, e.name, e.path, sum(x.count) AS count,"
    " sum(x.short_count) AS short_count, sum(x.failed) AS failed, sum(x.cpu_us) AS cpu_us, sum(x.wall_ns) AS wall_ns,"
    " max(x.rss_max_kb) AS rss_max_kb, sum(x.read_bytes) AS read_bytes, sum(x.write_bytes) AS write_bytes,"
    " sum(x.rchar) AS rchar, sum(x.wchar) AS wchar, sum(x.waiting_ns) AS waiting_ns, sum(x.blkio_us) AS blkio_us"
    " FROM run_executables x JOIN jobs j ON j.id = x.job JOIN executables e ON e.id = x.executable"
    " GROUP BY j.job_id, x.job, e.id;"

    "CREATE VIEW job AS SELECT job_id, name, \"user\", hosts, tags, command, cwd,"
    " datetime(start_ns / 1000000000, 'unixepoch') AS start_utc, (end_ns - start_ns) / 1e9 AS duration_s,"
    " exit_code, exit_signal, processes, threads, usertime + systemtime AS cpu_us, rss_peak_bytes, id AS job FROM jobs;";

const char schema_indexes_1[] =
    "CREATE INDEX hosts_by_name ON hosts (name);"
    "CREATE INDEX jobs_by_start ON jobs (start_ns);"
    "CREATE INDEX jobs_by_user ON jobs (\"user\", start_ns);"
    "CREATE INDEX job_tags_by_key ON job_tags (key, value);"
    "CREATE INDEX runs_by_job ON runs (job, last_process);"
    "CREATE INDEX runs_by_host ON runs (host);"
    "CREATE INDEX executables_by_path ON executables (path, name);"
    "CREATE UNIQUE INDEX directories_by_path ON directories (path);"
    "CREATE UNIQUE INDEX tag_sets_by_tags ON tag_sets (tags);";

/* Functions that SQLite has built in; created before the tables. */
const char schema_postgres_functions_1[] =
    "CREATE FUNCTION datetime(seconds bigint, format text) RETURNS text LANGUAGE sql IMMUTABLE AS"
    " $$ SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') $$;"
    "CREATE FUNCTION glob(pattern text, value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS"
    " $$ SELECT value ~ ('^(?:' || replace(replace(regexp_replace(regexp_replace(pattern, '([.+(){}|$\\\\])', '\\\\\\1', 'g'),"
    " '(^|[^[])\\^', '\\1\\\\^', 'g'), '*', '.*'), '?', '.') || ')$') $$;"
    "CREATE FUNCTION group_concat_add(so_far text, more text, between_them text) RETURNS text LANGUAGE sql IMMUTABLE AS"
    " $$ SELECT CASE WHEN more IS NULL THEN so_far WHEN so_far IS NULL THEN more"
    " ELSE so_far || between_them || more END $$;"
    "CREATE AGGREGATE group_concat(text, text) (SFUNC = group_concat_add, STYPE = text);";

/* A string may exceed the limit of a PostgreSQL b-tree entry, so these are hash indexes; the writer ensures uniqueness. */
const char schema_postgres_indexes_1[] =
    "CREATE INDEX hosts_by_name ON hosts (name);"
    "CREATE INDEX jobs_by_start ON jobs (start_ns);"
    "CREATE INDEX jobs_by_user ON jobs (\"user\", start_ns);"
    "CREATE INDEX job_tags_by_key ON job_tags USING hash (key);"
    "CREATE INDEX runs_by_job ON runs (job, last_process);"
    "CREATE INDEX runs_by_host ON runs (host);"
    "CREATE INDEX executables_by_path ON executables USING hash (path);"
    "CREATE INDEX directories_by_path ON directories USING hash (path);"
    "CREATE INDEX tag_sets_by_tags ON tag_sets USING hash (tags);";

/* Version 2: what a collector saves while jobs are running. */
const char schema_version_2[] =
    "CREATE TABLE tracks (run INTEGER, number INTEGER, set_id INTEGER, instance TEXT, PRIMARY KEY (run, number))"
    " WITHOUT ROWID;"
    "CREATE TABLE streams (source TEXT, host TEXT, stream INTEGER, sequence INTEGER,"
    " PRIMARY KEY (source, host, stream)) WITHOUT ROWID;"
    "CREATE TABLE gaps (id INTEGER PRIMARY KEY, host TEXT, from_ns INTEGER, to_ns INTEGER, batches INTEGER, reason TEXT);"
    "CREATE INDEX gaps_by_host ON gaps (host, from_ns);";

/* Version 3: which sequences of a stream are saved, by any collector, as ranges. The table streams, where each
 * collector kept its own position, remains for collectors that continue a stream from that time. */
const char schema_version_3[] =
    "CREATE TABLE filed (host TEXT, stream INTEGER, first_sequence INTEGER, last_sequence INTEGER,"
    " PRIMARY KEY (host, stream, first_sequence)) WITHOUT ROWID;";

/* Version 4: a job is identified by its id and its owner. SQLite cannot drop a constraint, so the table is copied; with
 * legacy_alter_table the views that name it stay as they are. */
#define JOB_COLUMNS JOB_STRINGS(COLUMNS_NAME) JOB_NUMBERS(COLUMNS_NAME) \
    COLUMNS_SUMMARY(COLUMNS_NAME, COLUMNS_COUNTER_NAME, COLUMNS_TOTAL_NAME) "id"
const char schema_sqlite_version_4[] =
    "PRAGMA legacy_alter_table = ON;"
    "CREATE TABLE new_jobs (id INTEGER PRIMARY KEY," JOB_STRINGS(COLUMNS_TEXT) JOB_NUMBERS(COLUMNS_INTEGER) SUMMARY_COLUMNS
    " UNIQUE (job_id, uid));"
    "INSERT INTO new_jobs (" JOB_COLUMNS ") SELECT " JOB_COLUMNS " FROM jobs;"
    "DROP TABLE jobs;"
    "ALTER TABLE new_jobs RENAME TO jobs;"
    "PRAGMA legacy_alter_table = OFF;"
    "CREATE INDEX jobs_by_start ON jobs (start_ns);"
    "CREATE INDEX jobs_by_user ON jobs (\"user\", start_ns);";
const char schema_postgres_version_4[] =
    "ALTER TABLE jobs DROP CONSTRAINT jobs_job_id_key;"
    "ALTER TABLE jobs ADD UNIQUE (job_id, uid);";
