"""The app's side of the helper process: ask it, start it again when it died, end it."""

from __future__ import annotations

import subprocess
import threading

import msgspec

from explorer.screens.define.wire import Reply, Request
from sweeps.supervise.process import apart_from_terminal, child_environment, python_command


class Helper:
    """Answers one request at a time; call `ask` from threads only, it waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._decoder = msgspec.json.Decoder(Reply)

    def ask(self, request: Request) -> Reply:
        """The reply; a helper that dies over a request is a fault that says so, not an exception."""
        with self._lock:
            if self._closed:
                return Reply(fault="the app is leaving")
            child = self._running()
            assert child.stdin is not None and child.stdout is not None
            try:
                child.stdin.write(msgspec.json.encode(request) + b"\n")
                child.stdin.flush()
                line = child.stdout.readline()
            except (OSError, ValueError):
                line = b""
            if line:
                return self._decoder.decode(line)
            code = child.wait()
            self._child = None
            return Reply(fault=f"the helper process died over this (exit code {code}): is a model damaged?")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._child = subprocess.Popen(
                python_command("explorer.screens.define.inside"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=child_environment(),
                **apart_from_terminal(),
            )
        return self._child

    def close(self) -> None:
        """End the helper, and with it a wait in `ask`, which would keep the app from leaving."""
        self._closed = True
        child = self._child
        if child is not None:
            child.kill()
