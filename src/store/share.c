/* Read access for a group. SQLite creates the log and its index with the mode of the database but not always with its
 * group, so all three files are changed. */
#include "store/share.h"

#include "store/db.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define NAME_SIZE 256
#define ENTRY_SIZE 4096
#define ENTRY_MAX (8u << 20) /* a group may have many members */
#define MODE 0640

/* Finds a group by name, or by id if the name is ""; fills in the other. */
static enum err find_group(char name[NAME_SIZE], gid_t *gid)
{
    int number = ERANGE;
    struct group entry, *found = NULL;
    for (size_t size = ENTRY_SIZE; number == ERANGE && size <= ENTRY_MAX; size *= 4) {
        char *text = malloc(size);
        if (!text)
            return NOMEM;
        number = *name ? getgrnam_r(name, &entry, text, size, &found) : getgrgid_r(*gid, &entry, text, size, &found);
        if (found) {
            snprintf(name, NAME_SIZE, "%s", found->gr_name);
            *gid = found->gr_gid;
        }
        free(text);
    }
    return found ? OK : number ? err_from_errno(number) : ABSENT;
}

enum err share_group(const char *name, gid_t *gid)
{
    char copy[NAME_SIZE];
    return !*name || snprintf(copy, sizeof copy, "%s", name) >= (int)sizeof copy ? ABSENT : find_group(copy, gid);
}

/* A log that does not exist yet will be created like the database. */
static enum err share_file(const char *path, gid_t gid)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return errno == ENOENT ? OK : err_from_errno(errno);
    if (facts.st_gid != gid && chown(path, (uid_t)-1, gid) != 0)
        return err_from_errno(errno);
    return (facts.st_mode & 0777) == MODE || chmod(path, MODE) == 0 ? OK : err_from_errno(errno);
}

static enum err check_directory(struct store *store, const char *group, gid_t gid)
{
    char directory[PATH_SIZE];
    struct stat facts;
    const char *slash = strrchr(store->path, '/');
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - store->path) : 1, slash ? store->path : ".");
    bool is_known = stat(directory[0] ? directory : "/", &facts) == 0;
    if (!is_known || facts.st_mode & S_IXOTH || (facts.st_gid == gid && facts.st_mode & S_IXGRP))
        return OK;
    return db_error(store, DENIED, "group %s may read the job database %s but not enter its directory; run: chgrp %s %s && "
                    "chmod g+x %s", group, store->path, group, directory, directory);
}

enum err share_with(struct store *store, const char *group)
{
    static const char *const suffixes[] = { "", "-wal", "-shm" };
    char path[PATH_SIZE];
    gid_t gid;
    enum err err = share_group(group, &gid);
    if (err)
        return db_error(store, err, "unknown group %s for the job database %s; create it with: groupadd --system %s", group,
                        store->path, group);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !err; i++) {
        snprintf(path, sizeof path, "%s%s", store->path, suffixes[i]);
        err = share_file(path, gid);
    }
    if (err)
        return db_error(store, err, "cannot give group %s read access to the job database %s: %s. This process must own "
                        "the file and be in the group (systemd: SupplementaryGroups=%s)",
                        group, store->path, err_text(err), group);
    return check_directory(store, group, gid);
}

enum err share_deny(struct store *store)
{
    struct stat facts;
    char group[NAME_SIZE] = "", text[ENTRY_SIZE];
    struct passwd entry, *user = NULL;
    if (stat(store->path, &facts) != 0 || !(facts.st_mode & S_IRGRP))
        return db_error(store, DENIED, "you may not read the job database %s: only its owner may. Ask the owner to share it "
                        "with a group (sink = store:group=NAME of sonde collect), or choose your own with SONDE_DB", store->path);
    if (find_group(group, &facts.st_gid))
        snprintf(group, sizeof group, "%u", (unsigned)facts.st_gid);
    getpwuid_r(getuid(), &entry, text, sizeof text, &user);
    return db_error(store, DENIED, "you may not read the job database %s: its group %s may. Ask an administrator to run: "
                    "usermod -aG %s %s, then log in again", store->path, group, group, user ? user->pw_name : "YOU");
}
