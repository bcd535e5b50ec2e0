#!/usr/bin/env bats
# The tour of the README: every command as printed there, with the example project of the repository.
load scene

# The commands of the section "Tour": lines that start with "$ " inside code blocks.
tour_commands() {
    awk '/^## /{ on = $0 == "## Tour" } on && /^```/ { inside = !inside } on && inside && sub(/^\$ /, "")' "$SOURCE/README.md"
}

# What the README shows after a command, up to the next command or the end of the block.
shown_after() {
    awk -v command="\$ $1" '$0 == command { on = 1; next } /^```/ || /^\$ / { on = 0 } on' "$SOURCE/README.md"
}

@test "every command of the README's tour works as printed" {
    cp -r "$SOURCE/examples" "$SOURCE/tools" .
    PATH=$(dirname "$SONDE"):$PATH
    export PATH HOME=$T SONDE_DB=
    unset XDG_DATA_HOME
    tour_commands >"$T/commands"
    [ "$(wc -l <"$T/commands")" -ge 7 ]
    while IFS= read -r command; do
        echo "# $command" >>"$T/log"
        eval "$command" >"$T/output" 2>&1 || { cat "$T/output"; echo "failed: $command"; return 1; }
        { cat "$T/output"; echo; } >>"$T/log"
        # The headings and first table columns that the README shows are in the real output.
        shown_after "$command" | grep -oE '^[A-Z][a-z]+( [a-z]+)?$|^[A-Z]{3,}' | sort -u >"$T/headings" || :
        while IFS= read -r heading; do
            grep -q "^ *$heading" "$T/output" || { cat "$T/output"; echo "'$command' does not print '$heading'"; return 1; }
        done <"$T/headings"
    done <"$T/commands"
}
