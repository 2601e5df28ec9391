"""Chromium without a window, driven through its debugging pipe (https://chromedevtools.github.io/devtools-protocol)."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from contextlib import suppress

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LIMIT_S = 60


class Browser:
    """One browser with one page. Leave it with `close`."""

    def __init__(self, profile):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ]

        def wire():
            # Chromium reads from descriptor 3 and writes to 4. Neither pipe may be overwritten while it is moved.
            reads, writes = fcntl.fcntl(to_read, fcntl.F_DUPFD, 10), fcntl.fcntl(to_write, fcntl.F_DUPFD, 10)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [CHROMIUM, *arguments, "about:blank"]
        self._process = subprocess.Popen(command, preexec_fn=wire, close_fds=False, **quiet)
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session = b"", 0, None
        self.said = []
        """Texts of the console and of violations of the page's policy, and addresses of requests."""
        (page,) = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        with suppress(OSError):
            os.close(self._write)
        self._process.kill()
        self._process.wait()
        os.close(self._read)

    def call(self, method, **parameters):
        """Calls a method and returns its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + LIMIT_S
        while True:
            answer = self._next(until)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self, until):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, until - time.monotonic()))
            assert ready, "Chromium does not answer"
            piece = os.read(self._read, 1 << 16)
            assert piece, "Chromium has ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method, given):
        if method == "Log.entryAdded":
            self.said.append(given["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.said.append(json.dumps(given["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] == "error":
            self.said.append(json.dumps(given["args"]))
        elif method == "Network.requestWillBeSent":
            self.said.append(given["request"]["url"])

    def open(self, path, width=1400, height=900):
        """Opens a file in a window of this size, and waits until its scripts have run."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=path.as_uri())
        self.evaluate(
            "new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))"
        )
        self.said = [text for text in self.said if text != path.as_uri()]

    def evaluate(self, expression):
        """The value of an expression; of a promise when it is settled."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, condition):
        """Waits for a condition, which is looked at before each frame."""
        self.evaluate(
            f"new Promise((done) => {{ const look = () => ({condition}) ? done() : requestAnimationFrame(look); look(); }})"
        )
