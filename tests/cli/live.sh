# A report of a program that still runs; a killed collector leaves what it wrote last.
. "$HERE/lib.sh"

counted() { echo $(($(od -An -tu8 -j 64 -N 8 counters))); }
allocated() {
    query live.tmk "SELECT sum(alloc_count) FROM site JOIN path ON path.id = site.path
        JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
        WHERE function.name = 'victim_counted'"
}

tidemark record -q -o live.tmk "$VICTIMS/killed" 1 counters 2>err &
recorder=$!
until_true test -s counters
reported() { tidemark report live.tmk >out && grep -q victim_counted out; }
until_true reported && echo "a report of what still runs, with its call site"
tidemark report --json live.tmk | jq -e . >/dev/null && echo "and as JSON"
first=$(allocated)
grown() { [ "$(allocated)" -gt "$first" ]; }
until_true grown && echo "it grows"

# Every two seconds; on a busy machine that takes longer.
before=$(counted)
caught_up() { [ "$(allocated)" -ge "$before" ]; }
until_true caught_up
kill_hard "$(collector_of $recorder)"
program=$(od -An -tu8 -j 0 -N 8 counters | tr -d ' ')
caught_up && echo "what was written is there"
tidemark report live.tmk >out 2>err && grep -q victim_counted out && echo "and it reads"

# The program goes on without it, unrecorded and unharmed.
after=$(counted)
goes_on() { [ "$(counted)" -gt "$after" ]; }
until_true goes_on && echo "the program goes on"
kill -TERM "$program"
gone() { ! kill -0 "$program"; }
until_true gone
