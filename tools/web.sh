#!/bin/sh
# web.sh [needed]: builds the browser's half into web/dist if its sources are newer than that. Says little
# when all is well. Where npm or its packages cannot be had the web view is a plain page, unless it is needed.
set -eu
cd "$(dirname "$0")/../web"

if ! command -v npm >/dev/null; then
    echo "web: no npm here (tools/setup.sh web): a plain page instead of the web view" >&2
    [ "${1:-}" != needed ]
    exit
fi

# The packages of the lock file, and no others; their install scripts are not run.
if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    if ! npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >npm.log 2>&1; then
        if [ "${1:-}" = needed ]; then
            cat npm.log >&2
            exit 1
        fi
        rm -rf node_modules
        echo "web: npm's packages cannot be had here (web/npm.log): a plain page instead of the web view" >&2
        exit 0
    fi
    rm -f npm.log
    touch node_modules/.package-lock.json
fi

# The readers of profiles are in it too, as WebAssembly.
newest=$(find src viewer build.mjs package-lock.json ../src -name '*.*' -type f -newer dist/index.html 2>/dev/null | head -n 1)
# VIEWER=no leaves that out; who does not say so gets it where it can be made.
[ -f dist/viewer.wasm ] || [ "${VIEWER:-}" = no ] || [ ! -d /usr/include/wasm32-wasi ] || newest=viewer.wasm
if [ ! -f dist/index.html ] || [ -n "$newest" ]; then
    node build.mjs
fi
