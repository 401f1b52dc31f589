# Jobs in the browser: the job first, its ranks behind, read when they are asked for.
. "$HERE/lib.sh"
. "$HERE/serving.sh"

"$MAKE_JOB" run16 16
"$MAKE_JOB" run64 64 16 7
begin run16 run64
python3 "$HERE/serve_job.py" "$url"
end

echo "--- a rank that cannot be read costs only itself"
head -c 1000 run16/rank-00005.tmk >cut && mv cut run16/rank-00005.tmk
begin run16/
get profiles | sed 's/^200 //' | jq -c '.profiles[0] | [.name, .file]'
rm run16/rank-00006.tmk
get p/6/summary | sed "s,$PWD,,"
get p/7/summary | sed "s,$PWD,,"
get p/8/summary | grep -c '^200'
get profiles | sed 's/^200 //' | jq -c '[.profiles[] | select(.error) | .name]'
end

echo "--- several in one directory"
mkdir two
"$MAKE_JOB" two/a 2 2 -1 first
"$MAKE_JOB" two/b 3 3 -1 second
try tidemark serve two
sed 's/, 20.*//' err
begin --id second two
get profiles | sed 's/^200 //' | jq -c '[.profiles[].name]'
end
try tidemark serve --id third two
sentence 'no job third in two'
mkdir empty
try tidemark serve empty
sentence empty

echo "--- shown while its ranks are read"
entries() { # for each profile of the job what its recorder would have written
    for file in "$1"/rank-*.tmk; do
        name=$(basename "$file" .tmk) rank=$((10#${name#rank-}))
        printf 'tidemark entry 1\njob %s\nrank %s\nranks %s\nhost node%s\npid %s\nprogram held\nprofile %s.tmk\nend exit\nend_status %s\nduration_ns 1000000000\npeak_bytes %s\n.\n' \
            "$1" $rank "$2" $((rank / 4)) $((100 + rank)) "$name" $((rank == 2)) \
            "$(tidemark report --json "$file" | jq .program.peak_bytes)" >"$1/$name.entry"
    done
}
"$MAKE_JOB" held 8
entries held 8
head -c 1000 held/rank-00005.tmk >cut && mv cut held/rank-00005.tmk
state() { get profiles | sed 's/^200 //' | jq -c '.profiles[0] | [.state, .generation, .read, .to_read, .error]'; }
is_at() { [ "$(state)" = "$1" ]; }
held() { # starts it where the file $1 of the job cannot be had; all others are read then
    touch hold
    HOLD=hold HOLD_NAME=$1 LD_PRELOAD=$HOLD_OPEN begin_reading ${1%/*}
}
held held/rank-00005.tmk # the shortest, which is read last
until_true is_at '["reading",1,7,8,null]'
state
get p/0/summary | sed 's/^200 //' | jq -c '[.state, .meta.program, .meta.to_read, .program, .counts, .resources]'
get p/0/ranks | sed 's/^200 //' >first
jq -c '.ranks[] | [.id, .rank, .state, .status, .node, .duration_ns, .peak_bytes != null, .peak_ns, .live_bytes, .alloc_count, .lost_events]' first | sed -n '1p;3p;6p'
jq -c '.nodes[] | [.name, .ranks, .lower_bytes, .upper_bytes, .not_read]' first
for name in top insights timeline code query of/resident/summary region/1/summary; do get p/0/$name; done | sort | uniq -c | sed 's/^ *//'
get p/1/summary | grep -c '"state":"complete"' # a rank
# what a page hears: the first, the last, and of all between, that one generation follows another; digests may be one
python3 - "$url" <<'P'
import json, os, sys
sys.path.insert(0, os.environ["HERE"])
from served import Server
answer = Server(sys.argv[1]).connect("live").getresponse()
told = []
while True:
    line = answer.readline().decode().strip()
    if '"profile":0,' not in line:
        continue
    told.append(json.loads(line.removeprefix("data: ")))
    if os.path.exists("hold"):
        os.remove("hold")
    if '"complete"' in line:
        break
first, *between, last = told
print(json.dumps(first))
print(all(each["state"] == "reading" and each["read"] <= each["to_read"] == 8 and each["error"] is None for each in between))
print([each["generation"] for each in told] == sorted(each["generation"] for each in told))
print(last["state"], last["generation"] in (2, 3))
P
state | sed 's/,[23],/,2 or 3,/'
get p/0/ranks | sed 's/^200 //' >whole
echo "same ids: $(cmp <(jq -c '.ranks[] | [.id, .rank, .file]' first) <(jq -c '.ranks[] | [.id, .rank, .file]' whole) && echo yes)"
echo "same peaks: $(cmp <(jq -c '.ranks[] | select(.id != 6).peak_bytes' first) <(jq -c '.ranks[] | select(.id != 6).peak_bytes' whole) && echo yes)"
jq -c '.ranks[] | select(.id == 6) | [.state, .peak_bytes, .note != null]' whole
tidemark job -o whole.tmk held >/dev/null 2>&1
everything() {
    for name in $(get p/0/summary | sed 's/^200 //' | jq -r '.resources[]'); do
        echo "$name $(get p/0/$name | sed '/"sources\|^$/d' | md5sum)"
    done
}
everything >served
end
begin whole.tmk
everything >of_file
end
echo "as tidemark job says: $(cmp served of_file && echo yes), $(wc -l <served) resources"
echo "--- of a recorded job all that is said first stays true"
tidemark record -q --job=recorded --job-id=one sh -c 'ls >/dev/null; sh -c "exit 3"; sh -c "kill -9 \$\$"; true' 2>/dev/null
job=recorded/one
held "$(ls -S $job/*.tmk | tail -1)"
count=$(ls $job/*.tmk | wc -l)
until_true is_at "[\"reading\",1,$((count - 1)),$count,null]"
get p/0/ranks | sed 's/^200 //' >first
rm hold
until_true jobs_are_read
get p/0/ranks | sed 's/^200 //' >whole
end
jq -c '[.ranks[] | [.state, .status, .signal]] | sort | .[]' first
jq -n --slurpfile first first --slurpfile whole whole '[$first[0].ranks, $whole[0].ranks] | transpose
    | map(. as [$first, $whole] | $first | to_entries | map(select(.value != null and .value != "not read yet" and .value != $whole[.key])))
    | flatten' -c
echo "--- shown while the entries of its directory are read"
plain_entries() { # more than 64 of them are not waited for
    for file in "$1"/rank-*.tmk; do
        name=$(basename "$file" .tmk) rank=$((10#${name#rank-}))
        printf 'tidemark entry 1\njob %s\nrank %s\nranks %s\npid %s\nprogram held\nprofile %s.tmk\nend exit\nend_status 0\npeak_bytes 1000\n.\n' \
            "$1" $rank "$2" $((100 + rank)) "$name" >"$1/$name.entry"
    done
}
"$MAKE_JOB" long 66
plain_entries long 66
listed() { get profiles | sed 's/^200 //' | jq -c '.profiles | [length, (.[0] | .state, .listed, .to_list, .read, .to_read)]'; }
listed_is() { [ "$(listed)" = "$1" ]; }
rows() { get p/0/ranks | sed 's/^200 //' | jq -c '[.ranks[] | .rank]'; }
rows_are() { [ "$(rows)" = "$1" ]; }
held long/rank-00005.entry
until_true listed_is '[1,"reading",5,66,null,null]'
until_true rows_are '[0,1,2,3,4]'
listed
get p/0/summary | sed 's/^200 //' | jq -c '[.state, .meta.program, .meta.job_ranks, .resources]'
get p/0/ranks | sed 's/^200 //' | jq -c '.ranks[3] | [.state, .pid, .peak_bytes, .alloc_count]'
get p/0/top
get p/1/summary
rm hold
until_true jobs_are_read
listed
get p/66/summary | grep -c '"state":"complete"' # a rank
get p/0/summary | sed 's/^200 //' | jq -c '[.state, .meta.job_ranks]'
get p/0/ranks | sed 's/^200 //' | jq -c '[.ranks[] | .rank == .id - 1] | [length, all]'
end
cp -r long late # two jobs: neither waits for the other's entries
touch hold also
HOLD=hold HOLD_NAME=long/rank-00005.entry HOLD_ALSO=also HOLD_ALSO_NAME=late/rank-00005.entry \
    LD_PRELOAD=$HOLD_OPEN begin_reading long late
both() { get profiles | sed 's/^200 //' | jq -c '.profiles | [length, (.[0] | .listed), (.[1] | .listed, .read, .to_read)]'; }
both_are() { [ "$(both)" = "$1" ]; }
until_true both_are '[2,5,5,null,null]'
rm also
until_true both_are '[68,5,null,0,66]'
both
rm hold
# of more than 64 ranks nothing is read beyond digests until somebody asks
digests_are_read() { for job in 0 1; do get p/$job/summary | grep -q rank_timeline || return 1; done; }
until_true digests_are_read
for job in 0 1; do get p/$job/rank_timeline >/dev/null; done
both
for job in 0 1; do get p/$job/whole | sed 's/^200 //' | jq -c '[.kind, .state, .to_read]'; done
until_true jobs_are_read
both
end
touch hold # an entry that nobody gets: it ends all the same
HOLD=hold HOLD_NAME=long/rank-00005.entry LD_PRELOAD=$HOLD_OPEN begin_reading long
kill -TERM $server
end
rm hold
mkdir several # which job it is turns out late
cp -r long several/a
cp -r two/b several
touch hold
HOLD=hold HOLD_NAME=a/rank-00001.entry LD_PRELOAD=$HOLD_OPEN begin_reading several
rm hold
until_true jobs_are_read
get profiles | sed 's/^200 //' | jq -c '.profiles | [length, (.[0] | .state, .error)]'
end
grep -c -- '--id' err
touch hold # what else was given is wrong
(sleep 1 && rm hold) &
HOLD=hold HOLD_NAME=long/rank-00005.entry LD_PRELOAD=$HOLD_OPEN try tidemark serve long empty
sentence empty
echo "--- ended meanwhile"
held held/rank-00005.tmk # the shortest, which is read last
until_true is_at '["reading",1,7,8,null]'
kill -TERM $server
rm hold
end
echo "--- none of its profiles can be read"
for file in held/*.tmk; do : >"$file"; done
begin held
state | sed 's/,"[^"]*"\]/,"…"]/'
get p/0/top | sed 's/: .*//'
sed "s/: .*//" err | sort
end
rm -r held/*.tmk
try tidemark serve held
cat err

echo "--- with traces, what its ranks held together is exact"
for rank in 0 1; do
    PMI_SIZE=2 PMI_RANK=$rank tidemark record -q --trace --job=traced --job-id=t "$VICTIMS/imbalance" >/dev/null
done
tidemark job --json traced | jq -c '.nodes[] | [.lower_bytes, .upper_bytes]' >told
begin traced
get p/0/ranks | sed 's/^200 //' | jq -c '.nodes[] | [.lower_bytes, .upper_bytes]' | cmp - told && echo "as tidemark job says"
end
echo "--- one file"
tidemark html run64/ 2>&1
tidemark html --ranks -o all.html two/a 2>&1
listed() { grep -o 'data-name="profiles" data-type="json">[^<]*' "$1" | sed 's/.*>//' | base64 -d | gunzip | jq -c '[.profiles[] | [.name, .kind, .file]]'; }
listed run64.html
listed all.html
grep -o 'data-name="p/0/ranks"' run64.html
ls tmp
