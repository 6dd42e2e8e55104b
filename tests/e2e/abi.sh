#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that were built against an earlier libhal of this soname still work: functions, layouts
# and values of enums are those of hal/install/libhal.abi.
. "$(dirname "$0")/lib.sh"
library=$3
promised=$root/hal/install/libhal.abi
command -v abidiff >/dev/null || { echo "abidiff (abigail-tools) is not installed"; exit 77; }

# breaks FILE: whether programs built against the promise would break. Of abidiff's statuses 4 stands
# for a change, also of a layout, 8 for one that surely breaks; what was only added does neither.
breaks()
{
    actual=0
    abidiff --no-added-syms "$promised" "$1" >stdout 2>stderr || actual=$?
    [ $((actual & 3)) = 0 ] || fail "abidiff does not work: $actual"
    [ "$actual" != 0 ]
}

# grown FROM TO: whether there is any difference at all, also one that breaks nothing: another constant.
grown()
{
    actual=0
    abidiff --harmless "$1" "$2" >stdout 2>stderr || actual=$?
    [ $((actual & 3)) = 0 ] || fail "abidiff does not work: $actual"
    [ "$actual" != 0 ]
}

# The comparison sees what it is for.
sed "s/<enumerator name='HAL_FORMAT_SPIRV' value='[0-9]*'/<enumerator name='HAL_FORMAT_SPIRV' value='77'/" \
    "$promised" >enum.abi
cmp -s "$promised" enum.abi && fail "no enumerator was found to change"
sed "/elf-symbol name='hal_queue_flush'/d; /function-decl name='hal_queue_flush'/,/function-decl>/d" \
    "$promised" >function.abi
awk "/class-decl name='hal_buffer_desc'/ { inside = 1 }
    inside && /layout-offset-in-bits='64'/ { sub(/='64'/, \"='96'\"); inside = 0 } { print }" \
    "$promised" >layout.abi
cmp -s "$promised" layout.abi && fail "no member was found to move"
# A function that the sources call in one file and define in a later one.
awk "/function-decl name='hal_command_buffer_create'/ { inside = 1 }
    inside && /<parameter/ { sub(/type-id='[^']*'/, \"type-id='type-id-1'\"); inside = 0 } { print }" \
    "$promised" >parameter.abi
cmp -s "$promised" parameter.abi && fail "no parameter was found to change"
sed "/<enumerator name='HAL_FORMAT_SPIRV'/d" "$promised" >constant.abi
breaks "$promised" && fail "the promise breaks itself"
grown "$promised" "$promised" && fail "the promise differs from itself"
breaks enum.abi || fail "a constant that changed was not noticed"
breaks function.abi || fail "a function that is gone was not noticed"
breaks layout.abi || fail "a member that moved was not noticed"
breaks parameter.abi || fail "a parameter that changed was not noticed"
grown constant.abi "$promised" || fail "a constant that was added was not noticed"

run 0 "$root/hal/install/abi.sh" "$library"
cp stdout now.abi
[ "$(grep -c '<function-decl' now.abi)" -gt 90 ] || fail "the library has lost its functions"
# Each public function is there with its parameters, whatever file defines it; and nothing in the
# promise depends on where it was written.
grep -o "<elf-symbol name='[^']*'" now.abi | cut -d"'" -f2 | LC_ALL=C sort >symbols
grep "<function-decl .*elf-symbol-id=" now.abi | sed "s/.*<function-decl name='\([^']*\)'.*/\1/" | LC_ALL=C sort >functions
cmp symbols functions || fail "of some public functions nothing but the name is compared"
for file in now.abi "$promised"; do
    if grep "<abi-instr .*path='" "$file" | grep -v "path='hal/"; then fail "$file has paths of this machine"; fi
done
write="hal/install/abi.sh build/dev/lib/libhal.so >hal/install/libhal.abi"
breaks now.abi && fail "programs that were built before would break; where that is meant, raise the soname (before the first release: not yet), and: $write"
if grown "$promised" now.abi; then fail "the interface has grown: $write"; fi
