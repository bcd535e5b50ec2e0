/* Macros for the generated names.S: each MPI function is a jump through a table of zeros (so that a program without
 * MPI has nothing to relocate). dispatch.c fills it at the first call. */
#ifndef SONDE_PROBE_MPI_JUMP_H
#define SONDE_PROBE_MPI_JUMP_H

/* The note: this code needs no executable stack. Without it, programs that load the library would get one. */
#define JUMP_BEGIN .section .note.GNU-stack, "", %progbits; .text; .globl jump_table; .globl jump_names; \
    .hidden jump_table; .hidden jump_names; .hidden dispatch_resolve

#if defined(__x86_64__)

.macro JUMP name, number
    .globl \name
    .type \name, %function
    .balign 16
\name:
    .cfi_startproc
    movq jump_table + 8 * \number(%rip), %r11
    testq %r11, %r11
    je 1f
    jmp *%r11
1:  movl $\number, %r11d
    jmp jump_resolve
    .cfi_endproc
    .size \name, . - \name
.endm

/* Saves all arguments, resolves the target, and jumps there. */
jump_resolve:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    movq %rdi, (%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movups %xmm0, 64(%rsp)
    movups %xmm1, 80(%rsp)
    movups %xmm2, 96(%rsp)
    movups %xmm3, 112(%rsp)
    movups %xmm4, 128(%rsp)
    movups %xmm5, 144(%rsp)
    movups %xmm6, 160(%rsp)
    movups %xmm7, 176(%rsp)
    movl %r11d, %edi
    call dispatch_resolve
    movq %rax, %r11
    movq (%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movups 64(%rsp), %xmm0
    movups 80(%rsp), %xmm1
    movups 96(%rsp), %xmm2
    movups 112(%rsp), %xmm3
    movups 128(%rsp), %xmm4
    movups 144(%rsp), %xmm5
    movups 160(%rsp), %xmm6
    movups 176(%rsp), %xmm7
    leave
    .cfi_def_cfa %rsp, 8
    jmp *%r11
    .cfi_endproc

#elif defined(__aarch64__)

.macro JUMP name, number
    .globl \name
    .type \name, %function
    .balign 16
\name:
    .cfi_startproc
    adrp x16, jump_table + 8 * \number
    ldr x16, [x16, :lo12:jump_table + 8 * \number]
    cbz x16, 1f
    br x16
1:  mov w16, #\number
    b jump_resolve
    .cfi_endproc
    .size \name, . - \name
.endm

jump_resolve:
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w16
    bl dispatch_resolve
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc

#else
#error "the MPI probe knows no jumps of this processor: x86-64 and aarch64 alone"
#endif

#define JUMP_TABLE(slots) .bss; .balign 64; jump_table: .zero 8 * slots
#define JUMP_NAMES .section .rodata; jump_names:
#define JUMP_END .byte 0; .section .token.GNU-stack, "", %progbits

.macro JUMP_NAME name
    .asciz "\name"
.endm

#endif
