/* Only what belongs to this user, is a segment or the directory of a run by name and by content, and is used by
 * nobody. */
#include "appmetrics/segment_leftovers.h"

#include "base/file.h"
#include "appmetrics/segment_dir.h"
#include "appmetrics/segment_claim.h"
#include "appmetrics/segment_reader.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Its process has ended. */
static bool is_left_segment(const char *path, uint64_t *bytes)
{
    struct segment_reader *reader;
    if (segment_reader_open(&reader, path) != OK)
        return false;
    bool is_left = segment_reader_is_finished(reader, "");
    *bytes = segment_reader_info(reader)->bytes;
    segment_reader_close(&reader);
    return is_left;
}

static bool is_left_run(const char *path, const char *name)
{
    struct segment_dir *dir;
    if (segment_dir_open(&dir, path, name, -1) != OK)
        return false;
    bool is_left = segment_dir_is_abandoned(dir);
    segment_dir_close(&dir, -1);
    return is_left;
}

/* What a run has left to an agent, which has stopped, is not needed by sonde submit. */
static bool is_old(const char *name, uint64_t age_s, uint64_t old_s)
{
    return age_s >= old_s || begins(name, SEGMENT_FROM_RUN);
}

static void check(const char *path, const char *name, bool may_remove, struct segment_leftovers *leftovers)
{
    uint64_t bytes = 0;
    bool is_run = begins(name, SEGMENT_RUN_PREFIX);
    if (is_run ? !is_left_run(path, name) : !is_left_segment(path, &bytes))
        return;
    leftovers->count++;
    leftovers->bytes += bytes;
    if (!may_remove)
        return;
    if (is_run)
        segment_dir_delete(path);
    else
        unlink(path);
    leftovers->removed += access(path, F_OK) != 0;
}

void segment_leftovers_find(const char *dir, uint64_t old_s, bool may_remove, struct segment_leftovers *leftovers)
{
    char path[FILE_PATH_MAX];
    struct stat st;
    time_t now = time(NULL);
    DIR *stream = opendir(dir);
    *leftovers = (struct segment_leftovers){ .is_claimed = segment_claim_is_held(dir, "") };
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        const char *name = entry->d_name;
        if (!begins(name, SEGMENT_PREFIX) && !begins(name, SEGMENT_RUN_PREFIX))
            continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path || lstat(path, &st) != 0
            || st.st_uid != geteuid() || st.st_mtime > now || !is_old(name, (uint64_t)(now - st.st_mtime), old_s))
            continue;
        check(path, name, may_remove && !leftovers->is_claimed, leftovers);
    }
    if (stream)
        closedir(stream);
}
