#!/usr/bin/env bats
# The tour of the README, command by command as it is printed there, on the project that is in the clone.
load scene

# The commands of the section "Five minutes": lines that start with "$ " inside code blocks.
tour_commands() {
    awk '/^## /{ on = $0 == "## Five minutes" } on && /^```/ { inside = !inside } on && inside && sub(/^\$ /, "")' "$SOURCE/README.md"
}

# What the README shows after a command, up to the next command or the end of the block.
shown_after() {
    awk -v command="\$ $1" '$0 == command { on = 1; next } /^```/ || /^\$ / { on = 0 } on' "$SOURCE/README.md"
}

@test "every command of the README's tour works as printed" {
    cp -r "$SOURCE/examples" "$SOURCE/tools" .
    PATH=$(dirname "$SONDE"):$PATH
    export PATH HOME=$T SONDE_DB=
    tour_commands >commands
    [ "$(wc -l <commands)" -ge 7 ]
    while IFS= read -r command; do
        echo "# $command" >>log
        eval "$command" >output 2>&1 || { cat output; echo "failed: $command"; return 1; }
        { cat output; echo; } >>log
        # Headings of the output that the README shows, and first columns of tables, are there in reality.
        shown_after "$command" | grep -oE '^[A-Z][a-z]+( [a-z]+)?$|^[A-Z]{3,}' | sort -u >headings || :
        while IFS= read -r heading; do
            grep -q "^ *$heading" output || { cat output; echo "'$command' does not print '$heading'"; return 1; }
        done <headings
    done <commands
}
