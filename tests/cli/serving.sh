# What the scenarios share that ask a server: begin starts `tidemark serve`, its address is in $url and
# in the file url, end stops it. What the server leaves behind would be in tmp.
command -v python3 >/dev/null || skip "no python3"
export PYTHONDONTWRITEBYTECODE=1
mkdir tmp
export TMPDIR=$PWD/tmp

# A job is whole when begin returns; begin_reading returns as soon as it is shown.
begin_reading() {
    rm -f url # what the last one said is not meant
    env -u DISPLAY -u WAYLAND_DISPLAY tidemark serve "$@" >url 2>err &
    server=$!
    until_true grep -q http url
    url=$(cat url)
}
jobs_are_read() { get profiles | sed 's/^200 //' | jq -e 'all(.profiles[]; .state != "reading")' >/dev/null; }
begin() {
    begin_reading "$@"
    case $* in # only directories are read meanwhile
    *.tmk | *.tmt) ;;
    *) until_true jobs_are_read ;;
    esac
}
end() {
    kill -TERM $server 2>/dev/null # it may have been told before, and be gone
    wait $server
    echo "ended: $?, left behind: $(ls tmp)"
}
get() { python3 "$HERE/served.py" "$url" "$1"; }
