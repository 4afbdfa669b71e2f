"""Is a candidate an exercise's starting point, not yet worked on? Told from its text alone."""

import ast
import dis
import inspect
import textwrap
import types

_STUB_OPERATIONS = frozenset(
    (
        *("RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "MAKE_CELL", "PRECALL", "PUSH_NULL"),
        *("LOAD_CONST", "LOAD_SMALL_INT", "POP_TOP", "RETURN_VALUE", "RETURN_CONST"),
    )
)


def is_stub(candidate: object) -> bool:
    """True for a plain function whose body does nothing: `...`, `pass`, a docstring, `return None`.

    Also for None and `...` themselves. Reads the code of plain functions only: looking at
    attributes of other objects would run whatever they define.
    """
    if candidate is None or candidate is Ellipsis:
        return True
    if type(candidate) is not types.FunctionType:
        return False
    code = candidate.__code__
    if len(code.co_code) > 200:
        return False
    steps = list(dis.get_instructions(code))
    if any(step.opname == "RAISE_VARARGS" for step in steps):
        return code.co_names == ("NotImplementedError",)
    allowed = all(step.opname in _STUB_OPERATIONS for step in steps)
    ends = [step.argval for step in steps if step.opname in ("LOAD_CONST", "RETURN_CONST")]
    return allowed and bool(ends) and (ends[-1] is None or ends[-1] is Ellipsis)


def is_unchanged(candidate: object, starter: str) -> bool:
    """True for the starter of an exercise as it was given, such as code with a bug to be found.

    Every function of the starter must be there as it was; the last is the candidate. Comments and
    spaces do not matter. False where the source cannot be had.
    """
    if type(candidate) is not types.FunctionType:
        return False
    given = [node for node in ast.parse(starter).body if isinstance(node, ast.FunctionDef)]
    space = {**candidate.__globals__, candidate.__name__: candidate}
    return bool(given) and all(_is_as_given(space.get(node.name), node) for node in given)


def _is_as_given(function: object, node: ast.FunctionDef) -> bool:
    if type(function) is not types.FunctionType:
        return False
    try:
        now = ast.parse(textwrap.dedent(inspect.getsource(function.__code__))).body
    except (OSError, SyntaxError, TypeError, IndexError):
        return False
    return len(now) == 1 and ast.dump(now[0]) == ast.dump(node)
