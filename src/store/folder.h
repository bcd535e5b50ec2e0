/* The folder and the file of a new store, so that they survive a crash of the machine. */
#ifndef SONDE_STORE_FOLDER_H
#define SONDE_STORE_FOLDER_H

#include "base/err.h"

/* Makes the folders above path that are missing, with 0700. */
enum err folder_make_for(const char *path);

/* Makes an empty file with 0600; one that is there already is left as it is. */
enum err folder_make_file(const char *path);

#endif
