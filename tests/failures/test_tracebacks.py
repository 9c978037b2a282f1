"""Check how tracebacks are read: frames, ends, relations, other ranks, limits."""

import pytest

from philly_analysis.failures import classify_text
from philly_analysis.failures.context import texts_of
from philly_analysis.failures.lines import rank_of, split_lines
from philly_analysis.failures.tracebacks import MESSAGE_LINES, WALK_LINES, Tracebacks

CHAINED = """\
Traceback (most recent call last):
  File "a.py", line 3, in load
    raise KeyError(name)
KeyError: 'x'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 4, in run
    load()
RuntimeError: cannot load
  the rest of
  the message
done
"""


def read(text: str) -> Tracebacks:
    lines = split_lines([text])
    [lines_text] = texts_of(lines)
    return Tracebacks(lines_text, range(len(lines_text.pieces)))


def test_chained_tracebacks_have_their_frames_and_relation() -> None:
    tracebacks = read(CHAINED)
    first, second = tracebacks.by_piece[0], tracebacks.by_piece[7]
    assert (first.first, first.exception, first.last, first.relation) == (0, 3, 3, "")
    assert (first.function, first.source) == ("load", "raise KeyError(name)")
    assert (second.first, second.exception, second.last) == (7, 10, 12)
    assert (second.function, second.relation) == ("run", "caused by")
    assert tracebacks.echoed == {2, 9}
    assert sorted(tracebacks.by_piece) == [0, 1, 2, 3, *range(7, 13)]


def test_an_exception_raised_while_handling_another() -> None:
    text = CHAINED.replace(
        "The above exception was the direct cause of the following exception:",
        "During handling of the above exception, another exception occurred:",
    )
    assert read(text).by_piece[10].relation == "raised while handling"


def test_an_exception_that_is_indented_ends_the_traceback() -> None:
    traceback = read(CHAINED.replace("KeyError: 'x'", "    MemoryError")).by_piece[0]
    assert (traceback.exception, traceback.last) == (3, 3)


@pytest.mark.parametrize(
    "line",
    [
        "ray.exceptions.RayTaskError(ValueError): x",
        "tensorflow.python.framework.errors_impl.NotFoundError (see above for traceback): x",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "E: x",
        "KeyboardInterrupt",
    ],
)
def test_an_exception_follows_a_frame_without_its_source(line: str) -> None:
    frame = '  File "a.py", line 3, in f'
    traceback = read(f"Traceback (most recent call last):\n{frame}\n{line}\n").by_piece[0]
    assert (traceback.exception, traceback.source) == (2, "")


@pytest.mark.parametrize("line", ["E x", "E.1: x", "E (see below): x", "E(x) + 1"])
def test_other_lines_after_a_frame_are_its_source(line: str) -> None:
    frame = '  File "a.py", line 3, in f'
    traceback = read(
        f"Traceback (most recent call last):\n{frame}\n{line}\nKeyError: 1\n"
    ).by_piece[0]
    assert (traceback.exception, traceback.source) == (3, line)


def test_a_traceback_without_its_end_names_no_exception() -> None:
    tracebacks = read(CHAINED.split("KeyError: ")[0] + "step 1 loss 0.3\n")
    assert tracebacks.by_piece[0].exception == -1
    assert tracebacks.by_piece[0].last == 2


@pytest.mark.parametrize(("more", "read_to_the_end"), [(-3, True), (-2, False)])
def test_long_tracebacks_are_read_up_to_a_limit(more: int, read_to_the_end: bool) -> None:
    frames = '  File "a.py", line 3, in f\n' * (WALK_LINES + more + 1)
    tracebacks = read(f"Traceback (most recent call last):\n{frames}KeyError: 1\n")
    assert (tracebacks.by_piece[0].exception > 0) == read_to_the_end


def test_long_messages_are_read_up_to_a_limit() -> None:
    message = "  more\n" * (MESSAGE_LINES + 5)
    text = (
        f'Traceback (most recent call last):\n  File "a.py", line 3, in f\nKeyError: 1\n{message}'
    )
    assert read(text).by_piece[0].last == 2 + MESSAGE_LINES


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("Exception ignored in: <x>\nTraceback (most recent call last):\n", {0, 1}),
        ('Exception ignored in: <x>\n  File "a.py", line 3, in f\nOSError: x\ny: 1\n', {0, 1, 2}),
        ("Exception ignored in: <x>\nSystemError: x\nKeyError: 1\n", {0, 1}),
        ("Error in atexit._run_exitfuncs:\nOSError: x\n", {0, 1}),
        ("Exception TypeError: 'x' in <method> ignored\nKeyError: 1\n", {0}),
        ("Exception in thread Thread-1:\nKeyError: 1\n", set()),
    ],
)
def test_exceptions_that_python_ignores(text: str, ignored: set[int]) -> None:
    tracebacks = read(text)
    assert tracebacks.ignored == ignored
    assert [at for at in sorted(ignored) if tracebacks.is_headline(at)] == sorted(ignored)[:1]


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[rank12]: KeyError", "12"),
        ("[default3]:KeyError", "3"),
        ("[1,7]<stderr>:KeyError", "7"),
        ("5: KeyError", "5"),
        ("(EngineCore_0 pid=77) KeyError", "77"),
        ("KeyError: 5", ""),
    ],
)
def test_ranks(line: str, rank: str) -> None:
    assert rank_of(line) == rank


def test_an_ignored_exception_ends_where_the_next_begins() -> None:
    text = """^CException ignored in: <bound method Loader.__del__>
Traceback (most recent call last):
  File "loader.py", line 7, in __del__
Exception ignored in: <bound method Loader.__del__>
Traceback (most recent call last):
  File "loader.py", line 7, in __del__
    self.close()
"""
    assert classify_text(text).reason == "No signature"
