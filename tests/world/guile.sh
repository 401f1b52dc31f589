# guile-3.0: a collector that stops threads by signals and reads their stacks, code made at run time
export GUILE_AUTO_COMPILE=0
cat >work.scm <<'L'
(use-modules (ice-9 threads) (ice-9 format))
(define (crunch n) (let loop ((i 0) (l '())) (if (= i n) (length l) (loop (+ i 1) (cons (number->string i) l)))))
(format #t "~a\n" (par-map crunch '(100000 200000 300000)))
(define k #f)
(define count 0)
(call/cc (lambda (c) (set! k c)))
(set! count (+ count 1))
(if (< count 100) (k #f))
(format #t "~a ~a\n" count (string-length (number->string (expt 7 20000))))
(exit 6)
L
same run guile -s work.scm
