"""What is fuzzed: a name, a function that takes any bytes, and bytes to begin with.

Rule: a target raises nothing for bytes that its decoder reads, nor for bytes that the decoder
refuses in the package's own words. Everything else is a fault: another exception, a text
without words, two readers that disagree, too much time or memory.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

SEED_SIZE_MAX = 8192


@dataclass(frozen=True)
class Target:
    """One decoder, or several that read the same bytes.

    Attributes:
        read: decodes what it is given, and checks what comes out.
        refusals: the errors that say no.
        seeds: gives whole, well-formed inputs.
        words: bytes that the format has names for, for the fuzzer's dictionary.
    """

    name: str
    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    seeds: Callable[[], Iterable[bytes]]
    words: tuple[str, ...] = field(default=())

    def feed(self, data: bytes) -> None:
        """Give the decoder any bytes; raises where it does not keep the rule."""
        try:
            self.read(data)
        except self.refusals as refusal:
            assert str(refusal), f"{type(refusal).__name__} says nothing"  # noqa: PT017

    def seed_inputs(self) -> list[bytes]:
        """Return the seeds that are small enough to be changed usefully, each once."""
        return [seed for seed in dict.fromkeys(self.seeds()) if len(seed) <= SEED_SIZE_MAX]
