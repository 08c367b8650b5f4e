/* The rig's guest: a kernel that says it is up, then once a second that it still is.
 *
 * It prints "GUEST-UP boot=<cycle counter> vm=<from vm= on its command line>" on the first
 * serial port, then "BEAT n" a second, driven by the clock chip's once-a-second interrupt.
 * Between two beats the processor is halted, so an idle guest costs its host next to nothing
 * even without hardware virtualisation. It refuses to be more: no memory management, no disk.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

enum { COM1 = 0x3f8, PIC_1 = 0x20, PIC_2 = 0xa0, PIT_COMMAND = 0x43 };
enum { RTC_INDEX = 0x70, RTC_VALUE = 0x71 };
enum { CLOCK_IRQ = 8, IRQ_BASE = 32, IRQ_COUNT = 16 };

struct multiboot {
    u32 flags, mem_lower, mem_upper, boot_device;
    const char *command_line;                       /* valid when bit 2 of flags is set */
};
struct gate {
    u16 offset_low, selector, type, offset_high;
} __attribute__((packed));

extern void irq_clock(void);
extern void irq_other(void);
void guest_main(const struct multiboot *boot);
void on_clock(void);

static struct gate gates[IRQ_BASE + IRQ_COUNT];
static u32 beats;

static void out8(u16 port, u8 value) { __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port)); }
static u8 in8(u16 port)
{
    u8 value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static void put(char c)
{
    while (!(in8(COM1 + 5) & 0x20))
        ;
    out8(COM1, (u8)c);
}
static void puts_(const char *s)
{
    while (*s)
        put(*s++);
}
static void put_hex(u64 value)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        put("0123456789abcdef"[(value >> shift) & 15]);
}
static void put_decimal(u32 value)
{
    char digits[11];
    int n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (n)
        put(digits[--n]);
}

/* the word after "vm=", or "?" */
static void put_vm(const char *line)
{
    for (; line && *line; line++)
        if (line[0] == 'v' && line[1] == 'm' && line[2] == '=') {
            for (line += 3; *line > ' ' && *line < 127; line++)
                put(*line);
            return;
        }
    put('?');
}

static u8 rtc_read(u8 reg)
{
    out8(RTC_INDEX, reg);
    return in8(RTC_VALUE);
}
static void rtc_write(u8 reg, u8 value)
{
    out8(RTC_INDEX, reg);
    out8(RTC_VALUE, value);
}

void on_clock(void)
{
    (void)rtc_read(0x0c);                           /* reading says the interrupt was taken */
    puts_("BEAT ");
    put_decimal(++beats);
    puts_("\r\n");
    out8(PIC_2, 0x20);
    out8(PIC_1, 0x20);
}

static void gate_set(int vector, void (*handler)(void))
{
    u32 address = (u32)handler;
    gates[vector] = (struct gate){ (u16)address, 0x08, 0x8e00, (u16)(address >> 16) };
}

static void interrupts_on(void)
{
    struct {
        u16 limit;
        u32 base;
    } __attribute__((packed)) idt = { sizeof gates - 1, (u32)gates };

    for (int i = 0; i < IRQ_COUNT; i++)
        gate_set(IRQ_BASE + i, i == CLOCK_IRQ ? irq_clock : irq_other);
    __asm__ volatile("lidt %0" : : "m"(idt));
    /* 8259: vectors 32..47, cascade on 2, only the clock let through */
    static const u8 setup[][2] = {
        { PIC_1, 0x11 }, { PIC_2, 0x11 }, { PIC_1 + 1, IRQ_BASE }, { PIC_2 + 1, IRQ_BASE + 8 },
        { PIC_1 + 1, 4 }, { PIC_2 + 1, 2 }, { PIC_1 + 1, 1 }, { PIC_2 + 1, 1 },
        { PIC_1 + 1, 0xfb }, { PIC_2 + 1, 0xfe },
    };
    for (unsigned i = 0; i < sizeof setup / sizeof setup[0]; i++)
        out8(setup[i][0], setup[i][1]);
    out8(PIT_COMMAND, 0x30);                        /* the timer chip: one shot, never started */
    rtc_write(0x0b, (u8)((rtc_read(0x0b) & 0x0f) | 0x10));   /* once a second, nothing else */
    (void)rtc_read(0x0c);
    __asm__ volatile("sti");
}

void guest_main(const struct multiboot *boot)
{
    u32 low, high;
    out8(COM1 + 1, 0);                              /* no interrupts, 115200 8n1, queue on */
    out8(COM1 + 3, 0x80);
    out8(COM1 + 0, 1);
    out8(COM1 + 1, 0);
    out8(COM1 + 3, 3);
    out8(COM1 + 2, 7);
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    puts_("GUEST-UP boot=");
    put_hex((u64)high << 32 | low);
    puts_(" vm=");
    put_vm(boot->flags & 4 ? boot->command_line : 0);
    puts_("\r\n");
    interrupts_on();
    for (;;)
        __asm__ volatile("hlt");
}
