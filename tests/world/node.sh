# nodejs: a sort, streams, workers, a rejected promise
same sort node -e 'const a = []; for (let i = 0; i < 200000; i++) a.push((i * 7919) % 100003); a.sort((x, y) => x - y); console.log(a[777], JSON.stringify(a).length)'
same zlib node -e 'const z = require("zlib"); const b = z.gzipSync(Buffer.alloc(1 << 20, "tidemark")); console.log(b.length, z.gunzipSync(b).length)'
same exits node -e 'process.on("unhandledRejection", e => { console.log(e.message); process.exit(9) }); Promise.reject(new Error("so"))'
