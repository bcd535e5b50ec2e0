/* Where this program stands, and what was installed with it. Nothing is looked for at a fixed path, so that an installed
 * tree may be moved. */
#ifndef SONDE_BASE_INSTALL_PATHS_H
#define SONDE_BASE_INSTALL_PATHS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Absolute path of this executable. ABSENT, FULL. */
enum err self_path(char *path, size_t size);

/* Absolute path of a library that was installed with it: beside the executable, in the library folder of the same tree,
 * or in the build tree. ABSENT when it is in none of them, FULL when the path is longer than size. */
enum err self_find(const char *name, char *path, size_t size);

/* The same for a module; where $SONDE_MODULES names a folder, only there. */
enum err self_find_module(const char *name, char *path, size_t size);

/* A module exports one constant, which begins with numbers that tell its version: uint32_t each, another where it or what it is
 * handed has another layout. */
struct self_module {
    const char *file, *symbol; /* "wire-zmq.so", "sonde_zmq" */
    const uint32_t *marks;     /* the numbers as they are here */
    size_t mark_count;
    const char *hint;          /* said behind "is not installed"; NULL: nothing */
};

/* Loads it; it is never unloaded. ABSENT: there is no such file, or a library that it needs is not there; CORRUPT: it is of
 * another version of Sonde. why, when it is not NULL, gets a sentence that names the file. */
enum err self_load_module(const struct self_module *module, const void **constant, char *why, size_t why_size);

/* The probe library. */
enum err self_find_probe(char *path, size_t size);
enum err self_find_mpi_probe(char *path, size_t size);
enum err self_find_calls_probe(char *path, size_t size); /* the one for system calls through libc */

/* Gives back the pages of code and constants, the libraries' too: they stay in the kernel's cache, and those that are
 * still needed come back when they are touched, 64 KB at a time. For the moment when another part of the program begins,
 * and one that needs memory. */
void self_forget_code(void);

#endif
