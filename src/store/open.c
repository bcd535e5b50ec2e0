/* Opens and closes the job database: creates it if necessary, waits while others use it, and explains errors. */
#include "store/store.h"

#include "base/clock.h"
#include "base/mask.h"
#include "store/db.h"
#include "store/directory.h"
#include "store/migrate.h"
#include "store/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MAX_NS (60 * NS_PER_S)
#define WAL_FRAMES_MAX 128 /* 512 KB: what the next process to open it must read */

enum err store_default_path(char *path, size_t size)
{
    const char *db = getenv("SONDE_DB"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length = -1;
    if (db && db[0])
        length = snprintf(path, size, "%s", db);
    else if (data && data[0] == '/')
        length = snprintf(path, size, "%s/sonde/sonde.db", data);
    else if (home && home[0])
        length = snprintf(path, size, "%s/.local/share/sonde/sonde.db", home);
    return length > 0 && (size_t)length < size ? OK : USAGE;
}

static int on_busy(void *context, int count)
{
    struct store *store = context;
    if (count == 0)
        store->busy_since_ns = clock_monotonic_ns();
    return db_wait(store, store->busy_since_ns, count);
}

static int on_commit(void *context, sqlite3 *db, const char *name, int frames)
{
    (void)db, (void)name;
    ((struct store *)context)->wal_frames = frames;
    return SQLITE_OK;
}

/* Created with mode 0600 from the start: command lines may contain secrets. */
static enum err create_file(struct store *store)
{
    enum err err = directory_create_parents(store->path);
    if (err == OK)
        err = directory_create_file(store->path);
    if (err == OK)
        return OK;
    return db_error(store, err, "cannot create the job database %s: %s. %s", store->path, err_text(err),
                    err == FULL ? "Free space on that disk, or choose another job database with SONDE_DB"
                              : "Choose a writable path with SONDE_DB");
}

static enum err check_file(struct store *store)
{
    struct stat status;
    if (stat(store->path, &status) == 0) {
        if (S_ISREG(status.st_mode))
            return OK;
        return db_error(store, USAGE, "the job database %s is not a file; choose a file with SONDE_DB", store->path);
    }
    if (errno == EACCES && store->mode == STORE_READ)
        return share_deny(store);
    if (errno != ENOENT && errno != ENOTDIR)
        return db_error(store, err_from_errno(errno), "cannot open the job database %s: %s. Choose a writable path with "
                        "SONDE_DB", store->path, strerror(errno));
    if (store->mode == STORE_WRITE)
        return create_file(store);
    return db_error(store, ABSENT, "no job database at %s yet; record a job with 'sonde run -- COMMAND'",
                    store->path);
}

static enum err connect(struct store *store, const char *name, int flags)
{
    if (sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return store->db ? db_fail(store, "open it") : NOMEM;
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_handler(store->db, on_busy, store);
    sqlite3_wal_hook(store->db, on_commit, store);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    return db_exec(store, "open it",
                   "PRAGMA synchronous = EXTRA; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY;");
}

/* SQLite treats ":memory:" and "file:…" specially; a leading directory makes the name an ordinary path. */
static const char *directory_prefix(const struct store *store)
{
    return store->path[0] == '/' ? "" : "./";
}

static enum err connect_path(struct store *store, int flags)
{
    char *name = sqlite3_mprintf("%s%s", directory_prefix(store), store->path);
    enum err err = name ? connect(store, name, flags) : NOMEM;
    sqlite3_free(name);
    return err;
}

/* The write-ahead log needs memory shared between processes of one node. On a file system shared between nodes (a home
 * directory on NFS or Lustre) it would be corrupted: there SQLite's rollback journal is used, where readers and writers
 * wait for one another. */
static enum err choose_journal_mode(struct store *store)
{
    return directory_is_shared(store->path) ? OK : db_exec(store, "enable the write-ahead log", "PRAGMA journal_mode = WAL");
}

/* A reader cannot migrate, but if the user may write, that can be done now. */
static enum err migrate_for_reader(struct store *store)
{
    struct store *writer;
    char *message;
    enum err err = store_open(&writer, store->url ? store->url : store->path, STORE_WRITE, &message);
    if (err != OK)
        db_error(store, err, "the job database %s was created by an older version of Sonde and cannot be upgraded: %s",
                 store->path, message ? message : err_text(err));
    free(message);
    store_close(&writer);
    return err;
}

static enum err check_version(struct store *store)
{
    int version;
    enum err err = migrate_version(store, &version);
    if (err != OK || version == migration_count)
        return err;
    if (store->mode == STORE_READ && version == 0)
        return db_error(store, ABSENT, "the job database %s is empty; record a job with 'sonde run -- COMMAND'",
                        store->path);
    if (version > migration_count)
        return migrate_newer_error(store, version, migration_count);
    if (store->mode == STORE_READ)
        return migrate_for_reader(store);
    if (version == 0 && !store->driver)
        err = choose_journal_mode(store);
    return err == OK ? migrate_up(store, migrations, migration_count) : err;
}

static enum err open_for_writing(struct store *store)
{
    enum err err = connect_path(store, SQLITE_OPEN_READWRITE);
    if (err == OK && sqlite3_db_readonly(store->db, "main"))
        return db_error(store, DENIED, "the job database %s is read-only. Make it writable, or choose another with SONDE_DB",
                        store->path);
    return err == OK ? check_version(store) : err;
}

/* The log is empty, or there is none. */
static bool log_is_empty(const struct store *store)
{
    char log[4096 + 8];
    struct stat status;
    snprintf(log, sizeof log, "%s-wal", store->path);
    return stat(log, &status) != 0 ? errno == ENOENT : status.st_size == 0;
}

/* The log cannot be created in this directory: read the file alone, which is complete if its log is empty. */
static enum err open_immutable(struct store *store)
{
    char *name = sqlite3_mprintf("file:%s%s?immutable=1", directory_prefix(store), store->path);
    if (!name)
        return NOMEM;
    sqlite3_close(store->db);
    store->db = NULL;
    enum err err = strpbrk(store->path, "?#%") ? DENIED : connect(store, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    sqlite3_free(name);
    return err == OK ? check_version(store) : err;
}

static enum err open_for_reading(struct store *store)
{
    if (access(store->path, R_OK) != 0 && errno == EACCES)
        return share_deny(store);
    enum err err = connect_path(store, SQLITE_OPEN_READONLY);
    if (err == OK)
        err = check_version(store);
    if (err == DENIED && access(store->path, R_OK) == 0 && log_is_empty(store))
        err = open_immutable(store);
    return err;
}

static enum err open_url(struct store *store)
{
    char error[512];
    enum err err = driver_load(store->url, &store->driver, error, sizeof error);
    if (err != OK)
        return db_error(store, err, "cannot open the job database %s: %s", store->path, error);
    err = store->driver->open(&store->connection, store->url);
    if (err != OK)
        return db_error(store, err, "cannot open the job database %s: %s", store->path,
                        store->connection ? store->driver->message(store->connection) : err_text(err));
    return check_version(store);
}

static enum err open_file(struct store *store)
{
    if (store->url)
        return open_url(store);
    enum err err = check_file(store);
    if (err != OK)
        return err;
    return store->mode == STORE_WRITE ? open_for_writing(store) : open_for_reading(store);
}

static void disconnect(struct store *store)
{
    sqlite3_close(store->db);
    store->db = NULL;
    if (store->connection)
        store->driver->close(&store->connection);
}

/* SQLite waits for most locks itself, but not for all. */
static enum err open_with_retries(struct store *store)
{
    uint64_t since_ns = clock_monotonic_ns();
    enum err err = open_file(store);
    for (int count = 0; err == AGAIN && db_wait(store, since_ns, count); count++) {
        disconnect(store);
        err = open_file(store);
    }
    return err;
}

static struct store *new_store(const char *path, enum store_mode mode)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    store->mode = mode;
    store->wait_max_ns = WAIT_MAX_NS;
    store->path = driver_is_url(path) ? mask_copy(path) : strdup(path);
    store->url = driver_is_url(path) ? strdup(path) : NULL;
    if (!store->path || (driver_is_url(path) && !store->url)) {
        store_close(&store);
        return NULL;
    }
    return store;
}

enum err store_open(struct store **store, const char *path, enum store_mode mode, char **message)
{
    char default_path[4096];
    *store = NULL;
    *message = NULL;
    if (!path && store_default_path(default_path, sizeof default_path) != OK) {
        *message = strdup("cannot locate the job database: SONDE_DB, XDG_DATA_HOME and HOME are not set; set SONDE_DB");
        return USAGE;
    }
    if (strcmp(path ? path : default_path, STORE_AGENT) == 0) {
        *message = strdup("'agent:' sends jobs to the agent and cannot be read; choose a job database with SONDE_DB");
        return USAGE;
    }
    struct store *opened = new_store(path ? path : default_path, mode);
    if (!opened)
        return NOMEM;
    enum err err = open_with_retries(opened);
    if (err == OK) {
        *store = opened;
        return OK;
    }
    *message = strdup(store_message(opened));
    store_close(&opened);
    return err;
}

void store_close(struct store **store)
{
    if (!*store)
        return;
    if ((*store)->wal_frames >= WAL_FRAMES_MAX)
        db_checkpoint(*store);
    disconnect(*store);
    free((*store)->path);
    free((*store)->url);
    free(*store);
    *store = NULL;
}

const char *store_message(const struct store *store)
{
    return store->message;
}
