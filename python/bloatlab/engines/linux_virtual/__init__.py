"""Runs in virtual time: a whole Linux kernel as a program of the user, whose clock jumps from event to event.

`source` finds the kernel's source and `build` builds it, `kernels` has the kernels that were built, `image` makes the
file system of the guest, `guest` runs a kernel, and `engine` is the engine.
"""
