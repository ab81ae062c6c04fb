"""Exit codes by name: signals on POSIX, NTSTATUS values on Windows."""

from __future__ import annotations

import signal

NTSTATUS = {
    0xC0000005: "STATUS_ACCESS_VIOLATION",
    0xC000001D: "STATUS_ILLEGAL_INSTRUCTION",
    0xC0000017: "STATUS_NO_MEMORY",
    0xC0000094: "STATUS_INTEGER_DIVIDE_BY_ZERO",
    0xC00000FD: "STATUS_STACK_OVERFLOW",
    0xC0000135: "STATUS_DLL_NOT_FOUND",
    0xC0000138: "STATUS_ORDINAL_NOT_FOUND",
    0xC0000139: "STATUS_ENTRYPOINT_NOT_FOUND",
    0xC0000142: "STATUS_DLL_INIT_FAILED",
    0xC000013A: "STATUS_CONTROL_C_EXIT",
    0xC0000374: "STATUS_HEAP_CORRUPTION",
    0xC0000409: "STATUS_STACK_BUFFER_OVERRUN",
    0xC000041D: "STATUS_FATAL_USER_CALLBACK_EXCEPTION",
    0x40000015: "STATUS_FATAL_APP_EXIT",
    0x80000003: "STATUS_BREAKPOINT",
}
"""From ntstatus.h: those that a native library ends a process with."""

CRASHES = frozenset(
    {
        "SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE",
        "STATUS_ACCESS_VIOLATION", "STATUS_ILLEGAL_INSTRUCTION", "STATUS_INTEGER_DIVIDE_BY_ZERO",
        "STATUS_STACK_OVERFLOW", "STATUS_HEAP_CORRUPTION", "STATUS_STACK_BUFFER_OVERRUN",
        "STATUS_FATAL_USER_CALLBACK_EXCEPTION", "STATUS_FATAL_APP_EXIT", "STATUS_BREAKPOINT",
    }
)  # fmt: skip


def exit_name(code: int) -> str:
    """The name of what ended a process, or '' for an ordinary exit.

    `code` is `Popen.returncode`: minus the signal on POSIX, a signed or unsigned 32-bit status on
    Windows; 128 + signal is what a shell in between makes of it.
    """
    unsigned = code & 0xFFFFFFFF
    if unsigned in NTSTATUS:
        return NTSTATUS[unsigned]
    number = -code if -65 < code < 0 else code - 128 if 128 < code < 193 else 0
    if not number:
        return f"0x{unsigned:08X}" if code < 0 or code > 0xFFFF else ""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
