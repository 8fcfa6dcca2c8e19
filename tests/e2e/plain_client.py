"""A client that learns, in Python's standard library alone, written from docs/develop/protocol.md and nothing else: no protobuf,
no NumPy, none of polykern's code. WebSocket frames are websocket.py's, likewise from RFC 6455 alone."""

import math
import statistics
import struct

import websocket

VERSION = 5
MASK = (1 << 64) - 1


# Messages

def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """Whole numbers as varints, bytes with their length; 0 and nothing are left out."""
    if not value:
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(data):
    """Pairs of a number and a value, bytes or whole."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        else:
            length = 8 if kind == 1 else 4
            if kind == 2:
                length, at = read_varint(data, at)
            value, at = data[at:at + length], at + length
        yield key >> 3, value


def varints(data):
    at = 0
    while at < len(data):
        number, at = read_varint(data, at)
        yield number


# Draws

def philox(key, counter):
    c0, c1, c2, c3 = counter
    k0, k1 = key, 0
    for _ in range(10):
        p, q = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = (q >> 64) ^ c1 ^ k0, q & MASK, (p >> 64) ^ c3 ^ k1, p & MASK
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return c0, c1, c2, c3


def words(seed, purpose, a=0, b=0):
    n = 0
    while True:
        yield from philox(seed, (n, b, a, purpose))
        n += 1


def uniform(word):
    return (word >> 11) / 2**53


def normal(word, law=statistics.NormalDist()):
    return law.inv_cdf(((word >> 12) + 0.5) / 2**52)


def as_float(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def dot(a, b):
    return sum(map(float.__mul__, a, b))


class PlainClient:
    """One client of pof-mkl with Gaussian kernels: predict(x), learn(y), and the next model."""

    def __init__(self, port, context):
        self.wire = websocket.Client(port, context)
        self.wire.write(websocket.BINARY, field(1, field(1, VERSION)))
        welcome = self.read()
        assert welcome[0] == 1, welcome
        self.theta, self.step, self.finished, self.number = {}, 0, False, 0
        texts, model = {}, b""
        for number, value in fields(welcome[1]):
            if number == 2:
                self.number = value
            elif number == 3:
                pair = dict(fields(value))
                texts[pair[1].decode()] = pair.get(2, b"").decode()
            elif number == 4:
                model = value
        self.configure(texts)
        self.take(model)
        self.losses = [0.0] * self.kernels

    def configure(self, texts):
        assert texts.pop("algorithm") == "pof-mkl"
        take = lambda name, absent: type(absent)(texts.pop(name, absent))  # noqa: E731
        self.dimension, horizon, seed = take("dimension", 0), take("horizon", 0), take("seed", 0)
        self.kernels, self.most = take("kernels", 51), take("kernels_per_upload", 1)
        self.features = take("features", min(100, take("budget", 1000) // (2 * self.most)))
        self.exploration = take("exploration", 1.0)
        self.eta = take("learning_rate", 1 / math.sqrt(horizon))
        self.eta_k = take("weight_rate", 1 / math.sqrt(horizon))
        self.regularization = take("regularization", 1e-6)
        scales = texts.pop("labels", "range" if texts.get("scaling", "none") != "none" else "none") == "range"
        assert texts.pop("scaling", "none") == "none"
        low, high = texts.pop("target", "0:1 ").split(" ")[0].split(":")
        self.low, self.high = (float(low), float(high)) if scales else (None, None)
        assert not texts, f"unknown to this client: {texts}"
        self.seed = next(words(seed, 7))
        self.rho = [self.frequencies(i) for i in range(self.kernels)]

    def frequencies(self, i):
        sigma = as_float(10 ** (4 * i / (self.kernels - 1) - 2)) if self.kernels > 1 else 1.0
        source = words(self.seed, 1, i)
        return [[as_float(normal(next(source)) / math.sqrt(sigma)) for _ in range(self.dimension)]
                for _ in range(self.features)]

    def read(self):
        (message,) = fields(self.wire.read())
        return message

    def take(self, model):
        kernels, values = [], b""
        for number, value in fields(model):
            if number == 1:
                self.step = value
            elif number == 2:
                kernels = list(varints(value))
            elif number == 3:
                values = value
            elif number == 5:
                self.finished = bool(value)
        width = 2 * self.features
        numbers = struct.unpack(f"<{len(values) // 4}f", values)
        for n, kernel in enumerate(kernels):
            self.theta[kernel] = numbers[n * width:(n + 1) * width]

    def next_step(self):
        """Waits for the next model; a verdict means that an update was refused."""
        kind, value = self.read()
        assert kind == 2, (kind, value)
        self.take(value)

    def predict(self, x):
        x = [as_float(number) for number in x]
        self.z, self.f = [], []
        for i, rho in enumerate(self.rho):
            angles = [dot(frequency, x) for frequency in rho]
            z = [number / math.sqrt(self.features) for number in (*map(math.sin, angles), *map(math.cos, angles))]
            self.z.append(z)
            self.f.append(dot(self.theta[i], z))
        least = min(self.losses)
        weights = [math.exp(-self.eta_k * (loss - least)) for loss in self.losses]
        self.weights = [weight / sum(weights) for weight in weights]
        prediction = dot(self.weights, self.f)
        return prediction if self.low is None else self.low + prediction * (self.high - self.low)

    def bin(self):
        """The kernels to send, and how likely they were."""
        bins = -(-self.kernels // self.most)
        drawn = uniform(next(words(self.seed, 2, self.number, self.step)))
        if self.exploration == 1:
            first = int(drawn * bins) * self.most
            return range(first, min(first + self.most, self.kernels)), 1 / bins
        order = sorted(range(self.kernels), key=lambda i: (self.losses[i], i))
        below = 0.0
        for b in range(bins):
            chosen = order[b * self.most:(b + 1) * self.most]
            p = self.exploration / bins + (1 - self.exploration) * sum(self.weights[i] for i in chosen)
            below += p
            if below > drawn:
                break
        return chosen, p

    def learn(self, label):
        y = label if self.low is None else min(max((label - self.low) / (self.high - self.low), 0.0), 1.0)
        chosen, p = self.bin()
        values = []
        for i in chosen:
            along = self.eta / p * 2 * (self.f[i] - y)
            shrink = self.eta / p * 2 * self.regularization
            values += [along * z + shrink * theta for z, theta in zip(self.z[i], self.theta[i])]
        for i in range(self.kernels):
            self.losses[i] += (self.f[i] - y) ** 2 + self.regularization * dot(self.theta[i], self.theta[i])
        update = (field(1, self.step) + field(2, b"".join(map(varint, chosen))) +
                  field(3, struct.pack(f"<{len(values)}f", *values)))
        self.wire.write(websocket.BINARY, field(2, update))

    def close(self):
        self.wire.socket.close()
