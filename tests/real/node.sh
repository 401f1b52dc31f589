#!/bin/bash
# node: V8's own heap and JIT code, worker threads, process.exit.
. "$(dirname "$0")/lib.sh"

need node
same plain node -e 'let a = []; for (let i = 0; i < 1e5; i++) a.push({n: i, s: "x".repeat(i % 50)}); console.log(a.length, JSON.stringify(a[77]))'
same buffers node -e 'const z = require("zlib"); const b = Buffer.alloc(1e6, "tide"); console.log(z.gunzipSync(z.gzipSync(b)).equals(b))'
same workers node -e 'const {Worker} = require("worker_threads"); let n = 0;
for (let i = 0; i < 4; i++) new Worker("require(\"worker_threads\").parentPort.postMessage([...Array(1000).keys()].reduce((a, b) => a + b))", {eval: true}).on("message", m => { n += m; if (n == 4 * 499500) console.log(n) })'
same exits node -e 'setTimeout(() => process.exit(19), 10)'
# Paths that begin in code without unwind tables are counted, as the paths themselves say.
said=$(value plain "SELECT value FROM meta WHERE key = 'unwalkable'")
counted=$(value plain "WITH RECURSIVE under(id) AS (SELECT path.id FROM path
    JOIN location ON location.id = path.location WHERE location.mark > 0 AND location.mark <> 2
    UNION ALL SELECT path.id FROM under JOIN path ON path.parent = under.id)
    SELECT count(*) FROM site JOIN under ON under.id = site.path")
[ "$said" = "$counted" ] || fail "plain: $said unwalkable paths are told, $counted are there"
exit $failed
