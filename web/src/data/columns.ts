/* Reads documents of big columns (doc/API.md, "Columns"): a JSON header, then one typed array
 * per column. The arrays are views of the downloaded buffer and are not copied. Every length is
 * checked against the buffer before it is used. */

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array | BigUint64Array;

export interface ColumnsDocument {
    header: Record<string, unknown>;
    columns: Map<string, { values: Numbers; none: number | null }>;
}

const types = {
    u8: Uint8Array,
    u16: Uint16Array,
    u32: Uint32Array,
    f64: Float64Array,
    u64: BigUint64Array,
} as const;

export function readColumns(buffer: ArrayBuffer): ColumnsDocument {
    const view = new DataView(buffer);
    if (buffer.byteLength < 8 || view.getUint32(0, false) !== 0x544d4b43)
        throw new Error("This is no document of columns.");
    const headerBytes = view.getUint32(4, true);
    const start = 8 + headerBytes;
    if (start > buffer.byteLength) throw new Error("A document of columns is cut off.");
    const header = JSON.parse(
        new TextDecoder().decode(new Uint8Array(buffer, 8, headerBytes)),
    ) as Record<string, unknown>;
    const columns: ColumnsDocument["columns"] = new Map();
    for (const column of header["columns"] as {
        name: string;
        type: keyof typeof types;
        count: number;
        offset: number;
        none?: number;
    }[]) {
        const make = types[column.type];
        if (!make) continue; /* of a newer version */
        if (start + column.offset + column.count * make.BYTES_PER_ELEMENT > buffer.byteLength)
            throw new Error("A document of columns is cut off.");
        columns.set(column.name, {
            values: new make(buffer, start + column.offset, column.count),
            none: column.none ?? null,
        });
    }
    return { header, columns };
}

function find(document: ColumnsDocument, name: string) {
    const column = document.columns.get(name);
    if (!column) throw new Error(`The column '${name}' is missing.`);
    return column;
}

/* Whole numbers below 2^32, as they are. */
export function whole(document: ColumnsDocument, name: string): Uint32Array {
    const { values } = find(document, name);
    return values instanceof Uint32Array ? values : new Uint32Array(values as Uint8Array);
}

/* Unknown: -1. */
export function indices(document: ColumnsDocument, name: string): Int32Array {
    const { values, none } = find(document, name);
    const result =
        values instanceof BigUint64Array ? Int32Array.from(values, Number) : new Int32Array(values);
    if (none !== null)
        for (let i = 0; i < values.length; i++) if (values[i] === none) result[i] = -1;
    return result;
}

/* As Number() has each, in a twentieth of the time: of long runs there are millions. */
export function floatsOf(values: BigUint64Array): Float64Array {
    const halves = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length),
        result = new Float64Array(values.length);
    for (let at = 0; at < result.length; at++)
        result[at] = halves[2 * at + 1]! * 2 ** 32 + halves[2 * at]!;
    return result;
}

/* Unknown: NaN. */
export function numbers(document: ColumnsDocument, name: string): Float64Array {
    const { values, none } = find(document, name);
    if (values instanceof Float64Array) return values;
    const result = values instanceof BigUint64Array ? floatsOf(values) : new Float64Array(values);
    if (none !== null)
        for (let i = 0; i < result.length; i++) if (result[i] === none) result[i] = NaN;
    return result;
}

export function has(document: ColumnsDocument, name: string): boolean {
    return document.columns.has(name);
}

/* Strings are read when they are asked for: there are hundreds of thousands. */
export class Strings {
    readonly #start: Numbers;
    readonly #bytes: Uint8Array;
    readonly #known = new Map<number, string>();
    static readonly #decoder = new TextDecoder();

    constructor(document: ColumnsDocument) {
        this.#start = find(document, "string_start").values;
        this.#bytes = find(document, "string_bytes").values as Uint8Array;
    }

    get(index: number): string | null {
        if (index < 0 || index >= this.#start.length - 1) return null;
        let text = this.#known.get(index);
        if (text === undefined) {
            text = Strings.#decoder.decode(
                this.#bytes.subarray(Number(this.#start[index]), Number(this.#start[index + 1])),
            );
            this.#known.set(index, text);
        }
        return text;
    }
}
