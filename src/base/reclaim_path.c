/* unlink and rename do not follow symbolic links. */
#include "base/reclaim_path.h"

#include "base/file.h"
#include "base/log.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool reclaim_path(const char *path)
{
    struct stat there;
    char aside[FILE_PATH_MAX];
    if (geteuid() != 0 || lstat(path, &there) < 0 || there.st_uid == 0)
        return false;
    unsigned uid = there.st_uid;
    bool is_directory = S_ISDIR(there.st_mode);
    if (snprintf(aside, sizeof aside, "%s-of-%u-%lld", path, uid, (long long)time(NULL)) >= FILE_PATH_MAX
        || (is_directory ? rename(path, aside) : unlink(path)) < 0)
        return false;
    log_warn("%s had been created by user %u and was %s%s", path, uid, is_directory ? "renamed to " : "removed",
             is_directory ? aside : "");
    return true;
}
