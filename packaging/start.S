// The release's first instructions: the kernel may read the part of the file that a start needs, which layout.ld puts first,
// in one go. What it reads of its own accord at the first page that is missing can be all of the file, TLS included, or too
// little. On a start whose pages are there it is one system call of 300, which cannot be seen in the time. Whether the
// kernel does it does not matter here.
    .section .text.rlock_start, "ax", @progbits
    .globl rlock_start
    .type rlock_start, @function
rlock_start:
#if defined(__x86_64__)
    mov $28, %eax  // madvise
    lea rlock_hot_begin(%rip), %rdi
    lea rlock_hot_end(%rip), %rsi
    sub %rdi, %rsi
    mov $3, %edx  // MADV_WILLNEED
    syscall
    xor %edx, %edx
    jmp _start
#elif defined(__aarch64__)
    mov x8, #233  // madvise
    adrp x0, rlock_hot_begin
    add x0, x0, :lo12:rlock_hot_begin
    adrp x1, rlock_hot_end
    add x1, x1, :lo12:rlock_hot_end
    sub x1, x1, x0
    mov x2, #3  // MADV_WILLNEED
    svc #0
    mov x0, #0
    b _start
#endif
    .size rlock_start, . - rlock_start
    .section .note.GNU-stack, "", @progbits
