/* A pid alone says little: it is given away again, and exec makes another program of the same process. */
#include "sample/board_process.h"

#include "base/file.h"
#include "base/scan.h"

#include <stdio.h>
#include <sys/stat.h>

/* GONE: there is no such process, or nothing but its name is left. */
static enum err start_ticks(const struct board_facts *facts, const char *root, uint64_t *ticks)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)facts->pid);
    enum err err = file_read(root, path, text, sizeof text, NULL);
    if (err)
        return err == ABSENT ? GONE : err;
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return CORRUPT;
    char state = at[2];
    for (int blanks = 0; *at && blanks < 20; at++)
        blanks += *at == ' ';
    if (state == 'Z' || state == 'X')
        return GONE;
    return scan_u64(&at, ticks) ? OK : CORRUPT;
}

static bool has_other_program(const struct board_facts *facts, const char *root)
{
    char path[64], whole[FILE_PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)facts->pid);
    if (!facts->exe_inode || file_path(whole, root, path) || stat(whole, &st))
        return false; /* it is not ours to see */
    return st.st_dev != facts->exe_device || st.st_ino != facts->exe_inode;
}

bool board_process_is_gone(const struct board_facts *facts, const char *root)
{
    uint64_t ticks = 0;
    if (facts->pid <= 0)
        return true;
    enum err err = start_ticks(facts, root, &ticks);
    if (err)
        return err == GONE;
    return (facts->start_ticks && ticks != facts->start_ticks) || has_other_program(facts, root);
}
