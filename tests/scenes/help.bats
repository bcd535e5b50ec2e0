#!/usr/bin/env bats
# --help, man pages, shell completion, and usage errors.
load scene

commands() {
    "$SONDE" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'
}

@test "sonde --help lists every command, within 80 columns" {
    run -0 "$SONDE" --help
    [[ $output == *"Usage: sonde"* ]]
    for word in run report list ps export help; do
        [[ $output == *$'\n'"  $word "* ]]
    done
    [ -z "$(awk 'length($0) > 80' <<<"$output")" ]
    [ "$output" = "$("$SONDE" help)" ]
}

@test "sonde --version prints the version" {
    run -0 "$SONDE" --version
    [[ $output =~ ^sonde\ [0-9]+\.[0-9]+ ]]
}

@test "every command's --help has its sections, within 80 columns, and sonde help shows the same" {
    [ "$(commands | wc -l)" -ge 6 ]
    for command in $(commands); do
        run -0 "$SONDE" "$command" --help
        [[ $output == "Usage: sonde $command"* ]]
        for section in Options Examples "Exit status" "See also"; do
            [[ $output == *$'\n'"$section:"$'\n'* ]] || { echo "$command has no $section"; false; }
        done
        [ -z "$(awk 'length($0) > 80 && !/^  sonde /' <<<"$output")" ]
        [ "$output" = "$("$SONDE" help "$command")" ]
        [ "$output" = "$("$SONDE" --help "$command")" ]
    done
}

@test "every option of --help is in the man page" {
    for command in $(commands); do
        for option in $("$SONDE" "$command" --help | grep -o '^  .\{0,4\}--[a-z-]*' | grep -o -- '--[a-z-]*'); do
            "$SONDE" help --man "$command" | sed 's/\\-/-/g; s/\\fB//g' | grep -q -- "$option" ||
                { echo "$command: $option is not in its man page"; false; }
        done
    done
}

@test "man pages have no warnings" {
    command -v mandoc || skip "no mandoc"
    run -0 mandoc -T lint -W warning "$BUILD"/src/cli/sonde.1
    for command in $(commands); do
        [ -s "$BUILD/src/cli/sonde-$command.1" ] || { echo "no man page for $command"; false; }
        run -0 mandoc -T lint -W warning "$BUILD/src/cli/sonde-$command.1"
        [ -z "$output" ]
        mandoc "$BUILD/src/cli/sonde-$command.1" | grep -q "sonde-$command"
    done
}

@test "pages under SEE ALSO exist" {
    for command in $(commands); do
        for other in $("$SONDE" "$command" --help | grep -o 'sonde-[a-z]*(1)' | sed 's/sonde-//; s/(1)//'); do
            commands | grep -qx "$other" || { echo "$command refers to $other"; false; }
        done
    done
}

@test "a typo gets a suggestion and exit status 2" {
    run -2 "$SONDE" lst
    [[ $output == *"unknown command 'lst'; did you mean 'sonde list'?"* ]]
    run -2 "$SONDE" help lst
    [[ $output == *"did you mean 'list'?"* ]]
    run -2 "$SONDE" list --jsn
    [[ $output == *"sonde list: unknown option '--jsn'; did you mean --json?"* ]]
    run -2 "$SONDE" run --period abc -- true
    [[ $output == *"sonde run: invalid value 'abc' for --period (expected "* ]]
    run -2 "$SONDE" list --since whenever
    run -2 "$SONDE" list --sort colour
    run -2 "$SONDE" ps one two
    run -2 "$SONDE" completion
    run -2 "$SONDE" completion csh
}

@test "without a command it prints the usage, exit status 2" {
    run -2 "$SONDE"
    [[ $output == "Usage: sonde"* ]]
}

@test "escape sequences in arguments are not printed" {
    run -2 "$SONDE" $'\033[31mx'
    [[ $output != *$'\033'* ]]
    run -2 "$SONDE" list $'--a\033[31m'
    [[ $output != *$'\033'* ]]
    run -2 "$SONDE" list --since $'\033[31m'
    [[ $output != *$'\033'* ]]
}

@test "--help to a closed pipe or a full disk" {
    "$SONDE" --help | head -n 1 >/dev/null
    [ "${PIPESTATUS[0]}" -eq 0 ] || [ "${PIPESTATUS[0]}" -eq 141 ]
    run -1 sh -c '"$SONDE" help >/dev/full'
}

# complete_in_bash WORD…: what bash offers for the last word.
complete_in_bash() {
    env PATH="$(dirname "$SONDE"):$PATH" bash -c 'source <("$SONDE" completion bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _sonde; echo "${COMPREPLY[*]}"' - "$@"
}

@test "bash completes commands, options, choices and job ids" {
    [ "$(complete_in_bash sonde subm)" = submit ]
    [ "$(complete_in_bash sonde li | xargs)" = "list list-metrics" ]
    [ "$(complete_in_bash sonde list --rev)" = --reverse ]
    [ "$(complete_in_bash sonde list --sort '')" = "start duration cpu memory processes name user" ]
    [ "$(complete_in_bash sonde list --sort = me)" = memory ]
    [ "$(complete_in_bash sonde help expo)" = export ]
    "$TOOLS/fake_job" "$SONDE_DB" job=abc-1
    [ "$(complete_in_bash sonde ps a)" = abc-1 ]
    touch "$T/a-file"
    [ "$(complete_in_bash sonde export -o a-)" = a-file ]
    [[ " $(complete_in_bash sonde run -n x -- prin) " == *" printf "* ]]
    [ "$(complete_in_bash sonde run -n x ls a-)" = a-file ]
}

@test "completion scripts of all shells are valid" {
    for shell in bash zsh fish; do
        "$SONDE" completion "$shell" >"$T/script"
        [ -s "$T/script" ]
        if command -v "$shell" >/dev/null; then "$shell" -n "$T/script"; fi
    done
}

@test "fish completes commands and choices" {
    command -v fish >/dev/null || skip "no fish"
    "$SONDE" completion fish >"$T/script"
    HOME=$T fish -c "source $T/script; complete -C 'sonde li'" | grep -q '^list'
    HOME=$T fish -c "source $T/script; complete -C 'sonde export --format j'" | cut -f1 | grep -qx json
}

# The completion of LINE by zsh on a terminal, after sonde's completion was installed by WAY.
complete_in_zsh() { # WAY LINE
    rm -f "$T/made"
    cat >"$T/types" <<END
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -U compinit; $1; show() { print -r -- "\$BUFFER" >$T/made; BUFFER=; }; zle -N show; bindkey ^X show'
zpty -w -n shell '$2'\$'\t\x18'
until [[ -s $T/made ]]; do zpty -r -t shell line; sleep 0.05; done
END
    HOME=$T TERM=dumb timeout 20 zsh "$T/types"
    cat "$T/made"
}

@test "zsh completes commands and choices, by a file in its path and in this shell alone" {
    command -v zsh >/dev/null || skip "no zsh"
    mkdir "$T/functions"
    "$SONDE" completion zsh >"$T/functions/_sonde"
    PATH=$(dirname "$SONDE"):$PATH
    for way in "fpath=($T/functions \$fpath); compinit -u -D" "compinit -u -D; source $T/functions/_sonde"; do
        [ "$(complete_in_zsh "$way" "sonde expo")" = "sonde export " ]
        [ "$(complete_in_zsh "$way" "sonde list --sort dur")" = "sonde list --sort duration " ]
    done
}

# The options of a command that are also settings in its configuration file.
settings_of() {
    "$SONDE" "$1" --help | grep -o '^  .\{0,4\}--[a-z-]*' | grep -o -- '[a-z][a-z-]*$' |
        grep -vxE 'config|set|events|once|check|status|json|quiet|verbose|root|help'
}

@test "the man pages of configuration files are clean and have every setting" {
    command -v mandoc || skip "no mandoc"
    for page in sonde-agent.conf sonde-collect.conf sonde-allowed.keys; do
        run -0 mandoc -T lint -W warning "$SOURCE/docs/$page.5"
        [ -z "$output" ]
    done
    settings_of agent >agent.settings
    "$SONDE" agent --check -v 2>/dev/null | awk '/^\[/ { at = $1 } at == "[programs]"' | sed -n 's/^#*\([a-z_]*\) = .*/\1/p' >>agent.settings
    settings_of collect >collect.settings
    [ "$(wc -l <agent.settings)" -ge 24 ]
    [ "$(wc -l <collect.settings)" -ge 14 ]
    for file in agent collect; do
        while IFS= read -r name; do
            grep -q "^\.It Cm $name\$" "$SOURCE/docs/sonde-$file.conf.5" || { echo "$name is missing in sonde-$file.conf(5)"; false; }
        done <"$file.settings"
    done
}
