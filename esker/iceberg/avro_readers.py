"""How are the values of one Avro type read, step by step, and put into an Arrow array?  (Avro specification, "Binary Encoding")

Each step reads one value from each of many places. What a step gives is kept as it is; at the end all of it is put in place at
once.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from esker.errors import InvalidTable
from esker.iceberg.avro_source import Numbers, Source, stretches


class Column:
    """Values that are read step by step. `slots` are their places among all values of the column."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def read(self, slots: Numbers, at: Numbers) -> Numbers:
        """Read one value at each place; the places behind them."""
        raise NotImplementedError

    def past(self, at: Numbers) -> Numbers:
        """The places behind the values at these places, which nobody wants."""
        raise NotImplementedError

    def finish(self, count: int, places: Numbers | None = None) -> pa.Array:
        """All values, in the order of their slots or, where there are `places`, of those; null where none was read."""
        raise NotImplementedError


class Scattered(Column):
    """A column whose steps give one array of numbers each."""

    def __init__(self, source: Source, kind: pa.DataType) -> None:
        super().__init__(source)
        self.kind = kind
        self.slots: list[Numbers] = []
        self.parts: list[Numbers] = []

    def keep(self, slots: Numbers, values: Numbers) -> None:
        self.slots.append(slots)
        self.parts.append(values)

    def scattered(self, count: int, places: Numbers | None) -> tuple[Numbers, pa.Buffer | None]:
        """The numbers by their places, and which of them are known."""
        values = np.zeros(count, np.int64)
        slots = _placed(self.slots, places)
        if len(slots):
            values[slots] = np.concatenate(self.parts)
        if len(slots) == count:
            return values, None
        return values, _validity(slots, count)


def _placed(slots: Sequence[Numbers], places: Numbers | None) -> Numbers:
    found = np.concatenate(slots) if slots else np.empty(0, np.int64)
    return found if places is None else places[found]


def _validity(slots: Numbers, count: int) -> pa.Buffer | None:
    """The bitmap of the slots that have a value; None where all have."""
    if len(slots) == count:
        return None
    known = np.zeros(count, np.bool_)
    known[slots] = True
    return pa.py_buffer(np.packbits(known, bitorder="little"))


class Longs(Scattered):
    def read(self, slots: Numbers, at: Numbers) -> Numbers:
        values, after = self.source.longs(at)
        self.keep(slots, values)
        return after

    def past(self, at: Numbers) -> Numbers:
        return self.source.past_long(at)

    def finish(self, count: int, places: Numbers | None = None) -> pa.Array:
        values, known = self.scattered(count, places)
        if self.kind.bit_width == 32:
            if len(values) and not -(2**31) <= int(values.min()) <= int(values.max()) < 2**31:
                raise InvalidTable("an int has more than 32 bits")
            return pa.Array.from_buffers(self.kind, count, [known, pa.py_buffer(values.astype(np.int32))])
        return pa.Array.from_buffers(self.kind, count, [known, pa.py_buffer(values)])


class Bits(Scattered):
    """Values of a fixed number of bytes, up to eight."""

    def __init__(self, source: Source, kind: pa.DataType, width: int) -> None:
        super().__init__(source, kind)
        self.width = width

    def read(self, slots: Numbers, at: Numbers) -> Numbers:
        values = np.zeros(len(at), np.uint64)
        for byte in range(self.width):
            values |= self.source.data[at + byte].astype(np.uint64) << np.uint64(8 * byte)
        self.keep(slots, values.view(np.int64))
        return at + self.width

    def past(self, at: Numbers) -> Numbers:
        return at + self.width

    def finish(self, count: int, places: Numbers | None = None) -> pa.Array:
        values, known = self.scattered(count, places)
        if self.width == 1:
            bits = pa.py_buffer(np.packbits(values != 0, bitorder="little"))
            return pa.Array.from_buffers(self.kind, count, [known, bits])
        narrow = values.astype(np.uint64).view(np.uint32)[::2].copy() if self.width == 4 else values
        return pa.Array.from_buffers(self.kind, count, [known, pa.py_buffer(narrow)])


class Stretch(Scattered):
    """Bytes or a text of any length, or of a fixed one."""

    def __init__(self, source: Source, kind: pa.DataType, width: int | None = None) -> None:
        super().__init__(source, kind)
        self.width = width
        self.sizes: list[Numbers] = []

    def read(self, slots: Numbers, at: Numbers) -> Numbers:
        lengths, start = self._found(at)
        self.keep(slots, start)
        self.sizes.append(lengths)
        return start + lengths

    def past(self, at: Numbers) -> Numbers:
        lengths, start = self._found(at)
        return start + lengths

    def _found(self, at: Numbers) -> tuple[Numbers, Numbers]:
        """How long the value at each place is, and where its bytes start."""
        return self.source.lengths(at) if self.width is None else (np.full(len(at), self.width), at)

    def finish(self, count: int, places: Numbers | None = None) -> pa.Array:
        slots = _placed(self.slots, places)
        starts = np.concatenate(self.parts) if self.slots else slots
        sizes = np.concatenate(self.sizes) if self.slots else slots
        if len(starts) and int((starts + sizes).max()) > len(self.source.data):
            raise InvalidTable("a length reaches beyond the end")
        # What lies between two values becomes a value too, and every second one is taken: one copy of bytes, done by Arrow.
        order = np.argsort(starts, kind="stable")
        edges = np.empty(2 * len(starts) + 1, np.int32)
        edges[0:-1:2], edges[1::2] = starts[order], starts[order] + sizes[order]
        edges[-1] = edges[-2] if len(starts) else 0
        data = pa.py_buffer(self.source.data)
        whole = pa.Array.from_buffers(pa.binary(), 2 * len(starts), [None, pa.py_buffer(edges), data])
        place = np.full(count, -1, np.int64)
        place[slots[order]] = 2 * np.arange(len(starts))
        known = pa.py_buffer(np.packbits(place >= 0, bitorder="little")) if len(starts) < count else None
        rows = pa.Array.from_buffers(pa.int64(), count, [known, pa.py_buffer(place)])
        return self._typed(whole.take(rows))

    def _typed(self, values: pa.Array) -> pa.Array:
        if pa.types.is_decimal(self.kind):
            width = self.kind.scale
            numbers = (None if v is None else int.from_bytes(v, "big", signed=True) for v in values.to_pylist())
            texts = [None if n is None else f"{n}E-{width}" for n in numbers]
            return pa.array(texts, pa.string()).cast(self.kind)
        try:
            return values.cast(self.kind)
        except pa.ArrowInvalid as error:
            raise InvalidTable(f"a text is not UTF-8: {error}") from error


class Null(Column):
    def read(self, slots: Numbers, at: Numbers) -> Numbers:
        return at

    def past(self, at: Numbers) -> Numbers:
        return at

    def finish(self, count: int, places: Numbers | None = None) -> pa.Array:
        return pa.nulls(count)


class Optional(Column):
    """A union of a type and null."""

    def __init__(self, source: Source, inner: Column, null_at: int) -> None:
        super().__init__(source)
        self.inner = inner
        self.null_at = null_at

    def read(self, slots: Numbers, at: Numbers) -> Numbers:
        there, after = self._there(at)
        if len(there) == len(slots):
            return self.inner.read(slots, after)
        if len(there):
            after[there] = self.inner.read(slots[there], after[there])
        return after

    def past(self, at: Numbers) -> Numbers:
        there, after = self._there(at)
        if len(there) == len(at):
            return self.inner.past(after)
        if len(there):
            after[there] = self.inner.past(after[there])
        return after

    def _there(self, at: Numbers) -> tuple[Numbers, Numbers]:
        """Which of the places have a value, and the places behind what says so."""
        branch, after = self.source.longs(at)
        if len(branch) and (int(branch.min()) < 0 or int(branch.max()) > 1):
            raise InvalidTable("a union has no such branch")
        return np.flatnonzero(branch != self.null_at), after

    def finish(self, count: int, places: Numbers | None = None) -> pa.Array:
        return self.inner.finish(count, places)


class Record(Column):
    def __init__(self, source: Source, members: Sequence[tuple[str, Column]]) -> None:
        super().__init__(source)
        self.members = members
        self.kept = [(name, member) for name, member in members if name not in source.without]
        self.slots: list[Numbers] = []

    def read(self, slots: Numbers, at: Numbers) -> Numbers:
        self.slots.append(slots)
        for name, member in self.members:
            at = member.past(at) if name in self.source.without else member.read(slots, at)
        return at

    def past(self, at: Numbers) -> Numbers:
        for _, member in self.members:
            at = member.past(at)
        return at

    def finish(self, count: int, places: Numbers | None = None) -> pa.Array:
        children = [member.finish(count, places) for _, member in self.kept]
        fields = [pa.field(name, child.type) for (name, _), child in zip(self.kept, children, strict=True)]
        known = _validity(_placed(self.slots, places), count)
        return pa.Array.from_buffers(pa.struct(fields), count, [known], children=children)


class List(Column):
    """An array, or a map, whose items are then records of a key and a value."""

    def __init__(self, source: Source, item: Column, is_map: bool) -> None:
        super().__init__(source)
        self.item = item
        self.is_map = is_map
        self.numbers = _run_width(item)
        self.entry = _numbered_entry(item) if is_map else None
        self.slots: list[Numbers] = []
        self.parents: list[Numbers] = []
        self.places: list[Numbers] = []
        self.items = 0

    def read(self, slots: Numbers, at: Numbers) -> Numbers:
        self.slots.append(slots)
        held = np.zeros(len(slots), np.int64)
        at = at.copy()
        live = np.arange(len(slots))
        while len(live):
            counts, after = self._counts(at[live])
            at[live] = self._items(slots[live], held, live, counts, after)
            live = live[counts > 0]
        return at

    def past(self, at: Numbers) -> Numbers:
        at = at.copy()
        live = np.arange(len(at))
        while len(live):
            counts, after = self._counts(at[live])
            if self.numbers is not None and not _is_wide(counts):
                at[live] = self.source.past(after, counts * self.numbers)
            else:
                for step in range(int(counts.max(initial=0))):
                    rows = np.flatnonzero(counts > step)
                    after[rows] = self.item.past(after[rows])
                at[live] = after
            live = live[counts > 0]
        return at

    def _counts(self, at: Numbers) -> tuple[Numbers, Numbers]:
        """How many items follow, and where they start."""
        counts, after = self.source.longs(at)
        sized = np.flatnonzero(counts < 0)  # "its absolute value is the count", and its size in bytes follows
        if len(sized):
            _, after[sized] = self.source.longs(after[sized])
            counts = np.abs(counts)
        if int(counts.max(initial=0)) > len(self.source.data):
            raise InvalidTable("an array claims more items than there are bytes")
        return counts, after

    def _items(self, slots: Numbers, held: Numbers, live: Numbers, counts: Numbers, at: Numbers) -> Numbers:
        """Read so many items at each place; `held` is how many each list has so far, at the lists that are `live`."""
        chosen = self.source.keys
        if self.numbers is not None and not _is_wide(counts) and (chosen is None or self.entry is None):
            parents = np.repeat(slots, counts)
            values, at = self.source.runs(at, counts * self.numbers)
            _keep_run(self.item, self._allocated(parents, stretches(held[live], counts)), values, self.numbers)
            held[live] += counts
            return at
        at = at.copy()
        for step in range(int(counts.max(initial=0))):
            rows = np.flatnonzero(counts > step)
            if chosen is not None and self.entry is not None:
                at[rows] = self._chosen(self.entry, chosen, slots[rows], held, live[rows], at[rows])
            else:
                at[rows] = self.item.read(self._allocated(slots[rows], held[live[rows]]), at[rows])
                held[live[rows]] += 1
        return at

    def _chosen(
        self, entry: tuple["Record", "Longs", Column], chosen: Numbers, slots: Numbers, held: Numbers, live: Numbers, at: Numbers
    ) -> Numbers:
        """Read one entry at each place, and keep those that have one of the chosen keys."""
        record, key, value = entry
        keys, at = self.source.longs(at)
        wanted = np.isin(keys, chosen)
        rows, others = np.flatnonzero(wanted), np.flatnonzero(~wanted)
        if len(rows):
            own = self._allocated(slots[rows], held[live[rows]])
            held[live[rows]] += 1
            record.slots.append(own)
            key.keep(own, keys[rows])
            at[rows] = value.read(own, at[rows])
        if len(others):
            at[others] = value.past(at[others])
        return at

    def _allocated(self, parents: Numbers, places: Numbers) -> Numbers:
        self.parents.append(parents)
        self.places.append(places)
        first, self.items = self.items, self.items + len(parents)
        return np.arange(first, self.items)

    def finish(self, count: int, places: Numbers | None = None) -> pa.Array:
        parents = _placed(self.parents, places)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(parents, minlength=count))])
        items = self.item.finish(self.items, offsets[parents] + _placed(self.places, None))
        known = _validity(_placed(self.slots, places), count)
        kind = pa.list_(pa.field("element", items.type))
        listed = pa.Array.from_buffers(kind, count, [known, pa.py_buffer(offsets.astype(np.int32))], children=[items])
        return as_map(listed) if self.is_map else listed


def as_map(listed: pa.ListArray) -> pa.MapArray:
    """Lists of keys and values as maps."""
    key, value = listed.type.value_type
    kind = pa.map_(pa.field("key", key.type, False), pa.field("value", value.type))
    entries = listed.values
    plain = pa.StructArray.from_arrays(entries.flatten(), fields=[kind.key_field, kind.item_field])
    return pa.Array.from_buffers(kind, len(listed), listed.buffers()[:2], children=[plain])


def _is_wide(counts: Numbers) -> bool:
    """Whether so many lists are read at once that a step for each item costs less than to look for all items at once."""
    return int(counts.max(initial=0)) * _WIDE <= len(counts)


_WIDE = 32


def _numbered_entry(item: Column) -> tuple[Record, Longs, Column] | None:
    """The record of a map's entries, its keys and its values, where the keys are numbers."""
    match item:
        case Record(members=[(_, Longs() as key), (_, value)]):
            return item, key, value
    return None


def _run_width(item: Column) -> int | None:
    """How many numbers an item is, if it consists of numbers alone."""
    match item:
        case Longs():
            return 1
        case Record() if all(isinstance(member, Longs) for _, member in item.members):
            return len(item.members)
    return None


def _keep_run(item: Column, slots: Numbers, values: Numbers, width: int) -> None:
    match item:
        case Longs():
            item.keep(slots, values)
        case Record():
            item.slots.append(slots)
            for at, (_, member) in enumerate(item.members):
                assert isinstance(member, Longs)
                member.keep(slots, values[at::width])
