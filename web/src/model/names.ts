/* Shortens names of code for places with little room; titles, searches and saved files have the
 * full names. Default template arguments are left out by the rule of src/common/format/types.c.
 * Both implementations are tested against one table, tests/unit/common/format/types.tsv. */

/* The arguments that are left out where they are what the template would have without them: how
 * many stay, then the defaults of those behind them ($0: the first). Nothing is guessed: any other
 * argument stays. */
const usual: ReadonlyMap<string, readonly [kept: number, ...defaults: string[]]> = new Map<
    string,
    readonly [number, ...string[]]
>([
    ...["vector", "deque", "list", "forward_list"].map(
        (name) => [name, [1, "std::allocator<$0>"]] as const,
    ),
    ...["set", "multiset"].map(
        (name) => [name, [1, "std::less<$0>", "std::allocator<$0>"]] as const,
    ),
    ...["map", "multimap"].map(
        (name) => [name, [2, "std::less<$0>", "std::allocator<std::pair<$0 const, $1>>"]] as const,
    ),
    ...["unordered_set", "unordered_multiset"].map(
        (name) => [name, [1, "std::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>"]] as const,
    ),
    ...["unordered_map", "unordered_multimap"].map(
        (name) =>
            [
                name,
                [
                    2,
                    "std::hash<$0>",
                    "std::equal_to<$0>",
                    "std::allocator<std::pair<$0 const, $1>>",
                ],
            ] as const,
    ),
    ["unique_ptr", [1, "std::default_delete<$0>"]],
    ...["stack", "queue"].map((name) => [name, [1, "std::deque<$0>"]] as const),
    ["priority_queue", [1, "std::vector<$0>", "std::less<$0>"]],
    ...["string", "stringstream", "istringstream", "ostringstream", "stringbuf"].map(
        (name) => [`basic_${name}`, [1, "std::char_traits<$0>", "std::allocator<$0>"]] as const,
    ),
    ...[
        "string_view",
        "ios",
        "istream",
        "ostream",
        "iostream",
        "streambuf",
        "filebuf",
        "fstream",
        "ifstream",
        "ofstream",
    ].map((name) => [`basic_${name}`, [1, "std::char_traits<$0>"]] as const),
    ["basic_regex", [1, "std::regex_traits<$0>"]],
]);

/* std::basic_ios<wchar_t> is std::wios; strings come of all characters. */
const characters: readonly [type: string, prefix: string, anyName: boolean][] = [
    ["char", "", true],
    ["wchar_t", "w", true],
    ["char8_t", "u8", false],
    ["char16_t", "u16", false],
    ["char32_t", "u32", false],
];

/* Versions of a library that its users do not write. */
const versions = ["__cxx11::", "__1::", "_V2::"];

function aliasOf(name: string, argument: string): string | null {
    if (!usual.has(name) || !name.startsWith("basic_")) return null;
    const short = name.slice("basic_".length),
        found = characters.find(([type]) => type === argument);
    return found && (found[2] || short === "string" || short === "string_view")
        ? `std::${found[1]}${short}`
        : null;
}

/* A template of the standard library with its arguments, as its users write it. */
function shortened(name: string, args: string[]): string {
    const rule = name.startsWith("std::") ? usual.get(name.slice("std::".length)) : undefined;
    if (rule) {
        const [kept, ...defaults] = rule;
        const isDefault = (at: number) =>
            at >= kept &&
            args[at] ===
                defaults[at - kept]?.replace("$0", () => args[0]!).replace("$1", () => args[1]!);
        while (args.length > kept && isDefault(args.length - 1)) args.pop();
        const alias = args.length === 1 ? aliasOf(name.slice("std::".length), args[0]!) : null;
        if (alias) return alias;
    }
    return `${name}<${args.join(", ")}>`;
}

const deepest = 64; /* brackets within one another; what is deeper stays as it is */
const word = /[\p{L}\p{N}_$]/u;
const closes: Record<string, string> = { ")": "(", "]": "[", "}": "{", ">": "<" };

interface Open {
    bracket: string;
    name: number;
    args: number[];
} /* places in what has been written: its name, its arguments */

/* "std::vector<int, std::allocator<int> >" → "std::vector<int>". One way from the left; what is
 * within a bracket is short when the bracket closes. */
export function plainTypes(text: string): string {
    const open: Open[] = [];
    let out = "";
    const nameBefore = () => {
        let at = out.length;
        while (at > 0 && (out[at - 1] === ":" || word.test(out[at - 1]!))) at--;
        return at;
    };
    for (let at = 0; at < text.length;) {
        const c = text[at]!,
            top = open[open.length - 1];
        const symbols = operatorAt(text, at);
        if (symbols) {
            out += symbols;
            at += symbols.length;
            continue;
        }
        const version = out.endsWith("::")
            ? versions.find((each) => text.startsWith(each, at))
            : undefined;
        if (version && out.startsWith("std::", nameBefore())) {
            at += version.length;
            continue;
        }
        if (text.startsWith("[abi:cxx11]", at)) {
            at += "[abi:cxx11]".length;
            continue;
        }
        at++;
        if (c === "<" || c === "(" || c === "[" || c === "{") {
            if (open.length === deepest) return out + text.slice(at - 1);
            const name = nameBefore();
            out += c;
            open.push({ bracket: c, name, args: [out.length] });
        } else if (c === "," && top?.bracket === "<") {
            out += ", ";
            top.args.push(out.length);
            while (text[at] === " ") at++;
        } else if (c === ">" && (out.endsWith("-") || top?.bracket !== "<"))
            out += c; /* an arrow, or a comparison */
        else if (c === ">") {
            open.pop();
            const args = top!.args.map((from, number) =>
                out
                    .slice(
                        from,
                        number + 1 < top!.args.length
                            ? top!.args[number + 1]! - ", ".length
                            : out.length,
                    )
                    .trimEnd(),
            );
            out =
                out.slice(0, top!.name) + shortened(out.slice(top!.name, top!.args[0]! - 1), args);
        } else {
            if (c in closes && open.some((each) => each.bracket === closes[c]))
                while (open.pop()!.bracket !== closes[c]) {
                    /* '<' that were no brackets */
                }
            out += c;
        }
    }
    return out;
}

/* "operator<<", "operator->", …: what would be brackets elsewhere. "": no operator stands there. */
function operatorAt(text: string, at: number): string {
    if (!text.startsWith("operator", at) || (at > 0 && word.test(text[at - 1]!))) return "";
    return (
        /^operator(?![\p{L}\p{N}_$])(?:<=>|<<=|>>=|->\*|\(\)|\[\]|<<|>>|&&|\|\||\+\+|--|->|[<>=!+\-*/%^&|]=|[<>=!+\-*/%^&|~,])?/u.exec(
            text.slice(at, at + 16),
        )?.[0] ?? ""
    );
}

/* Go's names, from the package's last word on: src/common/format/names.c, name_go_core(). */
function goName(name: string): string | undefined {
    const receiver = name.indexOf(".(*");
    const end = receiver < 0 ? name.search(/[ ()<>:\\[]|$/) : receiver;
    /* "…Map[…]": arguments of a generic one */
    if (receiver < 0 && end < name.length && name[end] !== "[") return undefined;
    const path = name.slice(0, end);
    const host = /^[^./][^/]*\.[^/]*\//.test(path);
    const slash = path.lastIndexOf("/");
    if (!host || !name.includes(".", slash)) return receiver < 0 ? undefined : name;
    return name.slice(slash + 1);
}

/* "int ns::f<int>(char)" → "ns::f<int>": no parameters, no return type. */
function withoutParameters(name: string): string {
    const go = goName(name);
    if (go !== undefined) return go;
    if (name === "main program") return name; /* of Fortran */
    if (name.startsWith("[")) return name; /* of ours: "[the program]", "[file] libc.so.6" */
    const anonymous = "(anonymous namespace)";
    if (name.startsWith("(") && closing(name, 0) === name.length - 1) return name; /* words alone */
    let depth = 0,
        start = 0;
    for (let i = 0; i < name.length; i++) {
        const c = name[i]!,
            isOperator = name.slice(start, i).endsWith("operator");
        if (name.startsWith(anonymous, i)) i += anonymous.length - 1;
        else if ((c === "<" && !isOperator) || c === "{") depth++;
        else if (((c === ">" && name[i - 1] !== "-") || c === "}") && depth > 0) depth--;
        else if (depth === 0 && c === " " && !isOperator) start = i + 1;
        else if (depth === 0 && c === "(" && i > start) {
            if (isOperator) {
                i++; /* operator() */
                continue;
            }
            const end = closing(name, i),
                within = localScope.exec(name.slice(end));
            if (!within) return name.slice(start, i);
            i = end + within[0].length - 1; /* f(int)::{lambda()#1} */
        }
    }
    return name.slice(start) || name;
}

const localScope = /^\)( const)?::/;

/* Where the parenthesis that opens at `at` closes; the end, if it does not. */
function closing(name: string, at: number): number {
    for (let depth = 0; at < name.length; at++)
        if (name[at] === "(") depth++;
        else if (name[at] === ")" && --depth === 0) return at;
    return at;
}

const longest = 2000,
    known = new Map<string, string>(),
    KNOWN = 20_000;

/* Whose part an outlined function is: src/host/symbols/outlined.h. */
const regionOf = / \[OpenMP [^\]]*\]/;

/* A function's name for where there is little room. */
export function shortName(name: string): string {
    let short = known.get(name);
    if (short !== undefined) return short;
    const full = name.slice(0, longest),
        clone = full.search(/ \[(?:clone|OpenMP) /);
    const region = regionOf.exec(full)?.[0] ?? "";
    short = plainTypes(withoutParameters(clone > 0 ? full.slice(0, clone) : full)) + region;
    if (known.size >= KNOWN) known.clear();
    known.set(name, short);
    return short;
}
