"""`supple.config`."""

import threading

import pytest
import torch

import supple
from supple.base.config import Config, Settings, changed, config, from_environment
from supple.base.options import Options


# CFG05
def test_a_patch_ends_and_nests_also_on_errors() -> None:
    @supple.config.patch(dynamic_sources="L['x']")
    def fail() -> None:
        with supple.config.patch({"recompile_limit": 3}):
            assert (config.now().dynamic_sources, config.now().recompile_limit) == ("L['x']", 3)
        assert config.now().recompile_limit == 8
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert config.now().dynamic_sources == ""


# CFG05, COL02
def test_a_patch_decorates() -> None:
    @supple.config.patch(specialize_int=True)
    def read() -> bool:
        return config.now().specialize_int

    assert read()
    assert read()
    assert not config.now().specialize_int


def test_an_assignment_holds_for_the_process_or_the_patch_that_it_is_in() -> None:
    mine = Config(Settings())
    mine.recompile_limit = 4
    with mine.patch(profile="p"):
        mine.recompile_limit = 5
        assert mine.recompile_limit == 5
    assert mine.recompile_limit == 4


def test_a_patch_holds_for_one_thread() -> None:
    mine = Config(Settings())
    found: list[object] = []
    with mine.patch(recompile_limit=2):
        thread = threading.Thread(target=lambda: found.append(mine.recompile_limit))
        thread.start()
        thread.join()
    assert found == [8]


# REC04, ANN15
def test_other_names_of_settings() -> None:
    mine = Config(Settings())
    with mine.patch(cache_size_limit=3, backed_size_oblivious=False):
        assert (mine.recompile_limit, mine.cache_size_limit) == (3, 3)
        assert (mine.specialize_zero_one, mine.backed_size_oblivious) == (True, False)
    assert mine.backed_size_oblivious is True
    assert {"patch", "recompile_limit", "backed_size_oblivious"} <= set(dir(mine))


def test_unknown_names_and_wrong_types_are_refused() -> None:
    with pytest.raises(AttributeError, match="no setting 'sources'; there are dynamic_sources, "):
        supple.config.patch(sources="").__enter__()
    with pytest.raises(AttributeError, match="no setting 'sources'"):
        _ = supple.config.sources
    with pytest.raises(TypeError, match="'recompile_limit' takes a int, not '8'"):
        supple.config.recompile_limit = "8"
    assert changed(Settings(), {"dynamic_shapes": None}).dynamic_shapes is None


# CFG06, ANN01, DYN19, PGO04
def test_settings_come_from_the_environment() -> None:
    read = from_environment
    assert read({"TORCH_COMPILE_DYNAMIC_SOURCES": "a"}).dynamic_sources == "a"
    assert read({"TORCH_COMPILE_DYNAMIC_SOURCES": "a", "SUPPLE_DYNAMIC_SOURCES": "b"}).dynamic_sources == "b"
    shapes = [read({"TORCHDYNAMO_DYNAMIC_SHAPES": text}).dynamic_shapes for text in ("0", "1", "")]
    assert shapes == [False, True, None]
    made = read({"SUPPLE_PROFILE": "0", "TORCH_COMPILE_JOB_ID": "7", "SUPPLE_CACHE_DIR": "/c"})
    assert (made.profile, made.job_id, made.cache_dir) == ("0", "7", "/c")


def test_options_follow_the_configuration_until_they_are_fixed() -> None:
    options = Options()
    with supple.config.patch(recompile_limit=3, dynamic_shapes=True):
        fixed = options.fixed()
        assert (options.limit, options.is_dynamic) == (3, True)
    assert (options.limit, options.is_dynamic) == (8, None)
    assert (fixed.limit, fixed.is_dynamic) == (3, True)
    assert (Options(recompile_limit=5).limit, Options(dynamic=False, settings=fixed.settings).is_dynamic) == (
        5,
        False,
    )


def test_a_patch_in_compiled_code_holds_there_and_behind_a_break() -> None:  # X-CTL12
    @supple.config.patch(recompile_limit=5)
    def patched(x: torch.Tensor) -> torch.Tensor:
        return x * int(str(supple.config.recompile_limit))

    @supple.compile(backend="eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        with supple.config.patch(recompile_limit=3):
            y = patched(x)
            supple.graph_break()
            y = y * int(str(supple.config.recompile_limit))
        return y * int(str(supple.config.recompile_limit))

    for _ in range(2):
        assert torch.equal(f(torch.ones(2)), torch.full((2,), 5.0 * 3 * 8))
    assert supple.stats()["graphs"] == 2
    assert supple.config.recompile_limit == 8
