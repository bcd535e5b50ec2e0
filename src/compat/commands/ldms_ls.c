/* ldms_ls -h HOST -p PORT -l -v …: sonde ls, with the names of LDMS. Options about LDMS's transport and memory have nothing
 * to do here and are passed over. */
#include "compat/commands/names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct ldms_ls {
    const char *host, *port;
    bool is_version;
};

static const char help[] =
    "usage: ldms_ls [-h HOST] [-p PORT] [-l] [-v] [-f json] [-E] [-S] [NAME...]\n"
    "\n"
    "  -h HOST  an agent or a collector of Sonde (the agent of this node)\n"
    "  -p PORT  (1337)\n"
    "  -l       show the values\n"
    "  -v       show a table: size, owner, time of the newest reading\n"
    "  -f json  all of it as JSON\n"
    "  -E       names are regular expressions\n"
    "  -S       names are those of schemas; -I of instances, as without it\n"
    "  -V       show the version\n"
    "\n"
    "Taken and not needed: -x, -w, -m, -a, -A, -u; -P is as -l.\n"
    "This is Sonde's; see 'sonde ls --help' for more.\n";

/* One option. */
static enum err turn_option(struct ldms_ls *ls, int letter, struct names_words *words, struct buf *message)
{
    static const char flags[] = "lvES";
    char flag[] = { '-', (char)letter, '\0' };
    if (strchr(flags, letter))
        names_add(words, flag);
    else if (letter == 'h')
        ls->host = optarg;
    else if (letter == 'p')
        ls->port = optarg;
    else if (letter == 'P')
        names_add(words, "-l");
    else if (letter == 'V')
        ls->is_version = true;
    else if (letter == 'f' && strcmp(optarg, "json") == 0)
        names_add(words, "--json");
    else if (letter == 'f') {
        buf_printf(message, "-f %.40s is not known: json is", optarg);
        return USAGE;
    } else if (letter == '?') {
        buf_printf(message, "-%c is not known, or its value is missing", optopt);
        return USAGE;
    }
    return OK;
}

static void add_where(const struct ldms_ls *ls, struct names_words *words)
{
    char where[512];
    const char *host = ls->host ? ls->host : ls->port ? "localhost" : "";
    if (ls->port)
        snprintf(where, sizeof where, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, ls->port);
    else
        snprintf(where, sizeof where, "%s", host);
    names_add(words, "--");
    if (*where)
        names_add(words, where);
}

static enum err ldms_ls_turn(int argc, char **argv, struct names_words *words, struct buf *message)
{
    struct ldms_ls ls = { 0 };
    enum err err = OK;
    int letter;
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return GONE;
    names_add(words, "sonde");
    names_add(words, "ls");
    names_add(words, "--ldms");
    opterr = 0;
    while (!err && (letter = getopt(argc, argv, "h:p:x:w:m:f:ESIlvua:A:VP")) != -1)
        err = turn_option(&ls, letter, words, message);
    for (int i = optind; !err && i < argc; i++) {
        names_add(words, "--name");
        names_add(words, argv[i]);
    }
    if (ls.is_version) {
        names_clear(words);
        names_add(words, "sonde");
        names_add(words, "--version");
    } else {
        add_where(&ls, words);
    }
    return err;
}

const struct names_entry names_ldms_ls = { "ldms_ls", ldms_ls_turn, help };
