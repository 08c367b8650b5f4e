/* Entry of the guest: multiboot header, stack, and the two interrupt stubs guest.c needs. */
    .section .note.GNU-stack, "", @progbits
    .section .multiboot, "a"
    .align 4
    .long 0x1badb002                    /* magic */
    .long 0                             /* flags: nothing asked for */
    .long -(0x1badb002)                 /* checksum */

    .text
    .code32
    .globl start
start:
    cli
    movl $stack_top, %esp
    lgdt gdt_ptr
    ljmp $0x08, $1f
1:  movl $0x10, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    pushl %ebx                          /* multiboot information */
    call guest_main
2:  hlt
    jmp 2b

    .globl irq_clock
irq_clock:
    pushal
    cld
    call on_clock
    popal
    iret

    .globl irq_other
irq_other:
    iret

    .section .rodata
    .align 8
gdt:
    .quad 0
    .quad 0x00cf9a000000ffff            /* code, flat */
    .quad 0x00cf92000000ffff            /* data, flat */
gdt_ptr:
    .word gdt_ptr - gdt - 1
    .long gdt

    .bss
    .align 16
    .skip 8192
stack_top:
