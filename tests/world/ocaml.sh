# ocaml-nox: a heap in chunks, compaction, signals and exceptions
cat >work.ml <<'L'
let () =
  let h = Hashtbl.create 16 in
  for i = 0 to 200000 do Hashtbl.replace h (string_of_int (i * 7919 mod 100003)) i done;
  Gc.compact ();
  let rec deep n = if n = 0 then raise Exit else 1 + deep (n - 1) in
  (try ignore (deep 50000) with Exit -> print_endline "out");
  Printf.printf "%d %d\n" (Hashtbl.length h) (Bytes.length (Bytes.make 10_000_000 'x'));
  exit 5
L
same bytecode ocaml work.ml
ocamlfind=$(command -v ocamlopt) && same compile ocamlopt -o work work.ml && same native ./work
