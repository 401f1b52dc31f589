# A profile names files as it likes. In a page that is passed on, and from a server, are those of this machine
# only if the profile was recorded on it since it was started, or if --source-path says where they are.
. "$HERE/lib.sh"
. "$HERE/serving.sh"

mkdir theirs sources sources/below
echo "int secret;" >theirs/secret.c
echo "int open;" >sources/open.c
touch -d 2001-01-01 theirs/secret.c sources/open.c
tidemark record -q -o own.tmk "$VICTIMS/basic" >/dev/null 2>&1
tidemark unpack own.tmk own.db

# What the page of a profile has, and what a server gives, of a file that it names PATH.
texts() { # DB PATH OPTION…
    local db=$1 path=$2
    shift 2
    rm -f named.db page.html
    cp "$db" named.db
    # Variables name files too. Another path than $path would be the server's first file, or not, as the tree lies.
    sqlite3 named.db "UPDATE file SET path = '$path'; UPDATE variable SET file = '$path'; UPDATE location_frame SET line = 1"
    tidemark html "$@" -o page.html named.db 2>err
    python3 - <<'P'
import base64, gzip, re
found = [gzip.decompress(base64.b64decode(text)) for text in re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", open("page.html").read()) if text.startswith("H4sI")]
texts = {word for word in (b"int secret;", b"int open;") for text in found if word in text}
print("html:", *(sorted(word.decode() for word in texts) or ["nothing"]))
P
    grep -c "^/.*\.c$" err | sed 's/^/listed: /'
    begin "$@" named.db
    get p/0/source/0 >got 2>&1
    grep -o 'int [a-z]*;\|is not read: the recording is of another machine' got | sed 's/^/serve: /' | grep . || head -c 600 got
    kill -TERM $server
    wait $server
}

echo "== of this machine, as it runs"
texts own.db "$PWD/sources/open.c"
echo "== of before it was started, of another machine, of who says neither"
cp own.db boot.db
sqlite3 boot.db "UPDATE meta SET value = '00000000-0000-4000-8000-000000000000' WHERE key = 'boot_id'"
texts boot.db "$PWD/theirs/secret.c"
cp own.db host.db
sqlite3 host.db "UPDATE meta SET value = 'elsewhere' WHERE key = 'host'"
texts host.db "$PWD/theirs/secret.c"
cp own.db none.db
sqlite3 none.db "DELETE FROM meta WHERE key IN ('boot_id', 'host')"
texts none.db "$PWD/theirs/secret.c"
echo "== as the user says"
texts boot.db /build/open.c --source-path "/build=$PWD/sources"
texts boot.db /build/below/./../open.c --source-path "/build=$PWD/sources"
echo "== and nothing beside it"
texts boot.db "/build/../theirs/secret.c" --source-path "/build=$PWD/sources"
texts boot.db "/build/below/../../theirs/secret.c" --source-path "/build=$PWD/sources"
texts boot.db "../../theirs/secret.c" --source-path "..=$PWD/sources"
echo "== a trace says of where it is"
tidemark record -q --trace -o traced.tmk "$VICTIMS/basic" >/dev/null 2>&1
rm traced.tmk
tidemark replay -q -o again.tmk traced.tmt >/dev/null 2>&1
query again.tmk "SELECT count(*) FROM meta WHERE key IN ('boot_id', 'host')"
