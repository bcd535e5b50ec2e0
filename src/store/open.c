/* Opens and closes the job database: makes it where it is missing, waits while others use it, and says in a sentence why
 * it cannot be had. */
#include "store/store.h"

#include "base/clock.h"
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
#define WAL_FRAMES_MAX 128 /* 512 KB: what the next one to open has to read */

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

/* Not even at its size of 0 may the file be read by others: arguments tell secrets. */
static enum err make_file(struct store *store)
{
    enum err err = folder_make_for(store->path);
    if (err == OK)
        err = folder_make_file(store->path);
    if (err == OK)
        return OK;
    return db_say(store, err, "cannot make the store %s: %s. %s", store->path, err_text(err),
                  err == FULL ? "Make room on that disk, or name another store with SONDE_DB"
                              : "Name a file that you may make with SONDE_DB");
}

static enum err check_file(struct store *store)
{
    struct stat status;
    if (stat(store->path, &status) == 0) {
        if (S_ISREG(status.st_mode))
            return OK;
        return db_say(store, USAGE, "the store %s is not a file. Name a file with SONDE_DB", store->path);
    }
    if (errno == EACCES && store->mode == STORE_READ)
        return share_deny(store);
    if (errno != ENOENT && errno != ENOTDIR)
        return db_say(store, err_from_errno(errno), "cannot open the store %s: %s. Name a file that you may make with SONDE_DB",
                      store->path, strerror(errno));
    if (store->mode == STORE_WRITE)
        return make_file(store);
    return db_say(store, ABSENT, "there is no store %s yet: no job has been filed. Watch something: sonde run -- COMMAND",
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

/* For SQLite ":memory:" is no file, and "file:…" may be a URL: with a folder before it a name is nothing but a path. */
static const char *folder_before(const struct store *store)
{
    return store->path[0] == '/' ? "" : "./";
}

static enum err connect_path(struct store *store, int flags)
{
    char *name = sqlite3_mprintf("%s%s", folder_before(store), store->path);
    enum err err = name ? connect(store, name, flags) : NOMEM;
    sqlite3_free(name);
    return err;
}

/* The write-ahead log lives in memory that the processes of one machine share. In a folder that several machines share
 * (a home on NFS or Lustre) it would be torn: there SQLite's older way is kept, in which readers and writers wait for
 * one another. */
static enum err choose_log(struct store *store)
{
    return folder_is_shared(store->path) ? OK : db_exec(store, "begin a log", "PRAGMA journal_mode = WAL");
}

/* A reader cannot migrate, but whoever may write can do so at once. */
static enum err migrate_for_reader(struct store *store)
{
    struct store *writer;
    char *message;
    enum err err = store_open(&writer, store->url ? store->url : store->path, STORE_WRITE, &message);
    if (err != OK)
        db_say(store, err, "the store %s is of an older Sonde and could not be brought up to date: %s", store->path,
               message ? message : err_text(err));
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
        return db_say(store, ABSENT, "the store %s is empty: no job has been filed. Watch something: sonde run -- COMMAND",
                      store->path);
    if (version > migration_count)
        return migrate_say_newer(store, version, migration_count);
    if (store->mode == STORE_READ)
        return migrate_for_reader(store);
    if (version == 0 && !store->driver)
        err = choose_log(store);
    return err == OK ? migrate_up(store, migrations, migration_count) : err;
}

static enum err open_for_writing(struct store *store)
{
    enum err err = connect_path(store, SQLITE_OPEN_READWRITE);
    if (err == OK && sqlite3_db_readonly(store->db, "main"))
        return db_say(store, DENIED, "the store %s is read-only. Allow writing to it, or name another store with SONDE_DB",
                      store->path);
    return err == OK ? check_version(store) : err;
}

/* Nothing is in the log, or there is none. */
static bool log_is_empty(const struct store *store)
{
    char log[4096 + 8];
    struct stat status;
    snprintf(log, sizeof log, "%s-wal", store->path);
    return stat(log, &status) != 0 ? errno == ENOENT : status.st_size == 0;
}

/* A folder in which the log cannot be made: the file alone is read, as long as it is whole without its log. */
static enum err open_alone(struct store *store)
{
    char *name = sqlite3_mprintf("file:%s%s?immutable=1", folder_before(store), store->path);
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
        err = open_alone(store);
    return err;
}

static enum err open_url(struct store *store)
{
    char why[512];
    enum err err = driver_load(store->url, &store->driver, why, sizeof why);
    if (err != OK)
        return db_say(store, err, "cannot open the store %s: %s", store->path, why);
    err = store->driver->open(&store->link, store->url);
    if (err != OK)
        return db_say(store, err, "cannot open the store %s: %s", store->path,
                      store->link ? store->driver->message(store->link) : err_text(err));
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
    if (store->link)
        store->driver->close(&store->link);
}

/* SQLite waits for most locks by itself, but not for all. */
static enum err open_patiently(struct store *store)
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
    store->path = strdup(path);
    store->url = driver_is_url(path) ? strdup(path) : NULL;
    if (!store->path || (driver_is_url(path) && !store->url)) {
        store_close(&store);
        return NULL;
    }
    if (store->url)
        driver_url_mask(store->path);
    return store;
}

enum err store_open(struct store **store, const char *path, enum store_mode mode, char **message)
{
    char default_path[4096];
    *store = NULL;
    *message = NULL;
    if (!path && store_default_path(default_path, sizeof default_path) != OK) {
        *message = strdup("cannot tell where the store is: SONDE_DB, XDG_DATA_HOME and HOME are not set. Set SONDE_DB");
        return USAGE;
    }
    if (strcmp(path ? path : default_path, STORE_AGENT) == 0) {
        *message = strdup("'agent:' is where sonde run hands jobs over, not a store. Name the one to read with SONDE_DB");
        return USAGE;
    }
    struct store *opened = new_store(path ? path : default_path, mode);
    if (!opened)
        return NOMEM;
    enum err err = open_patiently(opened);
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
