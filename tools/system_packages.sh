#!/bin/sh
# Looks for the OpenGL libraries that film strips need; installs them where we may (root and apt), otherwise names them.
have() { ldconfig -p 2>/dev/null | grep -q "$1"; }
if [ "$(uname -s)" != Linux ] || have libEGL.so || have libOSMesa.so; then exit 0; fi
packages="libegl1 libgl1-mesa-dri libgles2"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing $packages"
    if apt-get update -qq >/dev/null 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null 2>&1; then exit 0; fi
fi
echo "note: film strips need OpenGL. Install: $packages (or libosmesa6). Everything else works without."
exit 0
