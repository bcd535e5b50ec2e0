/* The one list of ways in which a call can fail. Results come back by pointer; whoever decides logs, once. */
#ifndef SONDE_BASE_ERR_H
#define SONDE_BASE_ERR_H

enum err {
    OK = 0,
    AGAIN,   /* not now: try later */
    ABSENT,  /* the hardware, file or permission is not part of this machine */
    GONE,    /* it vanished between two reads: normal, silent */
    DENIED,
    FULL,    /* disk, buffer or table at its maximum */
    CORRUPT, /* bytes from outside that do not parse */
    IO,
    NOMEM,
    USAGE,   /* the caller or the user asked for something that makes no sense */
    NOFILES, /* no descriptor is left, of the process or of the machine */
};

/* Never NULL; a short lower-case phrase for messages: "permission denied". */
const char *err_text(enum err err);

/* Maps an errno value; 0 gives OK, what is not known gives IO. */
enum err err_from_errno(int number);

#endif
