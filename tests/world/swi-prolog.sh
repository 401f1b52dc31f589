# swi-prolog-nox: stacks that move, atoms collected by a thread, tcmalloc where it brings that
cat >work.pl <<'L'
count(0, []) :- !.
count(N, [A|T]) :- atom_number(A, N), M is N - 1, count(M, T).
:- initialization((count(100000, L), msort(L, S), length(S, N), format("~w~n", [N]),
    findall(X-Y, (between(1, 300, X), between(1, 300, Y), X * Y =:= 720), P), length(P, Q), format("~w~n", [Q]),
    concurrent_maplist([N1, N2]>>(N2 is N1 * N1), [1, 2, 3, 4], R), format("~w~n", [R]), halt(2))).
L
same run swipl -q -f work.pl
