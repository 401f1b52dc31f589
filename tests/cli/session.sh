# A session file: its overview, and FILE@PID as the profile of every command.
. "$HERE/lib.sh"
golden="$HERE/../golden"

cp "$golden/session-v1.session.tmk" s.session.tmk
cp "$golden/profile-v2-details.tmk" own.tmk
cp own.tmk another.tmk && touch -d '2001-01-01' another.tmk # of another time: no part of it
try tidemark report s.session.tmk
rm another.tmk
cat out
try tidemark report --json s.session.tmk
jq -c '[.format, .processes, .peak_bytes, .beside, .largest],
       (.programs[] | [.program, .processes, .peak_bytes, .sum_bytes, .allocations, .failed]),
       (.profiles[] | [.profile, .pid, .row, .state])' out

# One row is what the process's own file is.
for command in "report" "report --json" "insight" "query" "check --max leaked=1G" "diff own.tmk"; do
    case $command in
        query) sql='SELECT function, at_peak_bytes FROM top_functions' ;;
        *) sql= ;;
    esac
    tidemark $command s.session.tmk@4711.1 ${sql:+"$sql"} 2>&1 | sed 's/s.session.tmk@4711.1/PROFILE/g' >row
    tidemark $command own.tmk ${sql:+"$sql"} 2>&1 | sed 's/own.tmk/PROFILE/g' >file
    case $command in
        diff*) grep -v before row >row.rest; grep -v before file >file.rest; mv row.rest row; mv file.rest file ;;
    esac
    [ -s row ] && cmp row file && echo "$command: the same"
done
tidemark unpack s.session.tmk@4711.1 row.db && tidemark unpack own.tmk file.db
for table in meta site path thread timeline sample residency variable source curve; do
    # A row is put into tables as they are today; the file has its own, which may lack a column.
    columns=$(sqlite3 file.db "SELECT group_concat(name) FROM pragma_table_info('$table')")
    sqlite3 row.db "SELECT $columns FROM $table" >row
    sqlite3 file.db "SELECT $columns FROM $table" >file
    [ -s row ] && cmp row file && echo "$table: the same"
done
tidemark export --to folded -o - s.session.tmk@4711.1 | head -1
tidemark html -o page.html s.session.tmk@4711.1 2>/dev/null && [ -s page.html ] && echo "a page"
tidemark plot -o plot.svg s.session.tmk@4711.1 2>/dev/null && [ -s plot.svg ] && echo "a plot"

# Without a number the last image, and that is said.
try tidemark report s.session.tmk@4711
grep -A1 '  chosen' out

# What cannot be meant, in one sentence.
try tidemark report s.session.tmk@12
cat err
try tidemark report s.session.tmk@4711.3
cat err
try tidemark query s.session.tmk 'SELECT 1'
cat err
try tidemark report nothing@12
cat err
try tidemark report --tree s.session.tmk
cat err
try tidemark report --sort leaked s.session.tmk
cat err

# A directory, with what cannot be read; by the name of a profile; a file of that very name.
mkdir dir
cp s.session.tmk dir/run.session.tmk
cp own.tmk dir/run.tmk
echo 'no profile' >dir/foreign.tmk
try tidemark report dir
cat out
tidemark query dir/run.tmk@4711 'SELECT count(*) AS samples FROM sample'
tidemark query dir@4711.1 'SELECT count(*) AS samples FROM sample'
cp own.tmk dir/run.session.tmk@4711
tidemark query dir/run.session.tmk@4711 'SELECT count(*) AS samples FROM sample'

# A process whose figures are unknown leaves the sums unknown, and what is known of them is a lower bound.
mkdir some
cp own.tmk some/known.tmk
tidemark unpack own.tmk some/unknown.tmk
sqlite3 some/unknown.tmk "UPDATE program SET alloc_count = NULL, alloc_bytes = NULL, peak_bytes = NULL;
    UPDATE meta SET value = 'other' WHERE key = 'program'"
try tidemark report some
head -5 out
sed -n '/^Programs/,/^$/p' out
tidemark report --json some | jq -c '., .programs[] | [.processes, .peak_bytes, .sum_bytes, .allocations, .at_least, .known_processes]'
sqlite3 some/unknown.tmk "UPDATE meta SET value = 'solver' WHERE key = 'program'"
tidemark report some | sed -n '/^Programs/,/^$/p'
cp some/unknown.tmk some/known.tmk
tidemark report some | grep '^  allocated'
tidemark report --json some | jq -c '[.peak_bytes, .sum_bytes, .at_least, .known_processes]'

# A row that was cut off costs only itself.
head -c -100 s.session.tmk >cut.session.tmk
try tidemark report cut.session.tmk
head -1 out
grep -A2 'Not read' out
tidemark query cut.session.tmk@4711 'SELECT count(*) AS samples FROM sample'

# Nothing there; the directory of a job.
mkdir empty job
try tidemark report empty
cat err
touch job/rank-00000.entry
try tidemark report job
cat err
