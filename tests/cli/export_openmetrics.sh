# OpenMetrics, read by Prometheus's Python client, and by promtool where that is installed.
. "$HERE/lib.sh"
/usr/bin/python3 -c 'import prometheus_client.openmetrics.parser' 2>/dev/null || skip "no prometheus_client"

tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
tidemark export --to openmetrics run.tmk 2>/dev/null
/usr/bin/python3 "$HERE/exchanged.py" openmetrics run.tmk run.om.txt
tail -1 run.om.txt
if command -v promtool >/dev/null; then
    promtool check metrics <run.om.txt
fi
