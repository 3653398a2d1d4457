"""Artifacts as bytes."""

import pytest

from supple.runtime.artifact import Artifact, ArtifactError, Kernel, from_bytes, to_bytes

ARTIFACT = Artifact(
    (Kernel("a", "k1", 0, 3, 100, 64), Kernel("b", "k2", 1, 2)),
    (b"\0first", b"second"),
    "def run(inputs):\n    return ()  # é\n",
    "supple_launch",
    "x86_64 any",
)


@pytest.mark.parametrize("artifact", [ARTIFACT, Artifact((), (), "")])
def test_from_bytes_inverts_to_bytes(artifact: Artifact) -> None:
    assert from_bytes(to_bytes(artifact)) == artifact


def test_equal_artifacts_have_equal_bytes() -> None:
    assert to_bytes(ARTIFACT) == to_bytes(from_bytes(to_bytes(ARTIFACT)))


@pytest.mark.parametrize("cut", [0, 5, 20, 40, -1])
def test_bytes_that_are_cut_short_are_refused(cut: int) -> None:
    with pytest.raises(ArtifactError):
        from_bytes(to_bytes(ARTIFACT)[:cut])


def test_bytes_of_something_else_are_refused() -> None:
    with pytest.raises(ArtifactError, match="not an artifact"):
        from_bytes(b"supple artifact 0\n" + bytes(100))


def test_trailing_bytes_are_refused() -> None:
    with pytest.raises(ArtifactError):
        from_bytes(to_bytes(ARTIFACT) + b"x")
