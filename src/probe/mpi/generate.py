#!/usr/bin/env python3
"""Makes the sources of the MPI probe.

generate.py wrappers RULES HEADER OUTPUT   from a preprocessed mpi.h: a full and a counting wrapper of each function
generate.py names OUTPUT HEADER...         the names that the dispatcher exports, one jump each: all of all headers"""
import re
import sys

BEFORE = {"own", "keep", "keep_all", "forget_type", "forget_communicator", "forget_window", "forget_request", "forget_session"}
ALWAYS = {"done", "done_all", "done_any", "done_some", "seen"}
# Steps without which a handle would go on to be remembered after its end.
FOLLOWS = BEFORE - {"own"} | ALWAYS
# What each step counts, so that a function has no metric that stays at 0 for ever.
COUNTS = {
    "OUT": {"sent", "put", "put_unless", "posted_write", "written", "bcast", "gather", "gatherv", "scatter", "scatterv",
            "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "allreduce", "exscan", "reduce",
            "reduce_scatter", "reduce_scatter_block", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
            "neighbor_alltoallv", "neighbor_alltoallw"},
    "IN": {"received", "posted", "posted_read", "got", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather",
           "allgatherv", "alltoall", "alltoallv", "alltoallw", "allreduce", "exscan", "reduce", "reduce_scatter",
           "reduce_scatter_block", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
           "neighbor_alltoallv", "neighbor_alltoallw"},
    "IN_OF_BOTH": {"posted_both"},
    "WAIT": {"waits"},
    "SMALL": {"sent", "put", "put_unless"},
}
# Arguments that OpenMPI calls otherwise than the standard does.
STANDARD = {"type": "datatype", "index": "indx", "ibuf": "buf", "target_cout": "target_count"}
# Steps that only look at arguments and at what is remembered: they run before the clock is read (steps.h).
QUICK = {"sent", "received", "together"}
# Not counted, not even exported: OpenMPI's Fortran calls them for every handle, and they do nothing.
CONVERSION = re.compile(r"_(c2f|f2c|c2f08|f082c|f082f|f2f08)$")
# They call nothing of MPI by name, nor of the program but for error handlers (call.h).
LEAVES = {"MPI_" + name for name in (
    "Send Ssend Rsend Bsend Isend Issend Irsend Ibsend Recv Irecv Mrecv Imrecv Sendrecv Sendrecv_replace Probe Iprobe "
    "Comm_rank Comm_size Type_size Get_count Wtime").split()}
# Their steps run in both modes: they say which rank this is.
ALWAYS_STEPS = {"MPI_Init", "MPI_Init_thread", "MPI_Session_init"}


def without_attributes(text):
    while (at := text.find("__attribute__")) >= 0:
        end, depth = text.index("(", at), 0
        while True:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if not depth:
                break
        text = text[:at] + text[end:]
    return text


def name_of(parameter):
    """The name in "int array_of_counts[]", None for "void" and "..."."""
    pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", parameter)
    found = pointer or re.search(r"[\s*](\w+)\s*(?:\[[^]]*\]\s*)*$", parameter)
    return found.group(1) if found else None


def functions(header):
    """name -> (type of the result, parameters, their names) of all functions that have a PMPI_ twin, sorted: those of MPI, and
    MPIX_Bcast_init and the like, under which OpenMPI 4 has what MPI-4 calls MPI_Bcast_init."""
    text = re.sub(r"\s+", " ", without_attributes(open(header, encoding="utf-8").read()))
    found = {}
    for result, name, parameters in re.findall(r"([\w ]+?[ *]+)(MPI_\w+|MPIX_\w+_init) ?\(([^;{}]*)\) ?;", text):
        if "typedef" in result or CONVERSION.search(name) or not re.search(rf"\bP{name} ?\(", text):
            continue
        parameters = [p.strip() for p in re.split(r",(?![^()]*\))", parameters)]
        names = [name_of(p) for p in parameters]
        for i, old in enumerate(names):
            if old in STANDARD:
                names[i] = STANDARD[old]
                parameters[i] = re.sub(rf"\b{old}\b", names[i], parameters[i])
        found[name] = (result.replace("extern", "").strip(), parameters, names)
    return dict(sorted(found.items()))


def variants(name):
    if not name.endswith("*"):
        return [(name, False)]
    name = name[:-1]
    return [(name, False), ("I" + name[0].lower() + name[1:], False), (name + "_init", True)]


def rules(path):
    """MPI_ name -> steps, each a word or "word(arguments)"."""
    table = {}
    for line in open(path, encoding="utf-8"):
        line = line.split("#")[0].strip()
        if not line:
            continue
        names, steps = line.split(" : ")
        steps = re.findall(r"\w+(?:\([^()]*\))?", steps)
        for name in names.split():
            for variant, persists in variants(name):
                mine = [s for s in steps if s != "waits" or not name.endswith("*") or variant == name[:-1]]
                mine += ["persists"] if persists else []
                table["MPI_" + variant] = mine
                table["MPI_" + variant + "_c"] = mine
                table["MPIX_" + variant] = mine
    return table


def word(step):
    return step.split("(")[0]


def call_of(step, extra=""):
    name, arguments = step.split("(", 1)
    arguments = ", " + arguments[:-1] if arguments != ")" else ""
    return f"{name}(&sonde_call{extra}{arguments})"


def before(step):
    if word(step) == "own":
        return "    status = own(&sonde_status, status);"
    if word(step) == "keep_all":
        target = "array_of_statuses = " if "array_of_statuses" in step else ""
        return f"    {target}{call_of(step, ', &sonde_few')};"
    return f"    {call_of(step)};"


def is_quick(steps):
    return not [s for s in steps if word(s) not in BEFORE | QUICK | {"waits"}]


def ends(steps):
    return [f"    {call_of(s, ', sonde_code')};" for s in steps if word(s) in ALWAYS]


def after(steps):
    lines = ends(steps)
    good = [s for s in steps if "(" in s and word(s) not in BEFORE | ALWAYS]
    if good:
        lines += ["    if (CALL_MOSTLY(sonde_code == MPI_SUCCESS)) {", *(f"        {call_of(s)};" for s in good), "    }"]
    if "persists" in steps:
        lines += ["    persists(&sonde_call, sonde_code, request);"]
    return lines


def mask_of(steps):
    return " | ".join(["HAS_CALLS"] + ["HAS_" + kind for kind, words in COUNTS.items() if words & {word(s) for s in steps}])


def room(steps):
    """MPI may leave the status of a request as it was: of one that was kept nothing must stand there."""
    words = {word(s) for s in steps}
    empty = " = { 0 }" if words & {"keep", "keep_all", "seen"} else ""
    return [*([f"    MPI_Status sonde_status{empty};"] if "own" in words else []),
            *(["    struct scratch_few sonde_few;"] if "keep_all" in words else [])]


def within(name, declared, steps):
    """The wrapper of a call within another one: it is not counted, but handles that it frees and requests that it ends were the
    program's, where a function of the program made it that MPI has called (an attribute's, an error handler)."""
    result, parameters, names = declared
    kept = [s for s in steps if word(s) in FOLLOWS | {"own"}]
    return [f"static __attribute__((noinline, cold)) {result} within_{name}({', '.join(parameters)})", "{",
            "    struct call sonde_call = { .peer = CALL_NO_RANK };",
            *room(steps),
            *(before(s) for s in kept if word(s) in BEFORE),
            f"    {result} sonde_code = real.{name}({', '.join(n for n in names if n)});",
            *ends(kept),
            "    return sonde_code;", "}", ""]


def has_known_arguments(declared):
    return "..." not in declared[1]


def wrapper(number, name, declared, steps):
    result, parameters, names = declared
    follows = bool(FOLLOWS & {word(s) for s in steps})
    given = ", ".join(n for n in names if n)
    head = f"({', '.join(parameters)})"
    lines = within(name, declared, steps) if follows else []
    lines += [f"static {result} full_{name}{head}", "{",
             "    struct call sonde_call;",
             *room(steps),
             f"    if (!call_enter(&sonde_call, {number}, {mask_of(steps)}))",
             f"        return {'within_' if follows else 'real.'}{name}({given});",
             *(before(s) for s in steps if word(s) in BEFORE),
             f"    {result} sonde_code = real.{name}({given});",
             *([] if is_quick(steps) else ["    call_time(&sonde_call);"]),
             *after(steps),
             f"    {'end_quickly' if is_quick(steps) else 'end'}(&sonde_call, {mask_of(steps)});",
             "    return sonde_code;", "}", ""]
    lines += ["#ifdef CALL_LEAF", f"CALL_LEAF({name}, {number})", "#else", f"#define leaf_{name} count_{name}",
              "#endif"] if name in LEAVES else []
    keeps_steps = name in ALWAYS_STEPS
    enter = f"call_enter(&sonde_call, {number}, HAS_CALLS)" if keeps_steps else f"call_enter_counting(&sonde_call, {number})"
    lines += [f"static {result} count_{name}{head}", "{",
             "    struct call sonde_call;",
             f"    if (!{enter})",
             f"        return real.{name}({given});",
             f"    {result} sonde_code = real.{name}({given});",
             *(after(steps) if keeps_steps else []),
             "    call_leave(&sonde_call);",
             "    return sonde_code;", "}", ""]
    if has_known_arguments(declared):
        for way in ["enter", "pick"]:
            lines += [f"static {result} {way}_{name}{head}", "{",
                      f"    return ((__typeof__(real.{name}))tool_{way}({number}))({given});", "}", ""]
    return "\n".join(lines)


def write_wrappers(rules_path, header, output):
    found, table = functions(header), rules(rules_path)
    parts = ["/* Made by generate.py: a full and a counting wrapper of each function. */",
             '#include "probe/mpi/steps.h"', '#include "probe/mpi/tool.h"', '#include "probe/mpi/wait.h"', ""]
    parts += ["#ifdef CALL_LEAF", "CALL_LEAF_LATE", "#endif", ""]
    parts += [wrapper(i, name, declared, table.get(name, [])) for i, (name, declared) in enumerate(found.items())]
    parts += [f"struct function_metrics functions[{len(found)}] = {{"]
    parts += [f'    {{ "{name}", {mask_of(table.get(name, []))}, {{ 0 }} }},' for name in found]
    parts += ["};", f"struct function_waits function_waits[{len(found)}];", "struct real real;", "",
              "static const struct backend_function backend_functions[] = {"]
    counting = {name: "leaf" if name in LEAVES else "count" for name in found}
    around = {name: ", ".join(f"(backend_any){way}_{name}" if has_known_arguments(declared) else "NULL"
                              for way in ["enter", "pick"]) for name, declared in found.items()}
    parts += [f'    {{ "{name}", (backend_any)full_{name}, (backend_any){counting[name]}_{name}, (backend_any *)&real.{name}, '
              f'(backend_any)count_{name}, {around[name]} }},' for name in found]
    parts += ["};", "", "BACKEND_EXPORT const struct backend sonde_mpi_backend = {",
              f"    BACKEND_VERSION, {len(found)}, backend_functions, call_choose, tool_put,", "};", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(parts))


def write_real(header, output):
    lines = ["/* Made by generate.py: MPI's own functions, as the dispatcher has found them. */",
             f"enum {{ FUNCTIONS = {len(functions(header))} }};",
             "struct real {", *(f"    __typeof__({n}) *{n};" for n in functions(header)), "};",
             "extern struct real real;", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def write_names(output, headers):
    names = sorted(set().union(*(functions(h) for h in headers)))
    lines = ['#include "probe/mpi/jump.h"', "JUMP_BEGIN"]
    for i, name in enumerate(names):
        lines += [f"JUMP {name}, {2 * i}", f"JUMP P{name}, {2 * i + 1}"]
    lines += [f"JUMP_TABLE({2 * len(names)})", "JUMP_NAMES"]
    lines += [f"JUMP_NAME {name}" for name in names]
    lines += ["JUMP_END", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main():
    what, *rest = sys.argv[1:]
    if what == "wrappers":
        write_wrappers(*rest)
    elif what == "real":
        write_real(*rest)
    else:
        write_names(rest[0], rest[1:])


if __name__ == "__main__":
    main()
