"""What systemd is to a service, for its tests."""

import os
import re
import shutil
import socket
import time


class Manager:
    """A socket that hears it, and a folder of credentials."""

    def __init__(self, folder, name):
        self.folder = folder / f"{name}-credentials"
        self.folder.mkdir()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / f"{name}.socket"))
        self.socket.settimeout(20)
        self.environment = {**os.environ, "NOTIFY_SOCKET": str(folder / f"{name}.socket"), "WATCHDOG_USEC": "400000",
                            "CREDENTIALS_DIRECTORY": str(self.folder)}

    def take(self, *paths):
        """From where they were: only their copies among the credentials are left."""
        for path in paths:
            shutil.move(path, self.folder / path.name)

    def hears(self, *words):
        """Reads until a message has all of these; returns it."""
        while True:
            said = self.socket.recv(4096).decode().splitlines()
            if all(any(re.fullmatch(word, line) for line in said) for word in words):
                return said

    def is_silent(self, seconds):
        time.sleep(0.1)  # what is under way
        self.socket.setblocking(False)
        try:
            while True:
                self.socket.recv(4096)
        except BlockingIOError:
            pass
        self.socket.settimeout(seconds)
        try:
            return not self.socket.recv(4096)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(20)
