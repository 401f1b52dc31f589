# sbcl: a heap of its own whose pages are protected and faults handled, its own stack walks
cat >work.lisp <<'L'
(defun crunch (n) (let ((h (make-hash-table :test 'equal))) (dotimes (i n) (setf (gethash (format nil "~d" (mod (* i 7919) 100003)) h) i)) (hash-table-count h)))
(format t "~d~%" (crunch 60000))
(gc :full t)
(format t "~a~%" (handler-case (error "so") (error (e) (princ-to-string e))))
(sb-ext:run-program "/bin/true" '())
(sb-ext:exit :code 8)
L
same run sbcl --script work.lisp
