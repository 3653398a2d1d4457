"""Entries: order, death of watched objects, threads."""

import gc
import threading
import weakref

from supple.runtime.entries import Entries, Entry, never


class Thing:
    pass


def entry(name: str) -> Entry:
    return Entry(lambda: None, lambda: name, name)


def made() -> tuple[Entries, list[tuple[str, str]]]:
    dropped: list[tuple[str, str]] = []
    return Entries(lambda one, why: dropped.append((str(one.about), why))), dropped


def names(entries: Entries) -> list[str]:
    return [str(one.about) for one in entries.all]


def test_a_new_entry_comes_first() -> None:
    entries, _ = made()
    for name in "abc":
        entries.insert(entry(name))
    assert names(entries) == ["c", "b", "a"]


def test_an_entry_that_is_hit_often_moves_to_the_front() -> None:
    entries, _ = made()
    a, b = entry("a"), entry("b")
    entries.insert(a)
    entries.insert(b)
    before = entries.all
    for _ in range(100):
        if entries.all[0] is not a:
            entries.hit_behind(a)
    assert names(entries) == ["a", "b"]
    assert [str(one.about) for one in before] == ["b", "a"]


def test_an_entry_dies_with_a_watched_object() -> None:
    entries, dropped = made()
    thing = Thing()
    one = entry("a")
    entries.insert(one, [thing])
    entries.insert(entry("b"))
    del thing
    gc.collect()
    assert names(entries) == ["b"]
    assert one.check is never
    assert dropped == [("a", "an object that it depended on was deleted")]


def test_entries_hold_no_watched_object() -> None:
    entries, _ = made()
    thing = Thing()
    alive = weakref.ref(thing)
    entries.insert(entry("a"), [thing])
    del thing
    gc.collect()
    assert alive() is None


def test_a_removed_entry_no_longer_watches() -> None:
    entries, dropped = made()
    thing = Thing()
    one = entry("a")
    entries.insert(one, [thing])
    entries.remove(one, "asked")
    entries.remove(one, "asked again")
    del thing
    gc.collect()
    assert dropped == [("a", "asked")]


def test_clear_forgets_all() -> None:
    entries, dropped = made()
    entries.insert(entry("a"))
    entries.clear()
    assert entries.all == ()
    assert dropped == []


def test_threads_that_insert_at_once_lose_no_entry() -> None:
    entries, _ = made()
    gate = threading.Barrier(4)

    def work(number: int) -> None:
        gate.wait()
        for place in range(20):
            entries.insert(entry(f"{number}.{place}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names(entries))) == 80
