# What a page may ask a server and leave with it: SQL, which only reads, in bounds, and notes, which lie
# in a file of their own beside the profile.
. "$HERE/lib.sh"
. "$HERE/serving.sh"

tidemark record -q -o run.tmk "$VICTIMS/basic" 1 >/dev/null 2>&1
cp run.tmk before.tmk
begin run.tmk
python3 "$HERE/serve_ask.py" "$url" run.tmk
ls -l run.tmk.notes | cut -c1-10
cmp run.tmk before.tmk && echo "the profile is as it was"
ls
end

echo "--- what is there and is not ours"
for kind in text folder link draft; do
    rm -rf run.tmk.notes run.tmk.notes.new other
    case $kind in
    text) echo mine >run.tmk.notes ;;
    folder) mkdir run.tmk.notes ;;
    link) echo mine >other && ln -s other run.tmk.notes ;;
    draft) echo mine >run.tmk.notes.new ;;
    esac
    begin run.tmk
    python3 "$HERE/serve_ask.py" "$url" write
    end
    cat run.tmk.notes run.tmk.notes.new other 2>/dev/null
done
rm -rf run.tmk.notes run.tmk.notes.new other

echo "--- without a token"
begin --no-token run.tmk
curl -s --data 'SELECT 1 AS one' "${url%%#*}api/v1/p/0/query"
curl -s -X PUT --data '{"format":"tidemark-notes","version":1,"notes":[]}' "${url%%#*}api/v1/p/0/notes" | jq -r .detail
curl -s -H 'Origin: http://evil.example' --data 'SELECT 1' "${url%%#*}api/v1/p/0/query" | jq -r .detail
end
ls

echo "--- no notes"
begin --no-notes run.tmk
python3 "$HERE/serve_ask.py" "$url" write
end
ls

echo "--- an end, while a statement computes for hours"
begin run.tmk
python3 "$HERE/serve_ask.py" "$url" stuck
end

echo "--- two servers of one profile"
begin run.tmk
first=$server other=$url
begin run.tmk
python3 "$HERE/serve_ask.py" "$url" both "$other"
end
server=$first
end

echo "--- a profile that is replaced, a job, a trace"
tidemark record -q --trace -o traced.tmk "$VICTIMS/basic" 1 >/dev/null 2>&1
begin traced.tmt
curl -s -H "Authorization: Bearer ${url##*=}" --data 'SELECT count(*) > 3 AS many FROM functions' "${url%%#*}api/v1/p/0/query"
python3 "$HERE/serve_ask.py" "$url" write
ls traced*
end
