/* The system that the readers in WebAssembly see (viewer/viewer.c): one directory, "/", of files in
 * memory. What is dropped may be read; files that a reader makes may be written too. The functions are those of WASI preview 1 that its C library calls,
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

interface Kept {
    bytes: Uint8Array; /* its room; the file is the first `length` of it */
    length: number;
    inode: bigint;
}

interface Opened {
    file: Kept | null /* null: the directory */;
    at: number;
}

const CREATE = 1; /* a flag of path_open() */

export class Wasi {
    private readonly files = new Map<string, Kept>();
    private readonly opened = new Map<number, Opened>();
    private memory: WebAssembly.Memory | null = null;

    add(name: string, bytes: Uint8Array): void {
        this.files.set(name, { bytes, length: bytes.length, inode: BigInt(this.files.size + 2) });
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

    /* By its name, or by its number as "inode-2" (viewer/browser.c: unnamed_begin()). */
    private find(name: string): Kept | undefined {
        const number = /^inode-(\d+)$/.exec(name)?.[1];
        return number
            ? [...this.files.values()].find((file) => file.inode === BigInt(number))
            : this.files.get(name);
    }

    private nameAt(at: number, bytes: number): string {
        return this.text(at, bytes).replace(/^\/+/, "");
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
    private scatter(file: Kept, from: number, vectors: number, count: number): number {
        const view = this.view,
            bytes = file.bytes.subarray(0, file.length);
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

    private openPath(path: number, bytes: number, flags: number, out: number): number {
        const name = this.nameAt(path, bytes);
        if (!this.find(name) && flags & CREATE) this.add(name, new Uint8Array(0));
        const file = this.find(name) ?? null;
        if (!file && /[^./]/.test(name)) return NOENT;
        let fd = ROOT + 1;
        while (this.opened.has(fd)) fd++;
        this.opened.set(fd, { file, at: 0 });
        this.view.setUint32(out, fd, true);
        return OK;
    }

    private seek(fd: number, offset: bigint, from: number, out: number): number {
        const opened = this.opened.get(fd);
        if (!opened?.file) return BADF;
        opened.at = Number(offset) + [0, opened.at, opened.file.length][from]!;
        this.view.setBigUint64(out, BigInt(opened.at), true);
        return OK;
    }

    /* New bytes are 0. */
    private resize(file: Kept, length: number): void {
        if (length > file.bytes.length) {
            const more = new Uint8Array(Math.max(length, 2 * file.bytes.length));
            more.set(file.bytes.subarray(0, file.length));
            file.bytes = more;
        } else if (length < file.length) file.bytes.fill(0, length, file.length);
        file.length = length;
    }

    private gather(file: Kept, from: number, vectors: number, count: number): number {
        const view = this.view;
        let done = 0;
        for (let i = 0; i < count; i++) {
            const at = view.getUint32(vectors + 8 * i, true),
                bytes = view.getUint32(vectors + 8 * i + 4, true);
            if (from + done + bytes > file.length) this.resize(file, from + done + bytes);
            file.bytes.set(new Uint8Array(view.buffer, at, bytes), from + done);
            done += bytes;
        }
        return done;
    }

    private kindOf(fd: number): number | null {
        if (fd < ROOT) return CHARACTERS;
        if (fd === ROOT) return DIRECTORY;
        const file = this.opened.get(fd);
        return file ? (file.file ? REGULAR : DIRECTORY) : null;
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
            this.openPath(path, bytes, rest[0] as number, rest[4] as number),
        path_filestat_get: (
            _fd: number,
            _how: number,
            path: number,
            bytes: number,
            out: number,
        ) => {
            const file = this.find(this.nameAt(path, bytes));
            return file ? this.stat(out, REGULAR, file.inode, file.length) : NOENT;
        },
        fd_filestat_get: (fd: number, out: number) => {
            const kind = this.kindOf(fd),
                file = this.opened.get(fd)?.file;
            if (kind === null) return BADF;
            return this.stat(out, kind, file?.inode ?? 1n, file?.length ?? 0);
        },
        fd_fdstat_get: (fd: number, out: number) => {
            const kind = this.kindOf(fd);
            if (kind === null) return BADF;
            for (let i = 0; i < 24; i += 8) this.view.setBigUint64(out + i, ~0n, true);
            this.view.setUint16(out, kind, true);
            this.view.setUint16(out + 2, 0, true);
            return OK;
        },
        fd_filestat_set_size: (fd: number, length: bigint) => {
            const file = this.opened.get(fd)?.file;
            if (!file) return BADF;
            this.resize(file, Number(length));
            return OK;
        },
        fd_read: (fd: number, vectors: number, count: number, out: number) => {
            const opened = this.opened.get(fd);
            if (!opened?.file) return BADF;
            const got = this.scatter(opened.file, opened.at, vectors, count);
            opened.at += got;
            this.view.setUint32(out, got, true);
            return OK;
        },
        fd_pread: (fd: number, vectors: number, count: number, offset: bigint, out: number) => {
            const file = this.opened.get(fd)?.file;
            if (!file) return BADF;
            const got = this.scatter(file, Number(offset), vectors, count);
            this.view.setUint32(out, got, true);
            return OK;
        },
        fd_pwrite: (fd: number, vectors: number, count: number, offset: bigint, out: number) => {
            const file = this.opened.get(fd)?.file;
            if (!file) return BADF;
            this.view.setUint32(out, this.gather(file, Number(offset), vectors, count), true);
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
        clock_time_get: (_clock: number, _precision: bigint, out: number) => {
            this.view.setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
            return OK;
        },
        environ_get: () => OK,
        environ_sizes_get: (count: number, bytes: number) => {
            this.view.setUint32(count, 0, true);
            this.view.setUint32(bytes, 0, true);
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
