#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed suffices: the minimal application is built against it outside of the tree, by
# hand, with pkg-config and with CMake, shared and static; runs, and is captured and replayed by the
# installed programs, from wherever they were moved to. Libraries export what the headers say and
# nothing else. Uninstalling leaves nothing.
. "$(dirname "$0")/lib.sh"
build=$3 compiler=$4 flags=$5

# ---- What is exported ----

# The functions of headers, as a C compiler sees them; and what a library defines for others. Each
# header is enough by itself.
public='hal/hal.h hal/channels.h hal/executables.h hal/flags.h hal/profiling.h'
declared()
{
    : >"$work/all_words"
    : >"$work/all_marked"
    for header in "$@"; do
        echo "#include <$header>" >"$work/header.c"
        # shellcheck disable=SC2086 # a list of flags
        "$compiler" -std=c11 -Wall -Wextra -Werror $flags -fsyntax-only -I"$prefix/include" \
            "$work/header.c" >&2 || fail "$header is not enough by itself"
        "$compiler" -E -P -I"$prefix/include" "$work/header.c" | tr '\n' ' ' | tr ';' '\n' |
            grep -oE 'hal_[a-z0-9_]+ ?\(' | tr -d ' (' >>"$work/all_words"
        # Not the types of functions that have no name in a library.
        sed -n 's/^.*HAL_API.*[ *]\(hal_[a-z0-9_]*\)(.*$/\1/p' "$prefix/include/$header" >>"$work/all_marked"
    done
    LC_ALL=C sort -u "$work/all_words" >"$work/words"
    LC_ALL=C sort -u "$work/all_marked" >"$work/marked"
    LC_ALL=C comm -12 "$work/words" "$work/marked"
}
defined() { nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort; }

check_exports()
{
    library=$1 least=$2
    shift 2
    defined "$library" >"$work/defined"
    declared "$@" >"$work/declared"
    [ "$(grep -c '' "$work/declared")" -ge "$least" ] || fail "$* declare less than $least functions"
    sed -n 's/@@HAL_0$//p' "$work/defined" | LC_ALL=C sort >"$work/public"
    cmp "$work/public" "$work/declared" >"$work/stdout" 2>&1 || {
        LC_ALL=C comm -3 "$work/public" "$work/declared"
        fail "$library does not promise what $* declare"
    }
    ! grep -v '@@HAL_0$' "$work/defined" | grep -v '^hal_[a-z0-9_]*@@HAL_PRIVATE_' ||
        fail "$library exports what is none of the library's"
}

# ---- Applications ----

app()
{
    run 0 "$@"
    says stdout 'all right'
    run 0 "$prefix/bin/hal-capture" --force -o app.pb.zst -- "$@"
    run 0 "$prefix/bin/hal-replay" app.pb.zst
    says stdout 'same: '
}

build_with_cmake()
{
    mkdir app
    cp "$root/docs/examples/minimal.c" app
    cat >app/CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
find_package(haltrace 0.1 REQUIRED)
foreach(kind hal hal_static)
    if(TARGET haltrace::${kind})
        add_executable(with_${kind} minimal.c)
        target_link_libraries(with_${kind} PRIVATE haltrace::${kind})
    endif()
endforeach()
TEXT
    run 0 cmake -G Ninja -S app -B app/build -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$flags"
    run 0 cmake --build app/build
    app app/build/with_hal
}

prefix="$work/first place"
run 0 cmake --install "$build" --prefix "$prefix"
mv "$prefix" "$work/prefix"
prefix=$work/prefix
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
[ -z "$(find "$prefix/include" -name '*.h' | grep -v /include/hal/)" ] || fail "a private header was installed"
for program in hal-capture hal-replay hal-trace hal-view; do
    run 0 "$prefix/bin/$program" --version
    [ -s "$prefix/share/man/man1/$program.1" ] || fail "$program has no manual page"
done

# What the installed README points to is there.
documents=$prefix/share/doc/haltrace
sed 's/](/\n](/g' "$documents/README.md" | sed -n 's/^](\([^)#]*\).*/\1/p' | grep -v '^[a-z]*:' >links
[ "$(grep -c '' links)" -ge 10 ] || fail "the README has lost its links"
while read -r link; do
    [ -e "$documents/$link" ] || fail "README.md points to $link"
done <links

cp "$documents/docs/examples/minimal.c" .
[ "$(grep -c '' minimal.c)" -lt 150 ] || fail "the README says that a whole program has less than 150 lines"
# shellcheck disable=SC2046,SC2086 # lists of flags
run 0 "$compiler" -std=c11 -Wall -Wextra -Werror $flags minimal.c \
    $(pkg-config --cflags --libs haltrace) -Wl,-rpath,"$prefix/lib" -o minimal
app ./minimal
build_with_cmake

# Loaded locally, it finds the capture as well.
# shellcheck disable=SC2086 # a list of flags
run 0 "$compiler" -std=c11 -D_GNU_SOURCE $flags -I"$root" "$root/tests/support/local_app.c" -pthread -ldl -o local
# shellcheck disable=SC2046,SC2086 # lists of flags
run 0 "$compiler" -std=c11 $flags -fPIC -shared -DFRAME_BYTES=64 -I"$root" "$root/tests/support/local_plugin.c" \
    $(pkg-config --cflags --libs haltrace) -Wl,-rpath,"$prefix/lib" -o plugin.so
# loaded LIBRARY: two traces of it, which replay.
loaded()
{
    run 0 "$prefix/bin/hal-capture" --force -o local.pb.zst -- ./local 1 2 release "$1"
    run 0 "$prefix/bin/hal-replay" local.pb.zst
    run 0 "$prefix/bin/hal-replay" local-2.pb.zst
}
loaded "$prefix/lib/libhal.so"
loaded ./plugin.so

if [ "$(uname)" = Linux ]; then
    for library in libhal libhalbase; do
        same "$(objdump -p "$prefix/lib/$library.so" | awk '$1 == "SONAME" { print $2 }')" $library.so.0 \
            "the soname of $library"
    done
    # shellcheck disable=SC2086 # a list
    check_exports "$prefix/lib/libhal.so" 80 $public
    check_exports "$prefix/lib/libhalbase.so" 5 hal/base/status.h
    for module in capture:hal_capture_begin vulkan:hal_vulkan_module; do
        file=$prefix/lib/haltrace/libhal_${module%%:*}.so
        [ ! -e "$file" ] || same "$(nm -D --defined-only "$file" | awk '{ print $3 }')" \
            "${module#*:}" "the symbols of $file"
    done
    # shellcheck disable=SC2086 # a list
    declared $public >both
    declared hal/base/status.h >>both
    nm -g --defined-only "$prefix/lib/libhal.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort >static
    LC_ALL=C sort both | cmp - static || fail "libhal.a defines other names than the headers declare"

    # shellcheck disable=SC2046,SC2086 # lists of flags
    run 0 "$compiler" -std=c11 $flags minimal.c $(pkg-config --cflags --libs haltrace-static) -o alone
    ! ldd alone | grep -q libhal || fail "the static program needs libhal.so"
    app ./alone
    # In a plugin, which stays when it is unloaded.
    # shellcheck disable=SC2046,SC2086 # lists of flags
    run 0 "$compiler" -std=c11 $flags -fPIC -shared -DFRAME_BYTES=64 -I"$root" "$root/tests/support/local_plugin.c" \
        $(pkg-config --cflags --libs haltrace-static) -o static_plugin.so
    export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192 # its thread-local data is all static
    loaded ./static_plugin.so
    run 0 "$prefix/bin/hal-capture" --window=signal -o local-3.pb.zst -- ./local 1 1 signal ./static_plugin.so
    says stderr 'did not reach the window'
    unset GLIBC_TUNABLES
    app app/build/with_hal_static
    # It finds the programs that compile kernels in the installation that is in PATH.
    HAL_MSL_LOWERING=fission run 1 ./alone --check-bounds
    says stderr 'HAL_MSL_CC'
    PATH=$prefix/bin:$PATH HAL_MSL_LOWERING=fission run 0 ./alone --check-bounds
fi

# Uninstalled, from the places where things were put; packing in between is no installation, and
# another installation of the same build stays; so do folders that were there before, though empty.
uninstall() { cmake -DLISTS="$build/installed" -DPREFIX="$1" -P "$root/hal/install/uninstall.cmake"; }
mv "$prefix" "$work/first place"
mkdir -p "$work/other/share/man"
run 0 cmake --install "$build" --prefix "$work/other"
run 0 cpack --config "$build/CPackConfig.cmake" -G TGZ -B "$work/packed"
run 0 uninstall "$work/first place"
[ ! -e "$work/first place" ] || fail "uninstalling leaves $(find "$work/first place")"
[ -x "$work/other/bin/hal-capture" ] || fail "the other installation was removed, too"
run 0 uninstall "$work/other"
same "$(cd "$work/other" && find . | LC_ALL=C sort | tr '\n' ' ')" ". ./share ./share/man " \
    "what is left of the other installation"
run 1 uninstall "$work/first place"
says stderr 'nothing of this build is installed'
# Names may look like patterns; what others put into our folders stays.
mkdir -p lists "odd[1]/bin/haltrace" "odd[1]/lib"
: >"odd[1]/bin/haltrace/theirs"
printf '%s\n' "$work/odd[1]" "$work/odd[1]/bin/haltrace/ours" "$work/odd[1]/bin/" "$work/odd[1]/lib/" \
    "$work/odd[1]/" >lists/odd.txt
run 0 cmake -DLISTS="$work/lists" -P "$root/hal/install/uninstall.cmake"
same "$(find "odd[1]" ! -type d -o -name lib)" "odd[1]/bin/haltrace/theirs" "what is left of what others have"

# The build for those who install makes all of that, the demo's program too, and nothing for tests
# alone; no warning of another compiler ends it.
run 0 cmake --preset install -S "$root" -B "$work/plain" -DCMAKE_C_COMPILER="$compiler"
run 0 ninja -C "$work/plain" -t commands
grep -q -e ' -o bin/hal-replay ' stdout || fail "hal-replay is not built for installing"
! grep -e -Werror -e tests/unit -e host_metal stdout || fail "more is built than is installed, or more strictly"
grep -rhoE --include=cmake_install.cmake '(bin|lib)/[^/"]+"' "$build" | LC_ALL=C sort -u >here
grep -rhoE --include=cmake_install.cmake '(bin|lib)/[^/"]+"' plain | LC_ALL=C sort -u >there
cmp here there || fail "other files are installed: $(diff here there)"
grep -q bin/decode there || fail "the demo's program is not installed"
