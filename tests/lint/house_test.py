"""Rules of the house that a reader should not have to check: no include cycles inside a folder, short functions
and files, enough tests, and public headers that need nothing but public headers."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src/polykern"
FOLDERS = sorted(path.parent.name for path in SOURCES.glob("*/CMakeLists.txt"))
MOST_LINES = 60
MOST_LINES_OF_A_FILE = 400


def sources(folder):
    return sorted(path for path in (SOURCES / folder).rglob("*") if path.suffix in (".h", ".cc"))


def is_test(path):
    return path.name.endswith(("_test.cc", "_testing.h"))


def part(path):
    """x.h, x.cc, x_internal.h and x-inl.h are one part, named by its path below src/polykern."""
    return re.sub(r"(_internal|-inl)?\.(h|cc)$", "", str(path))


def includes(path):
    return re.findall(r'^#include "polykern/([^"]+)"', path.read_text(), re.M)


def find_cycle(edges):
    """Nodes of a cycle of a directed graph, the first one again at the end; none: empty."""
    done, way = set(), []

    def visit(node):
        if node in way:
            return way[way.index(node):] + [node]
        if node in done:
            return []
        way.append(node)
        for target in sorted(edges.get(node, ())):
            if cycle := visit(target):
                return cycle
        way.pop()
        done.add(node)
        return []

    for node in sorted(edges):
        if cycle := visit(node):
            return cycle
    return []


def test_a_cycle_is_found():
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}}) == []


def includes_within(folder, node_of):
    """What the sources of a folder, tests left out, include of it, as a graph of what node_of makes of their paths."""
    edges = {}
    for path in sources(folder):
        if is_test(path):
            continue
        own = node_of(path.relative_to(SOURCES))
        targets = {node_of(pathlib.Path(name)) for name in includes(path) if name.startswith(f"{folder}/")}
        edges.setdefault(own, set()).update(targets - {own})
    return edges


@pytest.mark.parametrize("folder", FOLDERS)
def test_parts_of_a_folder_include_each_other_in_one_direction(folder):
    cycle = find_cycle(includes_within(folder, part))
    assert not cycle, " -> ".join(cycle)


@pytest.mark.parametrize("folder", FOLDERS)
def test_sub_folders_include_each_other_in_one_direction(folder):
    """But for the folder's own files: interfaces that all below share, and registries of what is below."""
    edges = includes_within(folder, lambda path: str(path.parent))
    cycle = find_cycle({own: targets - {folder} for own, targets in edges.items() if own != folder})
    assert not cycle, " -> ".join(cycle)


def test_public_headers_include_public_headers_alone():
    public = set(includes(SOURCES / "polykern.h"))
    hidden = [f"{name} includes {other}" for name in sorted(public)
              for other in includes(SOURCES / name) if other not in public]
    assert public and not hidden, "\n".join(hidden)


def test_public_headers_are_few():
    assert len(includes(SOURCES / "polykern.h")) <= 24


def without_texts(code):
    """Comments and literals blanked, lines kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, blank, code, flags=re.S)


def functions(code):
    """(first line, lines, head) of every function body."""
    code = without_texts(code)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), code, flags=re.M)
    depth, body, head_at = 0, None, 0
    for at, char in enumerate(code):
        if char == "{":
            head = code[head_at:at].strip()
            if body is None and "(" in head and not re.match(r"(namespace|class|struct|enum|union)\b", head):
                body = (depth, at, head)
            depth += 1
            head_at = at + 1
        elif char == "}":
            depth -= 1
            head_at = at + 1
            if body is not None and depth == body[0]:
                first = code.count("\n", 0, body[1]) + 1
                yield first, code.count("\n", body[1], at) - 1, body[2]
                body = None
        elif char == ";" and body is None:
            head_at = at + 1


def test_functions_are_measured():
    code = 'namespace a {\nstruct B {\n  int F() const {\n    if (x) {\n    }\n    return "}";  // }\n  }\n};\n}\n'
    assert [(first, lines) for first, lines, _ in functions(code)] == [(3, 3)]


def test_no_function_is_long():
    """But for tables of options and bindings, which list things."""
    long = []
    for folder in ("src", "apps", "python/src"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cc") or is_test(path):
                continue
            for first, lines, head in functions(path.read_text()):
                if lines > MOST_LINES and not re.search(r"\b(Add\w*(Command|Options)|Bind\w*)\(", head):
                    long.append(f"{path.relative_to(ROOT)}:{first}: {lines} lines")
    assert not long, "\n".join(long)


# Files that are longer, and why.
LONG_FILES = {
    "src/polykern/algorithms/options.h": "one declaration of every option",
    "src/polykern/algorithms/registry.cc": "one table of all algorithms",
}


def test_long_files_have_a_reason():
    long, seen = {}, 0
    for folder in ("src", "apps", "python", "tests", "web/src", "bench"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cc", ".cu", ".py", ".js", ".mjs", ".ts"):
                continue
            seen += 1
            if (lines := path.read_text().count("\n")) > MOST_LINES_OF_A_FILE:
                long[str(path.relative_to(ROOT))] = lines
    assert seen > 1000
    assert long.keys() == LONG_FILES.keys(), long


def lines_of(paths):
    return sum(path.read_text().count("\n") for path in paths)


def test_tests_are_as_long_as_they_must_be():
    """Lines of *_test.cc to all other C++ lines, what only tests include among them."""
    tests, others = {}, {}
    for folder in FOLDERS:
        files = sources(folder)
        tests[folder] = lines_of(path for path in files if path.name.endswith("_test.cc"))
        others[folder] = lines_of(files) - tests[folder]
    low = {folder: round(tests[folder] / others[folder], 2) for folder in FOLDERS
           if tests[folder] < 0.6 * others[folder]}
    assert not low, low
    assert sum(tests.values()) >= 0.8 * sum(others.values())


def spelt_for_a_shell(code):
    """Statements that spell an option for a shell, though they name no command that is typed there."""
    command = r"polykern (pki|run|data|store|client|serve|join|helper)\b|[Cc]ommand"
    return [" ".join(statement.split())[-120:] for statement in re.split(r"[;{}]\n", re.sub(r'"\s*\n\s*"', "", code))
            if "ShellSpelling(" in statement and not re.search(command, statement)]


def test_libraries_spell_options_for_a_shell_in_commands_alone():
    """Elsewhere an option is named by its key (OptionName), and who shows the text spells it: Python has no dashes."""
    assert spelt_for_a_shell('Error("add " + ShellSpelling("dir"));\n') and not spelt_for_a_shell('Error("polykern pki x " + ShellSpelling("dir"));\n')
    bad = [f"{path.relative_to(SOURCES)}: {text}" for folder in FOLDERS if folder != "core" for path in sources(folder)
           if not is_test(path) for text in spelt_for_a_shell(path.read_text())]
    assert not bad, "\n".join(bad)
