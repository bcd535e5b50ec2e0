#!/usr/bin/env python3
"""Generates the sources of the MPI probe.

generate.py wrappers RULES HEADER OUTPUT   from a preprocessed mpi.h: a full and a counting wrapper for each function
generate.py real HEADER OUTPUT             the struct of pointers to MPI's own functions
generate.py names OUTPUT HEADER...         the functions exported by the dispatcher, one jump each: the union of all headers"""
import re
import sys

BEFORE = {"need_status", "take", "take_all", "forget_type", "forget_communicator", "forget_window", "forget_request", "forget_session"}
ALWAYS = {"done", "done_all", "done_any", "done_some", "tested"}
# Steps without which a handle would still be tracked after it was freed.
FOLLOWS = BEFORE - {"need_status"} | ALWAYS
# What each step counts, so that a function has no metric that is always 0.
COUNTS = {
    "OUT": {"sent", "put", "put_unless", "posted_write", "written", "bcast", "gather", "gatherv", "scatter", "scatterv",
            "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "allreduce", "exscan", "reduce",
            "reduce_scatter", "reduce_scatter_block", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
            "neighbor_alltoallv", "neighbor_alltoallw"},
    "IN": {"received", "posted", "posted_read", "fetched", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather",
           "allgatherv", "alltoall", "alltoallv", "alltoallw", "allreduce", "exscan", "reduce", "reduce_scatter",
           "reduce_scatter_block", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
           "neighbor_alltoallv", "neighbor_alltoallw"},
    "IN_OF_BOTH": {"posted_both"},
    "WAIT": {"waits"},
    "SMALL": {"sent", "put", "put_unless"},
}
# Parameters whose names in OpenMPI differ from the standard's.
STANDARD = {"type": "datatype", "index": "indx", "ibuf": "buf", "target_cout": "target_count"}
# Steps that only use arguments and cached values: they run before the time stamp is read (steps.h).
QUICK = {"sent", "received", "collective"}
# Not counted, not even exported: OpenMPI's Fortran calls them for every handle, and they do nothing.
CONVERSION = re.compile(r"_(c2f|f2c|c2f08|f082c|f082f|f2f08)$")
# These call no MPI function by name, and nothing of the program except error handlers (call.h).
LEAVES = {"MPI_" + name for name in (
    "Send Ssend Rsend Bsend Isend Issend Irsend Ibsend Recv Irecv Mrecv Imrecv Sendrecv Sendrecv_replace Probe Iprobe "
    "Comm_rank Comm_size Type_size Get_count Wtime").split()}
# Their steps run in both modes: they find out the rank.
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
    """name -> (result type, parameters, their names) of all functions that have a PMPI_ counterpart, sorted: MPI_ functions, and
    MPIX_Bcast_init and the like, OpenMPI 4's names for MPI_Bcast_init of MPI-4."""
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
    return f"step_{name}(&sonde_call{extra}{arguments})"


def before(step):
    if word(step) == "need_status":
        return "    status = step_need_status(&sonde_status, status);"
    if word(step) == "take_all":
        target = "array_of_statuses = " if "array_of_statuses" in step else ""
        return f"    {target}{call_of(step, ', &sonde_small')};"
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
        lines += ["    step_persists(&sonde_call, sonde_code, request);"]
    return lines


def mask_of(steps):
    return " | ".join(["HAS_CALLS"] + ["HAS_" + kind for kind, words in COUNTS.items() if words & {word(s) for s in steps}])


def local_variables(steps):
    """Local variables. MPI may leave the status of a request unset: it is zeroed if a request is tracked."""
    words = {word(s) for s in steps}
    empty = " = { 0 }" if words & {"take", "take_all", "tested"} else ""
    return [*([f"    MPI_Status sonde_status{empty};"] if "need_status" in words else []),
            *(["    struct scratch_small sonde_small;"] if "take_all" in words else [])]


def nested_wrapper(name, declared, steps):
    """The wrapper for nested calls. They are not counted, but a callback of the program (attribute copy, error handler) may free
    handles and complete requests of the program, which must no longer be tracked."""
    result, parameters, names = declared
    kept = [s for s in steps if word(s) in FOLLOWS | {"need_status"}]
    return [f"static __attribute__((noinline, cold)) {result} nested_{name}({', '.join(parameters)})", "{",
            "    struct mpi_call sonde_call = { .peer = CALL_NO_RANK };",
            *local_variables(steps),
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
    lines = nested_wrapper(name, declared, steps) if follows else []
    lines += [f"static {result} full_{name}{head}", "{",
             "    struct mpi_call sonde_call;",
             *local_variables(steps),
             f"    if (!call_enter(&sonde_call, {number}, {mask_of(steps)}))",
             f"        return {'nested_' if follows else 'real.'}{name}({given});",
             *(before(s) for s in steps if word(s) in BEFORE),
             f"    {result} sonde_code = real.{name}({given});",
             *([] if is_quick(steps) else ["    call_time(&sonde_call);"]),
             *after(steps),
             f"    {'steps_finish_quick' if is_quick(steps) else 'steps_finish'}(&sonde_call, {mask_of(steps)});",
             "    return sonde_code;", "}", ""]
    lines += ["#ifdef CALL_LEAF", f"CALL_LEAF({name}, {number})", "#else", f"#define leaf_{name} count_{name}",
              "#endif"] if name in LEAVES else []
    keeps_steps = name in ALWAYS_STEPS
    enter = f"call_enter(&sonde_call, {number}, HAS_CALLS)" if keeps_steps else f"call_enter_counting(&sonde_call, {number})"
    lines += [f"static {result} count_{name}{head}", "{",
             "    struct mpi_call sonde_call;",
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
    parts = ["/* Generated by generate.py: a full and a counting wrapper for each function. */",
             '#include "probe/mpi/steps.h"', '#include "probe/mpi/tool.h"', '#include "probe/mpi/wait.h"', ""]
    parts += ["#ifdef CALL_LEAF", "CALL_LEAF_SLOW", "#endif", ""]
    parts += [wrapper(i, name, declared, table.get(name, [])) for i, (name, declared) in enumerate(found.items())]
    parts += [f"struct function_metrics functions[{len(found)}] = {{"]
    parts += [f'    {{ "{name}", {mask_of(table.get(name, []))}, {{ 0 }} }},' for name in found]
    parts += ["};", f"struct function_waits function_waits[{len(found)}];", "struct real real;", "",
              "static const struct backend_function backend_functions[] = {"]
    counting = {name: "leaf" if name in LEAVES else "count" for name in found}
    tool_functions = {name: ", ".join(f"(any_function){way}_{name}" if has_known_arguments(declared) else "NULL"
                              for way in ["enter", "pick"]) for name, declared in found.items()}
    parts += [f'    {{ "{name}", (any_function)full_{name}, (any_function){counting[name]}_{name}, (any_function *)&real.{name}, '
              f'(any_function)count_{name}, {tool_functions[name]} }},' for name in found]
    parts += ["};", "", "BACKEND_EXPORT const struct backend sonde_mpi_backend = {",
              f"    BACKEND_VERSION, {len(found)}, backend_functions, call_init, tool_wrap,", "};", ""]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(parts))


def write_real(header, output):
    lines = ["/* Generated by generate.py: pointers to MPI's own functions, set by the dispatcher. */",
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
