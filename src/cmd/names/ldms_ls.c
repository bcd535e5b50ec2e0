/* ldms_ls -h HOST -p PORT -l -v …: sonde ls, with the names of LDMS. Options about LDMS's transport and memory have nothing
 * to do here and are passed over. */
#include "cmd/names/names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct ldms_ls {
    const char *host, *port;
    bool is_version;
};

static const char *const help = "ldms_ls [-h HOST] [-p PORT] [-l] [-v] [-f json] [-E] [-S] [-I] [NAME...]: "
                                "lists what an agent of Sonde holds; see 'sonde ls --help'";

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
    else if (letter == '?' || letter == 'd' || letter == 'f') {
        buf_add_text(message, help);
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
    names_add(words, "sonde");
    names_add(words, "ls");
    names_add(words, "--ldms");
    opterr = 0;
    while (!err && (letter = getopt(argc, argv, "h:p:x:w:m:f:ESIlvua:A:VPd")) != -1)
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

const struct names_entry names_ldms_ls = { "ldms_ls", ldms_ls_turn };
