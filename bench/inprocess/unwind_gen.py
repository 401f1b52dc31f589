#!/usr/bin/env python3
"""Writes the functions of bench/inprocess/unwind.c's chain: 64 with different frames, some with alloca."""
import random

random.seed(7)
print('#include "unwind_chain.h"\n')
for number in range(64):
    size = random.choice([0, 0, 0, 16, 32, 48, 64, 96, 160, 256])
    live = random.randrange(0, 6)
    print(f"static __attribute__((noinline)) long f{number}(struct chain *chain, int depth, long a, long b)\n{{")
    if number % 16 == 7:
        print('    char *more = __builtin_alloca(16 + ((a & 3) << 4));')
        print('    __asm__ volatile("" ::"r"(more) : "memory");')
    if size:
        print(f'    char bytes[{size}];\n    __asm__ volatile("" ::"r"(bytes) : "memory");')
    for i in range(live):
        print(f"    long r{i} = a * {random.randrange(3, 99)} ^ b;")
    print("    long sum = a + b;\n    int what;")
    print("    while ((what = chain_next(chain, depth)) != CHAIN_RETURN) {")
    print("        if (what == CHAIN_CAPTURE) {\n            chain_capture(chain);\n            continue;\n        }")
    print("        sum += chain_functions[what](chain, depth + 1, sum ^ a, sum + b);")
    for i in range(live):
        print(f"        r{i} += sum * {i + 3};")
    print("    }\n    return sum" + "".join(f" + r{i}" for i in range(live)) + ";\n}\n")
names = ", ".join(f"f{number}" for number in range(64))
print(f"chain_function *const chain_functions[CHAIN_FUNCTIONS] = {{{names}}};")
