# truth: healthy
# what: sbcl compiles and runs a program
# needs: sbcl
echo '(defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (print (f 27)) (let ((h (make-hash-table))) (dotimes (i 100000) (setf (gethash i h) (list i i))) (print (hash-table-count h)))' >a.lisp
record sbcl --script a.lisp
