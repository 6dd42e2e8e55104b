#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libhal inside another project, taken in by add_subdirectory and by FetchContent: it asks for none
# of the tools' libraries, gives that project the public headers and nothing of our own flags, and
# an application built so runs. Installed from there, libhal alone is found by CMake and pkg-config.
. "$(dirname "$0")/lib.sh"
compiler=$3

# Of the packages that pkg-config knows, those that the tools alone use are not there.
mkdir packages
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
    [ ! -d "$folder" ] || find "$folder" -name '*.pc' -exec ln -sf -t packages {} +
done
rm -f packages/libzstd.pc packages/libprotobuf-c.pc packages/libunwind*.pc packages/ncurses*.pc \
    packages/libxxhash.pc packages/sqlite3.pc packages/cmocka.pc
PKG_CONFIG_LIBDIR=$work/packages
PKG_CONFIG_PATH=
export PKG_CONFIG_LIBDIR PKG_CONFIG_PATH
for package in sqlite3 ncursesw libprotobuf-c libzstd; do
    ! pkg-config --exists "$package" || fail "$package is still found"
done

# Flags that our own code would not survive, and words that only our own flags define.
mkdir app
cp "$root/docs/examples/minimal.c" app
cat >app/check.c <<'TEXT'
#include <hal/hal.h>
#ifdef _GNU_SOURCE
#error "_GNU_SOURCE is a flag of the library's own code"
#endif
#if __has_include(<hal/driver.h>) || __has_include(<hal/core/core.h>)
#error "a private header is found"
#endif
int narrow(long value);
int narrow(long value) { return value; } /* which -Wconversion warns of */
TEXT
project()
{
    cat >app/CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
set(CMAKE_C_EXTENSIONS OFF)
$1
add_executable(app minimal.c)
target_link_libraries(app PRIVATE haltrace::hal)
add_library(check OBJECT check.c)
target_compile_options(check PRIVATE -Werror)
target_link_libraries(check PRIVATE haltrace::hal)
TEXT
}
configure() { run 0 cmake -G Ninja -S app "$@" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug; }

project "include(FetchContent)
FetchContent_Declare(haltrace SOURCE_DIR \"$root\")
FetchContent_MakeAvailable(haltrace)"
configure -B fetched
run 0 ninja -C fetched -t targets all
says stdout libhal.so
for target in hal-replay hal-capture decode test_layer uninstall; do
    ! grep -q "^\(.*/\)\{0,1\}$target: " stdout || fail "$target is a target of a project that wants libhal"
done

project "add_subdirectory(\"$root\" haltrace)"
configure -B build -DHALTRACE_INSTALL=ON
run 0 cmake --build build
run 0 build/app
says stdout 'all right'

# ---- Installed ------------------------------------------------------------------------------------

run 0 cmake --install build --prefix "$work/prefix"
[ -e prefix/lib/libhal.so ] || fail "libhal is not installed"
[ ! -e prefix/bin ] || fail "programs are installed: $(ls prefix/bin)"
project 'find_package(haltrace 0.1 REQUIRED)'
configure -B found -DCMAKE_PREFIX_PATH="$work/prefix"
run 0 cmake --build found
run 0 found/app
says stdout 'all right'
for package in haltrace haltrace-static; do
    [ -e "prefix/lib/pkgconfig/$package.pc" ] || continue
    # shellcheck disable=SC2046 # a list of flags
    run 0 env PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig" sh -c \
        "$compiler -std=c11 app/minimal.c \$(pkg-config --cflags --libs $package) -Wl,-rpath,$work/prefix/lib -o $package"
    run 0 env PATH="$work/prefix/bin:$PATH" "./$package"
    says stdout 'all right'
done
