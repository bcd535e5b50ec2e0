/* The ELF note of Go executables, for one that is not: Go programs make system calls past libc. */
__asm__(".pushsection .note.go.buildid, \"a\", %note\n"
        ".balign 4\n"
        ".long 4, 4, 4\n"
        ".ascii \"Go\\0\\0\"\n"
        ".ascii \"none\"\n"
        ".popsection\n");
