/* An empty library: the loader's minimum cost for any preloaded one. */
extern int empty_library;
int empty_library;
