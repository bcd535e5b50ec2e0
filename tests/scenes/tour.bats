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

# Two hosts on this one, with their own network, processes and directories. Commands come from $T/steps: "HOST COMMAND".
cluster_script() {
    cat <<'END'
set -eu
ip link set lo up
for directory in /etc/sonde /var/lib/sonde /var/log/sonde /run; do
    mkdir -p "$directory"
    mount -t tmpfs tmpfs "$directory"
done
{ cat /etc/hosts; echo "127.0.0.1 login node1"; } >"$T/hosts"
mount --bind "$T/hosts" /etc/hosts
while IFS= read -r step <&4; do
    host=${step%%\$ *} command=${step#*\$ }
    case $command in "sonde report"* | "ls "*) # what the agent sends takes a moment
        for ((i = 0; i < 600; i++)); do ! $command >/dev/null 2>&1 || break; sleep 0.1; done ;;
    esac
    unshare --uts bash -c "hostname $host; $command" >"$T/output" 2>&1 || { cat "$T/output"; echo "failed: $step"; exit 1; }
    case $command in
        "sonde keygen "*allowed.keys*) tail -n 1 "$T/output" >/etc/sonde/allowed.keys ;;
        "sonde collect --status") cp "$T/output" "$T/status" ;;
        "sonde collect "*) for ((i = 0; i < 600; i++)); do ! sonde collect --status >/dev/null 2>&1 || break; sleep 0.1; done ;;
        "sonde agent "*) for ((i = 0; i < 600; i++)); do ! sonde ctl 2>&1 | grep -q 'login:5555: up' || break; sleep 0.1; done ;;
        "ls "*) cp "$T/output" "$T/files" ;;
    esac
done 4<"$T/steps"
END
}

# The first words of lines, and the headings of tables.
status_shape() {
    sed -n '/^login  running/,/^$/p; /^[A-Z]/p' "$1" | awk '/^[A-Z]/ { $1 = $1; print; next } /^ ? ?[a-z]/ { print $1 }'
}

@test "the cluster of the README works as printed" {
    need_root
    sed -n '/^## A whole cluster/,/^## More/p' "$SOURCE/README.md" | grep -E '^(login|node1)\$ ' >"$T/steps"
    [ "$(wc -l <"$T/steps")" -ge 8 ]
    cluster_script >"$T/cluster"
    printf '#!/bin/sh\nexec "%s/burn" 2500\n' "$TOOLS" >"$T/simulate"
    chmod +x "$T/simulate"
    PATH=$(dirname "$SONDE"):$PATH HOME=$T SONDE_DB='' XDG_DATA_HOME='' timeout 300 unshare --mount --net --pid --fork --kill-child \
        --mount-proc --propagation private bash "$T/cluster"
    cat "$T/status"
    diff <(sed -n '/^login  running/,/^login\$/p' "$SOURCE/README.md" >"$T/shown" && status_shape "$T/shown") <(status_shape "$T/status")
    grep -q loadavg.csv "$T/files"
    grep -q jobs.csv "$T/files"
}
