# truth: healthy
# what: swipl solves queens
# needs: swipl
cat >q.pl <<'X'
q(N,Qs):-numlist(1,N,Ns),permutation(Ns,Qs),s(Qs).
s([]). s([Q|Qs]):-n(Q,Qs,1),s(Qs).
n(_,[],_). n(Q,[X|Xs],D):-Q=\=X+D,Q=\=X-D,D1 is D+1,n(Q,Xs,D1).
:- q(8,Qs),write(Qs),nl. :- numlist(1,200000,L),msort(L,M),length(M,K),write(K),nl,halt.
X
record swipl -q q.pl
