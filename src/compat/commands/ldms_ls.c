/* ldms_ls: sonde ls with LDMS's options and names. Options about LDMS's transport and memory are accepted and
 * ignored. */
#include "compat/commands/drop_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ldms_ls {
    const char *host, *port;
    bool is_version;
};

static const char help[] =
    "usage: ldms_ls [-h HOST] [-p PORT] [-l] [-v] [-f json] [-E] [-S] [NAME...]\n"
    "\n"
    "  -h HOST  agent or collector of Sonde (default: the agent of this node)\n"
    "  -p PORT  (1337)\n"
    "  -l       print the values\n"
    "  -v       print a table: size, owner, time of the last sample\n"
    "  -f json  print everything as JSON\n"
    "  -E       names are regular expressions\n"
    "  -S       names are schemas; -I: instances, the default\n"
    "  -V       show the version\n"
    "\n"
    "  -a munge authenticate with munge; -A socket=PATH: its socket\n"
    "\n"
    "Accepted but ignored: -x, -w, -m, -u; -P is the same as -l.\n"
    "This is Sonde's replacement; see 'sonde ls --help' for more.\n";

/* -a none, -a munge; -A socket=PATH, of munged. */
static enum err translate_auth(int letter, struct drop_in_args *args, struct buf *message)
{
    static const char socket[] = "socket=";
    if (letter == 'A') {
        if (strncmp(optarg, socket, strlen(socket)) == 0)
            setenv("SONDE_MUNGE_SOCKET", optarg + strlen(socket), 1);
        return OK;
    }
    if (strcmp(optarg, "none") != 0 && strcmp(optarg, "munge") != 0) {
        buf_printf(message, "unsupported authentication '%.40s' (expected none or munge)", optarg);
        return USAGE;
    }
    drop_in_add(args, "--auth");
    drop_in_add(args, optarg);
    return OK;
}

static enum err translate_option(struct ldms_ls *ls, int letter, struct drop_in_args *args, struct buf *message)
{
    static const char flags[] = "lvES";
    char flag[] = { '-', (char)letter, '\0' };
    if (strchr(flags, letter))
        drop_in_add(args, flag);
    else if (letter == 'h')
        ls->host = optarg;
    else if (letter == 'p')
        ls->port = optarg;
    else if (letter == 'P')
        drop_in_add(args, "-l");
    else if (letter == 'V')
        ls->is_version = true;
    else if (letter == 'a' || letter == 'A')
        return translate_auth(letter, args, message);
    else if (letter == 'f' && strcmp(optarg, "json") == 0)
        drop_in_add(args, "--json");
    else if (letter == 'f') {
        buf_printf(message, "unknown format '%.40s' (expected json)", optarg);
        return USAGE;
    } else if (letter == '?') {
        buf_printf(message, "unknown option -%c, or its value is missing", optopt);
        return USAGE;
    }
    return OK;
}

static void add_address(const struct ldms_ls *ls, struct drop_in_args *args)
{
    char address[512];
    const char *host = ls->host ? ls->host : ls->port ? "localhost" : "";
    if (ls->port)
        snprintf(address, sizeof address, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, ls->port);
    else
        snprintf(address, sizeof address, "%s", host);
    drop_in_add(args, "--");
    if (*address)
        drop_in_add(args, address);
}

static enum err ldms_ls_translate(int argc, char **argv, struct drop_in_args *args, struct buf *message)
{
    struct ldms_ls ls = { 0 };
    enum err err = OK;
    int letter;
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return GONE;
    drop_in_add(args, "sonde");
    drop_in_add(args, "ls");
    drop_in_add(args, "--ldms");
    opterr = 0;
    while (!err && (letter = getopt(argc, argv, "h:p:x:w:m:f:ESIlvua:A:VP")) != -1)
        err = translate_option(&ls, letter, args, message);
    for (int i = optind; !err && i < argc; i++) {
        drop_in_add(args, "--name");
        drop_in_add(args, argv[i]);
    }
    if (ls.is_version) {
        drop_in_clear(args);
        drop_in_add(args, "sonde");
        drop_in_add(args, "--version");
    } else {
        add_address(&ls, args);
    }
    return err;
}

const struct drop_in drop_in_ldms_ls = { "ldms_ls", ldms_ls_translate, help };
