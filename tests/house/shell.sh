#!/bin/sh
# shell.sh ROOT: checks all shell scripts of the project with shellcheck; prints TAP.
cd "$1" || exit 1
command -v shellcheck >/dev/null || { echo "1..0 # skip shellcheck is not installed"; exit 0; }
count=0 failed=0
for file in try check .ci/run tools/* tests/*/*.sh tests/tools/* tests/scenes/*.bash tests/scenes/*.bats bench/* integrations/*/*; do
    [ -f "$file" ] || continue
    case $(head -n 1 "$file") in
        '#!/bin/sh'*) shell='sh' ;;
        '#!/bin/bash'* | '#!/usr/bin/env bash'*) shell='bash' ;;
        '#!/usr/bin/env bats'*) shell='bats' ;;
        *) case $file in *.bash) shell='bash' ;; *) continue ;; esac ;;
    esac
    count=$((count + 1))
    # SC1091: loaded files are checked separately. SC2016: strings for another shell. SC2030, SC2031: bats runs each test in a subshell.
    # SC2143: "!" does not fail a bats test, "[ -z" does. SC2154, SC2034: variables that bats or scene.bash sets or reads. SC2317: functions
# that bats calls.
    if found=$(shellcheck -f gcc -s "$shell" -e SC1091,SC2016,SC2030,SC2031,SC2034,SC2143,SC2154,SC2317 "$file"); then
        echo "ok $count - $file"
    else
        failed=1
        echo "not ok $count - $file"
        echo "$found" | sed 's/^/# /'
    fi
done
echo "1..$count"
exit $failed
