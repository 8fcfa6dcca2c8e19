"""A disk that loses its power: what power_loss.cc has written down, and what may be left of it."""

import os
import shutil
import struct

HEAD = struct.Struct("<cQQQ")
SECTOR = 512  # what a disk writes whole or not at all


def records(log):
    """(kind, path, bytes, offset) of each, in order; the last one is whole, too."""
    data = log.read_bytes() if log.exists() else b""
    at = 0
    while at + HEAD.size <= len(data):
        kind, name, count, offset = HEAD.unpack_from(data, at)
        at += HEAD.size
        yield kind.decode(), data[at:at + name].decode(), data[at + name:at + name + count], offset
        at += name + count


def put(content, data, offset):
    content.extend(bytes(max(0, offset + len(data) - len(content))))
    content[offset:offset + len(data)] = data


class Disk:
    """What a folder has on its disk for certain, and changes that it may have or not."""

    def __init__(self, folder, log, chance):
        self.folder, self.log, self.chance = folder, log, chance
        self.names = {}  # of files that are there for certain
        self.files = {}  # their contents by a number
        for entry in folder.iterdir():
            if entry.is_file() and not entry.name.endswith(("-shm", "-lock", "-control")):
                self.files[len(self.files)] = bytearray(entry.read_bytes())
                self.names[entry.name] = len(self.files) - 1
        self.now = dict(self.names)  # as the process sees them
        self.open_names = []  # changes of names since the folder was last synced
        self.open_writes = {}  # changes of contents by number, since that file was

    def environment(self, loss):
        self.log.unlink(missing_ok=True)
        return {**os.environ, "LD_PRELOAD": os.environ["POLYKERN_POWER_LOSS_LIBRARY"],
                "POLYKERN_POWER_FOLDER": str(self.folder.resolve()), "POLYKERN_POWER_LOG": str(self.log),
                "POLYKERN_POWER_LOSS": str(loss)}

    def change_name(self, kind, path, data):
        if kind == "c":
            self.now[path] = len(self.files)
            self.files[self.now[path]] = bytearray()
        elif kind == "u":
            self.now.pop(path, None)
        else:
            self.now[data.decode()] = self.now.pop(path)
        self.open_names.append(dict(self.now))

    def change_content(self, content, change):
        kind, data, offset = change
        if kind == "t":
            del content[offset:]
            content.extend(bytes(offset - len(content)))
        else:
            put(content, data, offset)

    def take(self):
        """Everything in the log."""
        for kind, path, data, offset in records(self.log):
            if kind in "cur":
                self.change_name(kind, path, data)
            elif kind == "s" and path == ".":
                self.names, self.open_names = dict(self.now), []
            elif path in self.now:
                number = self.now[path]
                if kind == "s":
                    for change in self.open_writes.pop(number, []):
                        self.change_content(self.files[number], change)
                else:
                    self.open_writes.setdefault(number, []).append((kind, data, offset))

    def lose_power(self):
        """Of what was not waited for, some is there and some is not, sector by sector; then the files are these."""
        self.take()
        names = self.chance.choice([self.names, *self.open_names])
        lost = 0
        for number, changes in self.open_writes.items():
            for kind, data, offset in changes:
                if kind == "t":
                    if self.chance.random() < 0.5:
                        self.change_content(self.files[number], (kind, data, offset))
                    continue
                for start in range(0, len(data), SECTOR):
                    if self.chance.random() < 0.5:
                        put(self.files[number], data[start:start + SECTOR], offset + start)
                    else:
                        lost += 1
        for entry in self.folder.iterdir():
            if entry.name.endswith(("-shm", "-control")) or entry.name in self.now or entry.name in names:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for name, number in names.items():
            (self.folder / name).write_bytes(self.files[number])
            (self.folder / name).chmod(0o600)
        return lost
