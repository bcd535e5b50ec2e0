/* SQLite makes the log and its index with the mode of the database, but not always with its group: so all three are seen to. */
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

/* By its name, or, where that is "", by its number; fills in the other. */
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

/* A log that is not there yet is made like the database. */
static enum err share_file(const char *path, gid_t gid)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return errno == ENOENT ? OK : err_from_errno(errno);
    if (facts.st_gid != gid && chown(path, (uid_t)-1, gid) != 0)
        return err_from_errno(errno);
    return (facts.st_mode & 0777) == MODE || chmod(path, MODE) == 0 ? OK : err_from_errno(errno);
}

static enum err check_folder(struct store *store, const char *group, gid_t gid)
{
    char folder[PATH_SIZE];
    struct stat facts;
    const char *slash = strrchr(store->path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - store->path) : 1, slash ? store->path : ".");
    bool is_known = stat(folder[0] ? folder : "/", &facts) == 0;
    if (!is_known || facts.st_mode & S_IXOTH || (facts.st_gid == gid && facts.st_mode & S_IXGRP))
        return OK;
    return db_say(store, DENIED, "the group %s may read the store %s, but not enter its folder: chgrp %s %s && chmod g+x %s",
                  group, store->path, group, folder, folder);
}

enum err share_with(struct store *store, const char *group)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    char path[PATH_SIZE];
    gid_t gid;
    enum err err = share_group(group, &gid);
    if (err)
        return db_say(store, err, "there is no group %s that could read the store %s: groupadd --system %s", group, store->path,
                      group);
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !err; i++) {
        snprintf(path, sizeof path, "%s%s", store->path, ends[i]);
        err = share_file(path, gid);
    }
    if (err)
        return db_say(store, err, "the group %s cannot be let read the store %s: %s. Whoever runs this must own the store and be "
                      "in the group; under systemd: SupplementaryGroups=%s", group, store->path, err_text(err), group);
    return check_folder(store, group, gid);
}

enum err share_deny(struct store *store)
{
    struct stat facts;
    char group[NAME_SIZE] = "", text[ENTRY_SIZE];
    struct passwd entry, *user = NULL;
    if (stat(store->path, &facts) != 0 || !(facts.st_mode & S_IRGRP))
        return db_say(store, DENIED, "you may not read the store %s: it is its owner's alone. Ask the owner to let a group read "
                      "it (sink = store:group=NAME of sonde collect), or name your own with SONDE_DB", store->path);
    if (find_group(group, &facts.st_gid))
        snprintf(group, sizeof group, "%u", (unsigned)facts.st_gid);
    getpwuid_r(getuid(), &entry, text, sizeof text, &user);
    return db_say(store, DENIED, "you may not read the store %s: its group %s may. Ask whoever looks after this machine: "
                  "usermod -aG %s %s, then log in anew", store->path, group, group, user ? user->pw_name : "YOU");
}
