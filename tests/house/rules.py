#!/usr/bin/env python3
"""Rules of this project that a compiler does not check, each one a test in TAP: rules.py ROOT.

A place that breaks a rule for a good reason is listed in ROOT/tests/house/allowed: rule, place, reason."""
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
FILE_LINES, FUNCTION_LINES, LINE_WIDTH = 800, 60, 130  # most files stay under 500 lines, most lines under 120 columns


def sources(root, *directories):
    return sorted(f for directory in directories for f in (root / directory).rglob("*.[ch]"))


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
        directory = file.relative_to(root / "src").parts[0]
        for number, line in enumerate(without_comments(file.read_text()).split("\n"), 1):
            for name in re.findall(rf"\b({names})\s*\(", line):
                yield file, number, f"{name}: use {BANNED[name]}"
            if directory not in ("cli", "main.c") and re.search(r"(?<![\w>.])exit\s*\(", line):
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
    for file in sorted([*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("src/**/README.md")]):
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
            is_ignored = re.match(r"\s+!\s", line) or re.match(r"\s+\[\[? .* \]\]? && \[", line)
            is_let = re.search(r"\|\|", line) or re.search(r"&& (break|continue|return)\b", line)
            if is_ignored and not is_let and after != "}":
                yield file, number, "its failure is ignored: write \"run ! …\" instead of \"! …\", two lines instead of \"… && …\""


def string_literals(text):
    """(line, string) of each string literal outside of comments and #include."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|\'(?:\\.|[^\'\\\n])+\'|(#\s*include[^\n]*)|"((?:\\.|[^"\\\n])*)"', re.S)
    for match in pattern.finditer(text):
        if match.group(2):
            yield text.count("\n", 0, match.start()) + 1, match.group(2)


def word_list(root, name):
    """(word, replacement) of each line of a list in tests/house."""
    listed = root / "tests/house" / name
    for line in listed.read_text().split("\n") if listed.exists() else []:
        parts = re.split(r"\s{2,}", line.strip(), maxsplit=1)
        if line.strip() and not line.startswith("#"):
            yield parts[0], parts[1]


def check_tags(root):
    """One layout per struct, union or enum tag, so that a name means one thing wherever it is read."""
    first = {}
    for file in (f for f in sources(root, "src") if not f.name.endswith(".bpf.c")):  # there tags are the kernel's
        for number, line in enumerate(without_comments(file.read_text()).split("\n"), 1):
            found = re.match(r"\s*(?:static |const |typedef )*((?:struct|union|enum) \w+)\s*\{", line)
            if not found:
                continue
            tag = found.group(1)
            if tag in first:
                yield file, number, f"{tag} is defined in {first[tag]} too: name what this one is"
            else:
                first[tag] = file.relative_to(root).as_posix()


def check_identifiers(root):
    banned = dict(word_list(root, "identifiers"))
    for file in sources(root, "src"):
        reported = set()
        for number, line in enumerate(without_comments(file.read_text()).split("\n"), 1):
            for name in re.findall(r"\b[A-Za-z_]\w+\b", line):
                words = [word for word in name.lower().split("_") if word in banned]
                if words and name not in reported and "#include" not in line:
                    reported.add(name)
                    yield file, number, f"{name}: instead of {words[0]} write {banned[words[0]]}"
        words = [word for word in re.split(r"[_.]", file.name) if word in banned]
        if words:
            yield file, 1, f"the file name: instead of {words[0]} write {banned[words[0]]}"


def check_phrases(root):
    banned = [(re.compile(expression, re.I), instead) for expression, instead in word_list(root, "phrases")]
    for file in sources(root, "src"):
        for number, text in string_literals(file.read_text()):
            for expression, instead in banned:
                found = expression.search(text)
                if found and " " in text.strip():
                    yield file, number, f'"{found.group(0)}" in a message: write {instead}'


README_LINES = 15


def check_readmes(root):
    """Every directory of src says in a few lines what lives in it."""
    for directory in sorted(d for d in (root / "src").iterdir() if d.is_dir()):
        readme = directory / "README.md"
        if not readme.exists():
            yield directory, 1, "has no README.md: what lives here, what it may use, which file to copy, where its tests are"
        elif readme.read_text().count("\n") > README_LINES:
            yield readme, 1, f"more than {README_LINES} lines"


def check_covers(root):
    """tests/scenes/covers names scenes for every directory of src, and only scenes that exist."""
    covers = root / "tests/scenes/covers"
    lines = [line.split() for line in covers.read_text().split("\n")] if covers.exists() else []
    rows = [line for line in lines if line and not line[0].startswith("#")]
    for scene in sorted({scene for row in rows for scene in row[1:]}):
        if not (root / "tests/scenes" / f"{scene}.bats").exists():
            yield covers, 1, f"there is no scene {scene}"
    for directory in sorted(d for d in (root / "src").iterdir() if d.is_dir()) if rows else []:
        if not any(row[0].startswith(f"src/{directory.name}") for row in rows):
            yield covers, 1, f"src/{directory.name} is missing"


def check_sampler_docs(root):
    """Every sampler of sampler_all has a row in docs/sensors.md: "| `meminfo` | …"."""
    listing, page = root / "src/samplers/all.c", root / "docs/sensors.md"
    if not listing.exists():
        return
    named = {}  # the name of each constant; struct sampler sampler_process_tree is called "tree"
    for file in sources(root, "src/samplers"):
        for constant, name in re.findall(r'const struct sampler (sampler_\w+) = \{\s*\.name = "(\w+)"', file.read_text()):
            named[constant] = name
    rows = set(re.findall(r"^\| *`(\w+)` *\|", page.read_text(), re.M)) if page.exists() else set()
    all_list = re.search(r"sampler_all\[\] = \{(.*?)\};", listing.read_text(), re.S)
    for constant in re.findall(r"&(sampler_\w+)", all_list.group(1) if all_list else ""):
        name = named.get(constant, constant.removeprefix("sampler_"))
        if name not in rows:
            yield listing, 1, f"{name} has no row in docs/sensors.md; see docs/add-a-sampler.md"


def check_sink_docs(root):
    """Every sink of sink_all and of sink_modules has a row in docs/sinks.md: "| `csv` | …"."""
    page = root / "docs/sinks.md"
    rows = set(re.findall(r"^\| *`([\w-]+)` *\|", page.read_text(), re.M)) if page.exists() else set()
    named = {}  # the name of each constant: struct sink sink_colmet_stdout is called "colmet-stdout"
    for file in sources(root, "src/sinks"):
        named |= dict(re.findall(r'const struct sink (sink_\w+) = \{\s*\.name = "([\w-]+)"', file.read_text()))
    for listing, pattern, entry in [("sink.c", r"sink_all\[\] = \{(.*?)\};", r"&(sink_\w+)"),
                                    ("sink_module.c", r"sink_modules\[\] = \{(.*?)\n\};", r'\{ "([\w-]+)"')]:
        file = root / "src/sinks" / listing
        listed = re.search(pattern, file.read_text(), re.S) if file.exists() else None
        for name in re.findall(entry, listed.group(1) if listed else ""):
            name = named.get(name, name)
            if name not in rows:
                yield file, 1, f"{name} has no row in docs/sinks.md; see docs/add-a-sink.md"


RULES = [
    ("includes", check_includes, "directories include only from those above them"),
    ("own-header", check_own_header_first, "a file includes its own header first"),
    ("banned", check_banned, "no banned function is called"),
    ("lengths", check_lengths, "files and functions are short"),
    ("width", check_width, "lines are not too wide and end without blanks"),
    ("opening", check_opening, "every file begins with a comment that describes it"),
    ("documents", check_documents, "documents refer to existing files"),
    ("scenes", check_scenes, "every line of a scene that fails fails its test"),
    ("tags", check_tags, "no two structs share a tag"),
    ("identifiers", check_identifiers, "identifiers use the words of docs/glossary.md"),
    ("phrases", check_phrases, "messages are plain English"),
    ("readmes", check_readmes, "every source directory has a short README"),
    ("covers", check_covers, "every source directory has scenes that cover it"),
    ("sampler-docs", check_sampler_docs, "every sampler has a row in docs/sensors.md"),
    ("sink-docs", check_sink_docs, "every sink has a row in docs/sinks.md"),
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
