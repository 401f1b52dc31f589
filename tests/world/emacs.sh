# emacs-nox: its own heap from a dump, garbage collection by its stack, a file compiled
numbers 20000 >numbers
cat >work.el <<'L'
(require 'cl-lib)
(defun crunch (n) (cl-loop for i below n collect (cons i (make-string (% i 50) ?x))))
(with-temp-buffer
  (insert-file-contents "numbers")
  (sort-numeric-fields 1 (point-min) (point-max))
  (princ (format "%s %d %d\n" (buffer-substring (point-min) 20) (line-number-at-pos (point-max))
                 (length (crunch 50000)))))
(garbage-collect)
(princ (format "%s\n" (condition-case e (car 5) (error (error-message-string e)))))
(kill-emacs 3)
L
same run emacs -Q --batch -l work.el
cp work.el compiled.el
same compile emacs -Q --batch -f batch-byte-compile compiled.el
