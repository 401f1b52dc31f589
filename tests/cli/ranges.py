"""Assembly of a program in whose debug information FUNCTIONS functions share one list of RANGES ranges.

    ranges.py FUNCTIONS RANGES"""
import sys

print("""
        .text
        .globl main
        .type main, @function
main:
begin:  push %%rbx
        mov $1000, %%ebx
1:      mov $100, %%edi
        call malloc@PLT
        dec %%ebx
        jnz 1b
        xor %%eax, %%eax
        pop %%rbx
        ret
end:    .size main, .-main
        .section .debug_abbrev, "", @progbits
        .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0    # a unit: low_pc, high_pc
        .byte 2, 0x2e, 0, 0x55, 0x17, 0, 0          # a function: ranges
        .byte 0
        .section .debug_info, "", @progbits
        .long unit_end - unit
unit:   .short 4
        .long 0
        .byte 8
        .byte 1
        .quad begin, end - begin
        .rept %d
        .byte 2
        .long 0
        .endr
        .byte 0
unit_end:
        .section .debug_ranges, "", @progbits
        .set i, 0
        .rept %d
        .quad 0x7000000 + i * 16, 0x7000000 + i * 16 + 8
        .set i, i + 1
        .endr
        .quad 0, 0
        .section .note.GNU-stack, "", @progbits
""" % (int(sys.argv[1]), int(sys.argv[2])))
