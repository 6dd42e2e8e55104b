#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formula.sh URL ARCHIVE: prints Homebrew's formula for the archive of the sources that lies at URL.
# What it depends on is what bootstrap knows.
set -eu
[ $# = 2 ] || { echo "usage: formula.sh URL ARCHIVE" >&2; exit 2; }
root=$(dirname "$0")/../..
version=$(sed -n 's/^#define HAL_VERSION_STRING "\(.*\)"/\1/p' "$root/hal/hal.h")
digest=$(openssl dgst -sha256 -r "$2" | cut -d' ' -f1)

# Homebrew's names in the list of what a build needs. Those that only a build needs are marked.
dependencies()
{
    sed -n "/^needed_to_build='/,/^'/p" "$root/bootstrap" | awk 'NF == 3 && $3 != "-" { print $3 }' |
        LC_ALL=C sort -u | while read -r name; do
        case $name in
        cmocka) ;; # for the tests
        cmake | glslang | ninja | pkgconf | vulkan-headers) echo "  depends_on \"$name\" => :build" ;;
        *) echo "  depends_on \"$name\"" ;;
        esac
    done
}

cat <<END
# frozen_string_literal: true

class Haltrace < Formula
  desc "Captures, replays, verifies and shows GPU compute work"
  homepage "$1"
  url "$1"
  version "$version"
  sha256 "$digest"
  license "Apache-2.0"

$(dependencies)
  depends_on :macos

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DHALTRACE_TESTS=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hal-replay --version")
    system bin/"hal-replay", "--selftest"
  end
end
END
