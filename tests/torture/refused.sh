#!/bin/bash
# What cannot be recorded is refused with a sentence and not started: static programs, sanitised ones, and Go
# programs, which are static unless they use C.
. "$(dirname "$0")/lib.sh"
tried=0
echo 'int main(void) { return 0; }' >empty.c

refused() { # PROGRAM PATTERN
    tried=$((tried + 1))
    "$TIDEMARK" record -q -o refused.tmk "$1" >out 2>err
    local status=$?
    [ $status -ge 125 ] && [ $status -le 127 ] || fail "$1: status $status"
    one_sentence_about err "$2"
    [ ! -e refused.tmk ] || fail "$1: there is a profile"
}
if command -v musl-gcc >/dev/null; then
    musl-gcc -static empty.c -o musl_static && refused ./musl_static 'static'
fi
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    for sanitizer in address thread leak memory; do
        $compiler -fsanitize=$sanitizer empty.c -o "$compiler-$sanitizer" 2>/dev/null || continue
        refused "./$compiler-$sanitizer" '[Ss]anitizer|sanitised|sanitized'
    done
done
if command -v go >/dev/null; then
    printf 'package main\nimport "fmt"\nfunc main() { fmt.Println("go") }\n' >static.go
    CGO_ENABLED=0 GOCACHE=$work/cache GOPATH=$work/gopath GOFLAGS=-mod=mod go build -o static_go static.go && refused ./static_go 'static'
fi
[ $tried -gt 0 ] || skip "none of the compilers is installed"
echo "$tried programs refused"
exit $failed
