// A service that keeps every session it ever saw: the objects in V8's heap, the bodies outside of it.
"use strict";
const sessions = new Map();

function open(id) {
    return { id, user: `user-${id}`, visits: Array.from({ length: 8 }, (_, n) => ({ n, at: id + n })) };
}

function keep(id) {
    const session = open(id);
    session.body = Buffer.alloc(16 * 1024, 1);
    sessions.set(id, session);
}

for (let id = 0; id < Number(process.argv[2] ?? 4000); id++) keep(id);
console.log(sessions.size, "sessions");
