#!/bin/sh
# web.sh: builds the browser's half into web/dist if its sources are newer than that. Says little when
# all is well.
set -eu
cd "$(dirname "$0")/../web"

if ! command -v npm >/dev/null; then
    echo "web: no npm here: a plain page instead of the web view" >&2
    exit 0
fi

# The packages of the lock file, and no others; their install scripts are not run.
if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >npm.log 2>&1 || { cat npm.log >&2; exit 1; }
    rm -f npm.log
    touch node_modules/.package-lock.json
fi

newest=$(find src build.mjs package-lock.json -newer dist/index.html 2>/dev/null | head -n 1)
if [ ! -f dist/index.html ] || [ -n "$newest" ]; then
    node build.mjs
fi
