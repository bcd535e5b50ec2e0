/* The folder and the file of a new store, so that they survive a crash of the machine. */
#ifndef SONDE_STORE_DIRECTORY_H
#define SONDE_STORE_DIRECTORY_H

#include "base/err.h"

#include <stdbool.h>

/* Makes the folders above path that are missing, with 0700. */
enum err folder_make_for(const char *path);

/* Makes an empty file with 0600; one that is there already is left as it is. */
enum err folder_make_file(const char *path);

/* Whether other machines may have the file open too, by the type of its file system. */
bool folder_is_shared(const char *path);

/* The same of a type as statfs tells it. What is not known to be local is shared. */
bool folder_type_is_shared(long type);

#endif
