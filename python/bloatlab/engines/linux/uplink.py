"""The world outside for a shell: slirp4netns moves the packets between the server's namespace and the sockets of this machine.

It needs no privileges, and changes nothing on this machine: no route, no address translation, no forwarding.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from bloatlab.errors import EngineError

PROGRAM = "slirp4netns"
DEVICE = "tap0"
"""As `crates/live/src/uplink.rs` names it."""
NAME_SERVER = "10.0.2.3"
"""The address at which slirp4netns answers DNS, by its manual."""
MTU = 1500
READY = b"1"
READY_S = 10.0
"""How long slirp4netns may take to start."""
MOST_TEXT = 2000


class Uplink:
    """Connects one server with the world. Leaving the context disconnects it."""

    name_servers = f"nameserver {NAME_SERVER}\n"
    """The text of a `resolv.conf` for programs behind it."""

    def __init__(self, directory: Path) -> None:
        """Prepares it.

        Args:
            directory: For what slirp4netns prints.

        Raises:
            EngineError: slirp4netns is not installed.
        """
        found = shutil.which(PROGRAM)
        if found is None:
            raise EngineError(
                f"--internet: needs the program {PROGRAM}, which is not installed (Debian, Ubuntu: apt install {PROGRAM})"
            )
        self._program = found
        self._said = directory / PROGRAM
        self._ours, self._its = socket.socketpair()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._serve, name="bloatlab-uplink", daemon=True)
        self.failure: str | None = None
        """Why the world could not be connected."""

    @property
    def descriptor(self) -> int:
        """The socket for the worker."""
        return self._its.fileno()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The thread may wait for the worker.
        with suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._ours.close()
        self._its.close()

    def _serve(self) -> None:
        """Waits for the server's namespace, connects it, and stays until the context is left."""
        _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 2)
        if not descriptors:
            return
        try:
            keep = self._connect(*descriptors)
        except (OSError, EngineError) as error:
            self.failure = f"--internet: {error}"
            with suppress(OSError):
                self._ours.shutdown(socket.SHUT_RDWR)
            return
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        with suppress(OSError):
            self._ours.send(READY)
            self._ours.recv(1)
        # slirp4netns ends when nobody has the other end of its pipe open.
        os.close(keep)
        if self._process is not None:
            self._process.wait()

    def _connect(self, network: int, users: int) -> int:
        """Starts slirp4netns. Returns the descriptor that keeps it alive."""
        ready, its_ready = os.pipe()
        its_keep, keep = os.pipe()
        command = [
            self._program, "--configure", f"--mtu={MTU}", "--disable-host-loopback",
            f"--ready-fd={its_ready}", f"--exit-fd={its_keep}", "--netns-type=path",
        ]  # fmt: skip
        if os.fstat(users).st_ino != Path("/proc/self/ns/user").stat().st_ino:
            command.append(f"--userns-path=/proc/self/fd/{users}")
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [*command, f"/proc/self/fd/{network}", DEVICE],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                pass_fds=(its_ready, its_keep, network, users), process_group=0,
            )  # fmt: skip
        os.close(its_ready)
        os.close(its_keep)
        with os.fdopen(ready, "rb", 0) as waiting:
            is_timely = bool(select.select([waiting], [], [], READY_S)[0])
            if is_timely and waiting.read(1) == READY:
                return keep
        os.close(keep)
        if not is_timely:
            self._process.kill()
            self._process.wait()
            raise EngineError(f"{PROGRAM}: was not ready after {READY_S:g} s")
        self._process.wait()
        text = self._said.read_bytes()[:MOST_TEXT].decode(errors="replace").split("\n")
        why = next((line.strip() for line in reversed(text) if line.strip()), "it ended without a reason")
        raise EngineError(f"{PROGRAM}: {why}")
