"""Runs in real time: Linux's own TCP in network namespaces.

`engine` has the engines, `driver` starts a process for each run, and `worker` is the program of this process.
"""
