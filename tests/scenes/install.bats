#!/usr/bin/env bats
# An installed tree works, also after it was moved.
load scene

install_to() {
    DESTDIR=$1 meson install -C "$BUILD" --no-rebuild >"$T/log" 2>&1 || { cat "$T/log"; return 1; }
}

# The binary below a directory.
installed() {
    find "$1" -type f -name sonde -perm -100
}

@test "an install has the binary, the probe and the man pages" {
    install_to "$T/root"
    [ -x "$(installed "$T/root")" ]
    [ "$(find "$T/root" -name libsonde-process.so | wc -l)" -eq 1 ]
    [ "$(find "$T/root" -path '*/man1/sonde*.1' | wc -l)" -ge 3 ]
}

@test "drop-in names are in libexec/sonde, or in bin with a build option" {
    install_to "$T/root"
    node=$(find "$T/root" -path '*/libexec/sonde/colmet-node')
    [ -L "$node" ]
    "$node" -- --check
    [ "$(find "$T/root" -path '*/share/sonde/grafana/*.json' | wc -l)" -eq 2 ]
    meson setup "$T/build" "$SOURCE" -Dtests=disabled -Ddrop_in_names=bin >setup.log 2>&1
    /usr/bin/python3 - "$T/build/meson-private/install.dat" <<'PY'
import pickle, sys
links = {link.name: link.target for link in pickle.load(open(sys.argv[1], "rb")).symlinks}
for name in ("colmet-collector", "colmet-node", "ldms_ls", "tau_metric_client", "tau_metric_proxy", "tau_metric_proxy_run"):
    assert links["bin/" + name] == "sonde", links
PY
}

@test "an installed binary finds its probe, also after a move" {
    install_to "$T/root"
    mv "$T/root" "$T/elsewhere"
    "$(installed "$T/elsewhere")" run -n moved -- true
    [ "$(sql "select count(*) from jobs where name = 'moved'")" -eq 1 ]
    run sql "select sources & 1 from processes"
    [ "$output" = 1 ]
}

# They are not linked with libgcc, whose functions the compiler may call on some architectures: the program would not start.
@test "the probes need no symbol that libc does not have" {
    libc=$(ldd "$SONDE" | awk '$1 == "libc.so.6" { print $3 }')
    nm -D --defined-only "$libc" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >there
    grep -qx getenv there
    for library in "$PROBE" "$BUILD/src/probe/mpi/libsonde-mpi.so"; do
        [ -e "$library" ] || continue
        nm -D --undefined-only "$library" | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' | sort -u >asked
        grep -qx getenv asked
        comm -23 asked there
        [ -z "$(comm -23 asked there)" ]
    done
}

# hardened FILE: full RELRO, no executable stack, stack protector and fortified functions; CET if all of its parts have it.
hardened() {
    echo "$1"
    readelf -lW "$1" >headers
    grep -q GNU_RELRO headers
    grep -qE 'GNU_STACK .* RW +0x' headers
    readelf -dW "$1" | grep -q BIND_NOW
    readelf -sW --dyn-syms "$1" >symbols
    grep -q __stack_chk_fail symbols
    grep -qE '__[a-z_]+_chk' symbols
    [ "$(uname -m)" != x86_64 ] || objdump -d --no-show-raw-insn "$1" | awk '/^[0-9a-f]+ <.*>:$/ { getline; if (/endbr64/) n++ } END { exit n < 10 }'
}

@test "the binary and its modules are hardened" {
    [ -z "$(ldd "$SONDE" | grep -E 'lib(asan|tsan|ubsan)')" ] || skip "sanitizers replace it"
    hardened "$SONDE"
    readelf -hW "$SONDE" | grep -q 'Type: *DYN' # position independent
    checked=0
    for module in "$SONDE_MODULES"/*.so; do
        hardened "$module"
        checked=$((checked + 1))
    done
    [ "$checked" -ge 1 ]
}

@test "no library that programs load makes their stack executable" {
    checked=0
    for library in "$BUILD"/src/probe/*.so* "$BUILD"/src/probe/mpi/*.so; do
        [ -f "$library" ] || continue
        echo "$library"
        readelf -lW "$library" | grep -qE 'GNU_STACK .* RW +0x'
        checked=$((checked + 1))
    done
    [ "$checked" -ge 3 ]
}

@test "an install below a directory with a space works without the probe, and doctor explains why" {
    install_to "$T/root"
    mv "$T/root" "$T/two words"
    run "$(installed "$T/two words")" run -n blank -- sh -c 'exit 3'
    [ "$status" -eq 3 ]
    [[ $output == *"the path has a blank or a colon"* ]]
    [ "$(sql "select count(*) from jobs where name = 'blank'")" -eq 1 ]
    run "$(installed "$T/two words")" doctor
    [ "$status" -eq 1 ]
    [[ $(tr -s ' \n' ' ' <<<"$output") == *"✗ probe library "*"has a space or a colon in its path"*"Something essential"* ]]
}

@test "programs find libsonde through pkg-config, also after a move" {
    meson introspect --buildoptions "$BUILD" >options
    python3 -c 'import json, sys
sys.exit(not any(o["name"] == "pkgconfig.relocatable" and o["value"] for o in json.load(open("options"))))' \
        || skip "configured with pkgconfig.relocatable=false"
    install_to "$T/root"
    mv "$T/root" "$T/elsewhere"
    directory=$(dirname "$(find "$T/elsewhere" -name sonde.pc)")
    flags=$(PKG_CONFIG_PATH=$directory pkg-config --cflags --libs sonde)
    # shellcheck disable=SC2086
    gcc "$SOURCE/examples/heat.c" -o heat $flags -lm
    LD_LIBRARY_PATH=$(dirname "$directory") ./heat >/dev/null
}

@test "an installed binary finds its modules, also after a move" {
    [ -e "$SONDE_MODULES/sample-ipmi.so" ] || skip "built without freeipmi"
    unset SONDE_MODULES
    install_to "$T/root"
    mv "$T/root" "$T/elsewhere"
    ask=(agent -v --once --listen none --sensors ipmi --set ipmi.host=127.0.0.1:9 --set ipmi.timeout=1s)
    run "$(installed "$T/elsewhere")" "${ask[@]}"
    [[ $output != *"sample-ipmi.so is not installed"* ]]
    rm "$(find "$T/elsewhere" -name sample-ipmi.so)"
    run "$(installed "$T/elsewhere")" "${ask[@]}"
    [[ $output == *"sample-ipmi.so is not installed"* ]]
}

@test "the installed files contain no path of the build directory" {
    install_to "$T/root"
    run readelf -d "$(installed "$T/root")"
    [[ $output != *RPATH* && $output != *RUNPATH* ]]
}

@test "the systemd units start the installed binary, and are valid" {
    install_to "$T/root"
    binary=$(installed "$T/root")
    for name in agent collect; do
        unit=$(find "$T/root" -name "sonde-$name.service")
        grep -qx "ExecStart=${binary#"$T/root"} $name" "$unit"
        [ "$(find "$T/root" -name "$name.conf" | wc -l)" -eq 1 ]
        "$SONDE" "$name" --check -c "$(find "$T/root" -name "$name.conf")"
        command -v systemd-analyze || continue
        sed "s|^ExecStart=.*|ExecStart=$binary $name|; /^Documentation=/d" "$unit" >"sonde-$name.service"
        run systemd-analyze verify "$PWD/sonde-$name.service"
        [ -z "$(grep "sonde-$name" <<<"$output")" ] || { echo "$output"; false; }
    done
}
