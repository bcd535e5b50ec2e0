#!/usr/bin/env python3
"""The rules of the house that a compiler does not know, each one a test in TAP: rules.py ROOT.

A place that breaks a rule for a good reason stands in ROOT/tests/house/allowed: rule, place, reason."""
import re
import sys
from pathlib import Path

# A directory includes only from those before it. "src/compat" holds formats that others read and write, and, last, the
# commands of other tools, which are made of ours.
ORDER = ["base", "net", "model", "spool", "journal", "transport", "proc", "jobs", "syscalls", "samplers", "appmetrics", "store",
         "compat/ldms", "compat/colmet", "compat/tau", "sinks", "api", "probe", "run", "merge", "agent", "collector", "analysis",
         "report", "doctor", "cli", "compat/commands", "main.c"]
BANNED = {  # what is called, and what to call in its place
    "gets": "read", "strcpy": "snprintf or buf_add", "strcat": "buf_add", "strncpy": "memcpy", "strncat": "buf_add",
    "sprintf": "snprintf", "vsprintf": "vsnprintf", "scanf": "parse by hand", "fscanf": "parse by hand",
    "sscanf": "parse by hand", "vsscanf": "parse by hand", "fopen": "open and pread", "popen": "posix_spawn",
    "system": "posix_spawn", "strtok": "a loop", "tmpnam": "mkstemp", "tempnam": "mkstemp", "mktemp": "mkstemp",
    "alloca": "a buffer with a maximum", "atoi": "strtoul with its end looked at", "atol": "strtoul", "atof": "strtod",
    "rand": "getrandom", "gmtime": "gmtime_r", "localtime": "localtime_r",
    "asctime": "strftime", "ctime": "strftime", "bcopy": "memmove", "abort": "return an error",
}
FILE_LINES, FUNCTION_LINES, LINE_WIDTH = 500, 60, 130  # we write for 120; a few more do no harm


def sources(root, *folders):
    return sorted(f for folder in folders for f in (root / folder).rglob("*.[ch]"))


def without_comments(text):
    """Comments and the inside of strings become blanks; lines stay where they are."""
    def blank(match):
        return "".join("\n" if c == "\n" else " " for c in match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def directory_of(path):
    """The directory of a path below src that has a place in ORDER: the longest one."""
    found = [name for name in ORDER if path == name or path.startswith(name + "/")]
    return max(found, key=len, default=None)


def check_includes(root):
    for file in sources(root, "src"):
        own = directory_of(file.relative_to(root / "src").as_posix())
        for number, line in enumerate(file.read_text().split("\n"), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not found:
                continue
            other = directory_of(found.group(1))
            if other is None:
                yield file, number, f'"{found.group(1)}": name it as "directory/file.h"'
            elif own is None:
                yield file, number, f"its directory is missing in ORDER of {Path(__file__).name}"
            elif ORDER.index(other) > ORDER.index(own):
                yield file, number, f"{own} must not include from {other}"


def check_own_header_first(root):
    for file in sources(root, "src"):
        if file.suffix != ".c" or not file.with_suffix(".h").exists():
            continue
        own = file.with_suffix(".h").relative_to(root / "src").as_posix()
        first = re.search(r'^\s*#\s*include\s+["<]([^">]+)', file.read_text(), re.M)
        if not first or first.group(1) != own:
            yield file, 1, f'its first include is not "{own}"'


def check_banned(root):
    names = "|".join(BANNED)
    for file in sources(root, "src"):
        folder = file.relative_to(root / "src").parts[0]
        for number, line in enumerate(without_comments(file.read_text()).split("\n"), 1):
            for name in re.findall(rf"\b({names})\s*\(", line):
                yield file, number, f"{name}: use {BANNED[name]}"
            if folder not in ("cli", "main.c") and re.search(r"(?<![\w>.])exit\s*\(", line):
                yield file, number, "exit: only in cli/"


def functions(text):
    """(name, first line, lines) of each function, by the style: braces at the start of a line."""
    begin = name = None
    for number, line in enumerate(text.split("\n"), 1):
        head = re.match(r"(?!#)[A-Za-z_].*?(\w+)\s*\(", line)
        if head and begin is None:
            name, head_line = head.group(1), number
        if line.startswith("{") and name:
            begin = head_line
        if line.startswith("}") and begin is not None:
            yield name, begin, number - begin + 1
            begin = name = None


def check_lengths(root):
    for file in sources(root, "src", "tests"):
        text = file.read_text()
        lines = text.count("\n")
        if lines > FILE_LINES:
            yield file, lines, f"{lines} lines, more than {FILE_LINES}"
        for name, begin, count in functions(without_comments(text)):
            if count > FUNCTION_LINES:
                yield file, begin, f"{name} has {count} lines, more than {FUNCTION_LINES}"


def check_width(root):
    for file in sources(root, "src", "tests"):
        for number, line in enumerate(file.read_text().split("\n"), 1):
            if len(line) > LINE_WIDTH:
                yield file, number, f"{len(line)} characters wide, more than {LINE_WIDTH}"
            if "\t" in line or line != line.rstrip():
                yield file, number, "a tab, or blanks at the end"


def check_opening(root):
    for file in sources(root, "src", "tests"):
        if not file.read_text().startswith("/*"):
            yield file, 1, "does not begin with a comment that says what it is"


def check_documents(root):
    """Files that documents name: src/… anywhere, and the targets of links."""
    for file in sorted([*root.glob("*.md"), *root.glob("docs/*.md")]):
        for number, line in enumerate(file.read_text().split("\n"), 1):
            for name in re.findall(r"`((?:src|tests|tools|bench|docs)/[\w./-]+)`", line):
                if "NAME" not in name and not (root / name).exists():
                    yield file, number, f"{name} is not there"
            for name in re.findall(r"\]\((?!https?:)([^)#]+)", line):
                if not (file.parent / name).exists():
                    yield file, number, f"the link to {name} leads nowhere"


def check_scenes(root):
    """bash lets a test go on behind "! a" and behind "a && b" of which a fails, unless it is the last line of a function."""
    for file in sorted([*root.glob("tests/*/*.bats"), *root.glob("tests/*/*.bash")]):
        lines = file.read_text().split("\n")
        for number, (line, after) in enumerate(zip(lines, lines[1:]), 1):
            is_unheard = re.match(r"\s+!\s", line) or re.match(r"\s+\[\[? .* \]\]? && \[", line)
            is_let = re.search(r"\|\|", line) or re.search(r"&& (break|continue|return)\b", line)
            if is_unheard and not is_let and after != "}":
                yield file, number, "its failure is not heard: \"run ! …\" in place of \"! …\", two lines in place of \"… && …\""


RULES = [
    ("includes", check_includes, "folders include only from the folders before them"),
    ("own-header", check_own_header_first, "a file includes its own header first"),
    ("banned", check_banned, "no call that the house has banned"),
    ("lengths", check_lengths, "files and functions are short"),
    ("width", check_width, "lines are not too wide and end without blanks"),
    ("opening", check_opening, "every file begins by saying what it is"),
    ("documents", check_documents, "documents name files that are there"),
    ("scenes", check_scenes, "a line of a scene that fails is heard"),
]


def allowed(root):
    listed = root / "tests/house/allowed"
    lines = listed.read_text().split("\n") if listed.exists() else []
    return {tuple(line.split(None, 2)[:2]) for line in lines if len(line.split(None, 2)) == 3 and line[0] != "#"}


def main():
    root = Path(sys.argv[1])
    excused, failed = allowed(root), 0
    print(f"1..{len(RULES)}")
    for place, (rule, check, meaning) in enumerate(RULES, 1):
        found = [(file.relative_to(root).as_posix(), number, what) for file, number, what in check(root)]
        found = [f for f in found if (rule, f[0]) not in excused]
        failed += bool(found)
        print(f"{'not ' if found else ''}ok {place} - {meaning}")
        for file, number, what in found:
            print(f"# {file}:{number}: {what}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
