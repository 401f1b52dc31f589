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

echo "--- one file"
tidemark html run64/ 2>&1
tidemark html --ranks -o all.html two/a 2>&1
listed() { grep -o 'data-name="profiles" data-type="json">[^<]*' "$1" | sed 's/.*>//' | base64 -d | gunzip | jq -c '[.profiles[] | [.name, .kind, .file]]'; }
listed run64.html
listed all.html
grep -o 'data-name="p/0/ranks"' run64.html
ls tmp
