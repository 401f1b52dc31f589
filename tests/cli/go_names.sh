# A Go program without symbols has functions, files and lines by the table that its run-time keeps.
. "$HERE/lib.sh"

command -v go >/dev/null && export GOCACHE=$PWD/cache CGO_ENABLED=1 GOFLAGS=-mod=mod GO111MODULE=off || skip "no go"
cat >hold.go <<'G'
package main

// #include <stdlib.h>
import "C"
import "unsafe"

type store struct{ kept []unsafe.Pointer }

//go:noinline
func (s *store) fill(count int) {
	for i := 0; i < count; i++ {
		s.kept = append(s.kept, C.malloc(12345))
	}
}

func main() {
	s := &store{}
	s.fill(100)
	println(len(s.kept))
}
G
go build -ldflags=-s -o hold hold.go || skip "no cgo"
"$BIN/tidemark" record -q -o hold.tmk ./hold 2>err || cat err
"$BIN/tidemark" report --sort peak hold.tmk | grep -m 1 -o 'main.*' | tr -s ' '
