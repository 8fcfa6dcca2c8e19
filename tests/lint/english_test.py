"""Plain English in everything that people read: messages, help, pages, comments, docstrings, scripts, packages, pictures."""

import io
import pathlib
import re
import subprocess
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Phrases of earlier texts that stumble, and what a reader should find in their place.
OLD_PHRASES = {
    "goes on where": "resumes", "clients it bears": "can handle", "finds no room": "is turned away",
    "How a federation's server is": "Show the status of a running server", "plays no part": "has no effect",
    "say what to do": "missing command", "To look at:": "Report:", "finished before and": "already finished; reused",
    "taken over": "already finished; reused", "for want of": "skipped, .. missing", "no more is learnt": "stopped learning",
    "cannot be said better": "invalid", "that are no message": "that are not a valid message", "as the server takes": "the server is full",
    "some other JSON": "not a polykern result file", "cannot be got": "download failed", "needs but": "needs only",
    "nothing but": "only", "put back the last copy": "restore the latest copy", "to be had": "available",
    "none to choose from": "none are available",
}
# "There is no file" is fine, "it is no file" is not.
OLD_WORDS = re.compile(r"\b(whoever|whomever|nobody|somebody|anybody|everybody|(?:go|goes|going|went) on|anew|came to nothing|be it)\b"
                       r"|(?<!\bthere)(?<!\bwhere) (is|are|was|were) no (?!longer|more than|better|worse)", re.I)
DOUBLED = re.compile(r"(?<![-\w])([A-Za-z]+) \1\b(?![\w.=-])")
DOUBLED_ON_PURPOSE = {"READ", "CODE"}  # SQL has one, spans of code are the other

C_LIKE = (".cc", ".h", ".c", ".cu", ".ts", ".proto", ".mjs", ".js")
FOLDERS = ("src", "apps", "python", "web/src", "bench", "proto", "docs", "scripts", "packaging", "examples", "cmake")


def texts_of_c(text):
    """Comments, those of adjacent lines together, and literals, those that are divided put together."""
    text = re.sub(r"^\s*#include[^\n]*", "", text, flags=re.M)
    comment = r"(?://[^\n]*\n?[ \t]*)+|/\*.*?\*/"
    literal = r'"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`'
    for match in re.finditer(rf"(?s:{comment})|((?:(?:{literal})\s*)+)|'(?:\\.|[^'\\\n])*'", text):
        if match[1]:
            yield re.sub(r'["`]\s*["`]', "", match[1]).strip()[1:-1]
        elif match[0][0] == "/":
            yield re.sub(r"(?m)^\s*(//[/<]*|/\*+|\*+/?)", "", match[0])


def texts_of_python(text):
    """Docstrings and other literals, and comments."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            yield re.sub(r"^\w*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", "", token.string)
        elif token.type == tokenize.COMMENT:
            yield token.string[1:]


def texts_of_page(text):
    """Paragraphs, without what is typed or printed."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    yield from re.split(r"\n\s*\n", re.sub(r"`[^`]*`", "CODE", re.sub(r"^    .*$", "", text, flags=re.M)))


def texts_of(path):
    text = path.read_text()
    if path.suffix in C_LIKE:
        yield from texts_of_c(text)
    elif path.suffix == ".py" or text.startswith("#!/usr/bin/python3"):
        yield from texts_of_python(text)
    elif path.suffix == ".md":
        yield from texts_of_page(text)
    elif path.suffix == ".dot":
        yield from re.findall(r'"([^"]*)"', text.replace("\\n", " "))
    else:  # scripts, configurations, a package's description
        yield from (re.sub(r"(?m)^\s*#+", "", block) for block in re.findall(r"(?m)(?:^[ \t]*#[^\n]*\n?)+", text))
        yield from re.findall(r'"([^"\n]*)"', text)
        yield from re.findall(r"(?m)(?:^ \S.*\n?)+", text)


def stumbles(text):
    """Old words, old phrases and doubled words in a text."""
    plain = " ".join(text.split())
    found = [f"{old!r}: say {new!r}" for old, new in OLD_PHRASES.items() if re.search(rf"\b{re.escape(old)}(?!\w)", plain)]
    found += [repr(match[0].strip()) for match in OLD_WORDS.finditer(plain)]
    return found + [repr(match[0]) for match in DOUBLED.finditer(plain) if match[1] not in DOUBLED_ON_PURPOSE and len(match[1]) > 1]


def test_stumbling_words_are_found():
    assert stumbles("nobody listens there")
    assert stumbles("it is no number")
    assert stumbles("skipped for\n  want of files")
    assert stumbles("when it was was\n late") and stumbles("the the")
    assert not stumbles("there is no file; it is no longer there")
    assert not stumbles("it is not a number")


def test_texts_are_found_in_every_kind_of_file():
    assert list(texts_of_c('// one\n// two\nint a = F("x " "y");  // z\n')) == [" one\n two\n", "x y", " z\n"]
    assert list(texts_of_python('"""a"""\nx = f("b")  # c\n')) == ["a", "b", " c"]
    assert [text.strip() for text in texts_of_page("one\n\n    polykern two\n\n```text\nthree\n```\n`four` five")] == ["one", "CODE five"]


def read_by_people():
    """Files of the repository that are not tests, or another program's."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if "/" in name and not name.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            continue
        if re.search(r"_test\.\w+$|_testing\.h$|python/tests/|LICENSE$|copyright$|\.(json|png|svg|html|typed|lock|cff)$", name):
            continue
        if path.is_file():
            yield path


def test_what_people_read_is_plain_english():
    bad, files, seen = [], 0, 0
    for path in read_by_people():
        files += 1
        for text in texts_of(path):
            seen += 1
            bad += [f"{path.relative_to(ROOT)}: {' '.join(text.split())[:60]}: {found}" for found in stumbles(text)]
    assert files > 800 and seen > 10000, (files, seen)
    assert not bad, f"{len(bad)} places\n" + "\n".join(bad)
