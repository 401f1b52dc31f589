# What the scenarios share that ask a server: begin starts `tidemark serve`, its address is in $url and
# in the file url, end stops it. What the server leaves behind would be in tmp.
command -v python3 >/dev/null || skip "no python3"
command -v curl >/dev/null || skip "no curl"
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
# Prints the status and what comes, or why not. By curl: a Python for each question took most of the time.
answers=$(dirname "$PWD")
get() { # TARGET
    local answer=$answers/answer.$BASHPID status
    status=$(curl -s -g --noproxy '*' --max-time 600 -o "$answer" -w '%{http_code}' \
        -H "Authorization: Bearer ${url##*token=}" "${url%%#*}api/v1/$1") || return
    printf '%s ' "$status"
    if [ "$status" = 200 ]; then
        cat "$answer"
        echo
    else
        jq -r '.detail // ""' "$answer"
    fi
    rm -f "$answer"
}
