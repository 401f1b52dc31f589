# erlang-base: allocators of its own in every scheduler, dozens of threads, a JIT
export HOME=$work ERL_CRASH_DUMP=/dev/null
cat >work.erl <<'L'
-module(work).
-export([main/0]).
main() ->
    Self = self(),
    Pids = [spawn(fun() -> Self ! {self(), length(lists:sort([(I * N) rem 100003 || I <- lists:seq(1, 20000)]))} end) || N <- lists:seq(1, 50)],
    Sum = lists:sum([receive {P, L} -> L end || P <- Pids]),
    T = ets:new(t, []),
    [ets:insert(T, {I, integer_to_binary(I)}) || I <- lists:seq(1, 100000)],
    io:format("~p ~p~n", [Sum, ets:info(T, size)]),
    halt(9).
L
erlc work.erl || skip "no compiler"
same run erl -noshell -pa . -s work main
