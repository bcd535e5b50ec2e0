/* A pid alone says little: it is given away again, and exec makes another program of the same process. */
#include "appmetrics/segment_process.h"

#include "base/file.h"
#include "base/scan.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The blank-parted fields behind the name, which begin with the state, the third. */
static const char *field_of(const char *behind_name, int field)
{
    for (int at = 2; behind_name && at < field; at++)
        behind_name = strchr(behind_name + 1, ' ');
    return behind_name ? behind_name + 1 : "";
}

/* GONE: there is no such process, or nothing but its name is left. That its first thread has ended is not enough: others may
 * go on, and then it stays a zombie until they end. */
static enum err start_ticks(const struct segment_info *facts, const char *root, uint64_t *ticks)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)facts->pid);
    enum err err = file_read(root, path, text, sizeof text, NULL);
    if (err)
        return err == ABSENT ? GONE : err;
    uint64_t threads;
    const char *behind = strrchr(text, ')'), *state = field_of(behind, 3), *count = field_of(behind, 20);
    const char *start = field_of(behind, 22);
    if (!scan_u64(&count, &threads))
        return CORRUPT;
    if ((*state == 'Z' && threads <= 1) || *state == 'X')
        return GONE;
    return scan_u64(&start, ticks) ? OK : CORRUPT;
}

static bool has_other_program(const struct segment_info *facts, const char *root)
{
    char path[64], whole[FILE_PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)facts->pid);
    if (!facts->exe_inode || file_path(whole, root, path) || stat(whole, &st))
        return false; /* it is not ours to see */
    return st.st_dev != facts->exe_device || st.st_ino != facts->exe_inode;
}

bool process_is_gone(const struct segment_info *facts, const char *root)
{
    uint64_t ticks = 0;
    if (facts->pid <= 0)
        return true;
    enum err err = start_ticks(facts, root, &ticks);
    if (err)
        return err == GONE;
    return (facts->start_ticks && ticks != facts->start_ticks) || has_other_program(facts, root);
}
