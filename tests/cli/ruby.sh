# Ruby beside C: blocks of a mebibyte have the path that Ruby's own caller_locations says, in each way that Ruby
# runs code; for every interpreter of $TIDEMARK_RUBIES, or the one there is.
. "$HERE/lib.sh"

script=$HERE/ruby_lines.rb
rubies=
for ruby in ${TIDEMARK_RUBIES:-ruby}; do
    "$ruby" -e 'exit RUBY_ENGINE == "ruby" && (RUBY_VERSION.to_f >= 2.7 && RUBY_VERSION.to_f < 3.5)' 2>/dev/null && rubies="$rubies $ruby"
done
[ -n "$rubies" ] && [ "$(uname -m)" = x86_64 ] || skip "no Ruby 2.7 to 3.4 on x86-64"

# Paths of blocks of a mebibyte, with how many there are, as the script prints them: a native method has the line of
# the next frame that has one.
paths() { # PROFILE
    rm -f paths.db
    "$BIN/tidemark" unpack "$1" paths.db
    sqlite3 -separator ' ' paths.db "WITH RECURSIVE up(site, count, path, text) AS (
            SELECT site.path, site.peak_bytes >> 20, site.path, '' FROM site WHERE site.peak_bytes >= 1 << 20
            UNION ALL SELECT site, count, path.parent, text || CASE WHEN function.name = '*' OR NOT coalesce(file.path LIKE '%.rb' OR substr(file.path, 1, 1) IN ('[', '(', '<'), 0) THEN ''
                ELSE CASE WHEN text = '' THEN '' ELSE ' < ' END || function.name || CASE WHEN frame.line = 0 THEN '' ELSE ':' || frame.line END END
            FROM up JOIN path ON path.id = up.path JOIN location_frame AS frame USING (location)
                LEFT JOIN function ON function.id = frame.function LEFT JOIN file ON file.id = function.file WHERE frame.depth = 0)
        SELECT sum(count), text FROM (SELECT count, text, max(length(text)) FROM up GROUP BY site)
        WHERE text LIKE '%:%' AND text NOT LIKE 'initialize <%' GROUP BY text" |
        awk '{ n = split($0, frame, " < "); line = ""
               for (i = n; i; i--) if (frame[i] ~ /:[0-9]+$/) line = substr(frame[i], match(frame[i], /:[0-9]+$/)); else frame[i] = frame[i] line
               text = frame[1]; for (i = 2; i <= n; i++) text = text " < " frame[i]
               print text }' | LC_ALL=C sort
}

check() { # RUBY
    export RUBY_LINES_FILE=$PWD/loaded.rb
    local options
    for mode in plain thread fork jit; do
        options=
        if [ $mode = jit ]; then
            options="--yjit --yjit-call-threshold=1"
            "$1" $options -e 'exit RubyVM::YJIT.enabled?' 2>/dev/null || {
                echo "jit: 1"
                continue
            }
        fi
        rm -f mode.*.tmk
        tidemark record -q --separate -o 'mode.%p.tmk' "$1" $options "$script" ${mode/jit/plain} | LC_ALL=C sort >want
        for profile in mode.*.tmk; do
            [ $mode = fork ] && [ "$(query "$profile" "SELECT value FROM meta WHERE key = 'started_by'")" != fork ] && continue
            echo "$mode: $(($(wc -l <want) > 100))"
            paths "$profile" | diff - want
        done
    done
}

for ruby in $rubies; do
    check "$ruby" >result 2>&1
    cat result
done

# Methods that are made, called once and forgotten have each its line, though others have their addresses later: one block of
# 40 kB each.
cat >evals.rb <<'L'
def big() = 'y' * 40_000
want = Hash.new(0)
kept = []
srand(1)
20_000.times do |i|
  lines, name = rand(4), "m#{rand(1000)}"
  made = Class.new { class_eval "def #{name}\n#{"\n" * lines}big\n#{"\n" * (4 - lines)}end", 'made.rb' }
  made.new.send(name)
  want["#{name}:#{2 + lines}"] += 1
  kept << 'z' * 100 if i % 3 == 0
  kept << made if i % 50 == 0
end
want.each { |name, count| puts "#{name} #{count}" }
L
if ruby -e 'exit RUBY_VERSION.to_f >= 3' 2>/dev/null; then
    tidemark record -q -o evals.tmk ruby evals.rb | LC_ALL=C sort >want
    query evals.tmk "WITH RECURSIVE up(count, path, text) AS (
            SELECT site.alloc_bytes / 40000, path.parent, '' FROM site JOIN path ON path.id = site.path JOIN location_frame AS frame USING (location)
                JOIN function ON function.id = frame.function WHERE site.alloc_bytes >= 40000 AND function.name = '*'
            UNION ALL SELECT count, path.parent, CASE WHEN file.path = 'made.rb' THEN function.name || ':' || frame.line ELSE text END
            FROM up JOIN path ON path.id = up.path JOIN location_frame AS frame USING (location)
                LEFT JOIN function ON function.id = frame.function LEFT JOIN file ON file.id = function.file)
        SELECT text || ' ' || sum(count) FROM up WHERE path = 0 AND text != '' GROUP BY text" | LC_ALL=C sort >got
    echo "$(($(wc -l <want) > 3000))"
    diff got want
else
    echo 1
fi

# The collector allocates too, between the steps of a long collection; native methods are not read then. The block that the
# program makes next in the same place has its native method all the same. Each place is a new one: another depth.
cat >collect.rb <<'L'
def big() = 'y' * 6_000
def down(n) = n == 0 ? big : down(n - 1)
wide = Array.new(30) { Array.new(10_000) { Object.new } }
20.times do
  GC.start(immediate_mark: false, immediate_sweep: false)
  800.times { |n| down(n) }
end
L
if ruby -e 'exit RUBY_VERSION.to_f >= 3' 2>/dev/null; then
    tidemark record -q -o collect.tmk ruby collect.rb
    query collect.tmk "SELECT function.name, sum(alloc_bytes) / 6001 >= 15900 FROM site JOIN path ON path.id = site.path JOIN location_frame AS frame USING (location)
        JOIN function ON function.id = frame.function WHERE site.size_max BETWEEN 6000 AND 6001 GROUP BY function.name"
else
    echo '*|1'
fi
