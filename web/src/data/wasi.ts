/* The system that the readers in WebAssembly see (viewer/viewer.c): one directory, "/", of files in
 * memory, which may be read. The functions are those of WASI preview 1 that its C library calls,
 * and answer with that interface's numbers. */

const OK = 0,
    BADF = 8,
    NOENT = 44,
    NOSYS = 52;
const ROOT = 3,
    DIRECTORY = 3,
    REGULAR = 4,
    CHARACTERS = 2;

/* Why the instance has ended. */
export class Ended extends Error {}

interface Opened {
    bytes: Uint8Array | null /* null: the directory */;
    inode: bigint;
    at: number;
}

export class Wasi {
    private readonly files = new Map<string, { bytes: Uint8Array; inode: bigint }>();
    private readonly opened = new Map<number, Opened>();
    private memory: WebAssembly.Memory | null = null;

    add(name: string, bytes: Uint8Array): void {
        this.files.set(name, { bytes, inode: BigInt(this.files.size + 2) });
    }

    start(instance: WebAssembly.Instance): void {
        this.memory = instance.exports["memory"] as WebAssembly.Memory;
        (instance.exports["_initialize"] as () => void)();
    }

    /* Memory moves when it grows: never kept. */
    private get view(): DataView {
        return new DataView(this.memory!.buffer);
    }

    private text(at: number, bytes: number): string {
        return new TextDecoder().decode(new Uint8Array(this.memory!.buffer, at, bytes));
    }

    private fileNamed(at: number, bytes: number) {
        return this.files.get(this.text(at, bytes).replace(/^\/+/, ""));
    }

    private stat(at: number, kind: number, inode: bigint, bytes: number): number {
        const view = this.view;
        for (let i = 0; i < 64; i += 8) view.setBigUint64(at + i, 0n, true);
        view.setBigUint64(at + 8, inode, true);
        view.setUint8(at + 16, kind);
        view.setBigUint64(at + 24, 1n, true);
        view.setBigUint64(at + 32, BigInt(bytes), true);
        return OK;
    }

    /* From `from` on into the buffers; how many bytes. */
    private scatter(bytes: Uint8Array, from: number, vectors: number, count: number): number {
        const view = this.view;
        let done = 0;
        for (let i = 0; i < count; i++) {
            const to = view.getUint32(vectors + 8 * i, true),
                room = view.getUint32(vectors + 8 * i + 4, true);
            const part = bytes.subarray(from + done, from + done + room);
            new Uint8Array(view.buffer, to, part.length).set(part);
            done += part.length;
            if (part.length < room) break;
        }
        return done;
    }

    private openPath(path: number, bytes: number, out: number): number {
        const file = this.fileNamed(path, bytes),
            isRoot = /^[./]*$/.test(this.text(path, bytes));
        if (!file && !isRoot) return NOENT;
        let fd = ROOT + 1;
        while (this.opened.has(fd)) fd++;
        this.opened.set(fd, { bytes: file?.bytes ?? null, inode: file?.inode ?? 1n, at: 0 });
        this.view.setUint32(out, fd, true);
        return OK;
    }

    private seek(fd: number, offset: bigint, from: number, out: number): number {
        const file = this.opened.get(fd);
        if (!file?.bytes) return BADF;
        file.at = Number(offset) + [0, file.at, file.bytes.length][from]!;
        this.view.setBigUint64(out, BigInt(file.at), true);
        return OK;
    }

    private kindOf(fd: number): number | null {
        if (fd < ROOT) return CHARACTERS;
        if (fd === ROOT) return DIRECTORY;
        const file = this.opened.get(fd);
        return file ? (file.bytes ? REGULAR : DIRECTORY) : null;
    }

    private readonly calls = {
        fd_prestat_get: (fd: number, out: number) => {
            if (fd !== ROOT) return BADF;
            this.view.setUint32(out, 0, true);
            this.view.setUint32(out + 4, 1, true);
            return OK;
        },
        fd_prestat_dir_name: (_fd: number, out: number) => {
            this.view.setUint8(out, "/".charCodeAt(0));
            return OK;
        },
        path_open: (_fd: number, _how: number, path: number, bytes: number, ...rest: unknown[]) =>
            this.openPath(path, bytes, rest[4] as number),
        path_filestat_get: (
            _fd: number,
            _how: number,
            path: number,
            bytes: number,
            out: number,
        ) => {
            const file = this.fileNamed(path, bytes);
            return file ? this.stat(out, REGULAR, file.inode, file.bytes.length) : NOENT;
        },
        fd_filestat_get: (fd: number, out: number) => {
            const kind = this.kindOf(fd),
                file = this.opened.get(fd);
            if (kind === null) return BADF;
            return this.stat(out, kind, file?.inode ?? 1n, file?.bytes?.length ?? 0);
        },
        fd_fdstat_get: (fd: number, out: number) => {
            const kind = this.kindOf(fd);
            if (kind === null) return BADF;
            for (let i = 0; i < 24; i += 8) this.view.setBigUint64(out + i, ~0n, true);
            this.view.setUint16(out, kind, true);
            this.view.setUint16(out + 2, 0, true);
            return OK;
        },
        fd_read: (fd: number, vectors: number, count: number, out: number) => {
            const file = this.opened.get(fd);
            if (!file?.bytes) return BADF;
            const got = this.scatter(file.bytes, file.at, vectors, count);
            file.at += got;
            this.view.setUint32(out, got, true);
            return OK;
        },
        fd_pread: (fd: number, vectors: number, count: number, offset: bigint, out: number) => {
            const file = this.opened.get(fd);
            if (!file?.bytes) return BADF;
            this.view.setUint32(
                out,
                this.scatter(file.bytes, Number(offset), vectors, count),
                true,
            );
            return OK;
        },
        fd_seek: (fd: number, offset: bigint, from: number, out: number) =>
            this.seek(fd, offset, from, out),
        fd_close: (fd: number) => (this.opened.delete(fd) ? OK : BADF),
        /* What is said on standard error is nobody's here. */
        fd_write: (fd: number, vectors: number, count: number, out: number) => {
            if (fd >= ROOT) return BADF;
            let bytes = 0;
            for (let i = 0; i < count; i++) bytes += this.view.getUint32(vectors + 8 * i + 4, true);
            this.view.setUint32(out, bytes, true);
            return OK;
        },
        fd_readdir: () => NOSYS,
        poll_oneoff: () => NOSYS,
        proc_exit: (status: number) => {
            throw new Ended(`it ended with status ${status}`);
        },
    };

    /* For instantiate(). */
    get imports(): WebAssembly.Imports {
        return { wasi_snapshot_preview1: this.calls };
    }
}
