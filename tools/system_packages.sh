#!/bin/sh
# What Debian has to bring: OpenGL for film strips, and with --browser a browser for the tests of pages and the stage.
# Installed where we may (root and apt), otherwise named; everything else works without.
[ "$(uname -s)" = Linux ] || exit 0
library() { ldconfig -p 2>/dev/null | grep -q "$1"; }
browser() { for name in chromium chromium-browser google-chrome google-chrome-stable; do command -v "$name" >/dev/null 2>&1 && return 0; done; return 1; }
get() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    echo "installing $*"
    apt-get update -qq >/dev/null 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null 2>&1
}

opengl="libegl1 libgl1-mesa-dri libgles2"
# shellcheck disable=SC2086 # a list of packages
library libEGL.so || library libOSMesa.so || get $opengl ||
    echo "note: film strips need OpenGL. Install: $opengl (or libosmesa6). Everything else works without."
if [ "$1" = --browser ]; then
    browser || get chromium ||
        echo "note: no chromium or chrome was found, and it could not be installed: the browser tests will skip. Install: chromium."
fi
exit 0
