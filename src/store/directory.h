/* Creates the directory and file of a new job database so that they survive a crash of the node. */
#ifndef SONDE_STORE_DIRECTORY_H
#define SONDE_STORE_DIRECTORY_H

#include "base/err.h"

#include <stdbool.h>

/* Creates the missing parent directories of path with mode 0700. */
enum err directory_create_parents(const char *path);

/* Creates an empty file with mode 0600; an existing one is left unchanged. */
enum err directory_create_file(const char *path);

/* Can other nodes have the file open too, judging by its file system type? */
bool directory_is_shared(const char *path);

/* The same for a type from statfs. Unknown types count as shared. */
bool directory_type_is_shared(long type);

#endif
