"""Private next-token prediction under whatever computes the logits."""

import enum
from types import TracebackType
from typing import Any, Callable, NoReturn, Optional, Protocol, Sequence, Union, overload

import numpy

class _DLPack(Protocol):
    def __dlpack__(self, **options: Any) -> Any: ...

Logits = Union["numpy.ndarray[Any, numpy.dtype[numpy.float32]]", _DLPack]
"""float32 [1 + members, vocabulary]: the public model's row, then the members'."""

class Error(RuntimeError):
    """The ledger cannot charge, the answers are used up, or another process has the deployment."""

class SamplingOptions:
    def __init__(self, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> None: ...
    @property
    def temperature(self) -> float: ...
    @property
    def top_k(self) -> int: ...
    @property
    def top_p(self) -> float: ...

class SampleOutcome(enum.Enum):
    TOKEN = ...
    EXHAUSTED = ...
    NO_PREDICTION = ...

class SampledToken:
    @property
    def outcome(self) -> SampleOutcome: ...
    @property
    def token(self) -> Optional[int]: ...

class Account:
    """Of one part, in nats. For the operator alone."""

    @property
    def name(self) -> str: ...
    @property
    def budget(self) -> float: ...
    @property
    def spent(self) -> float: ...

class Sampler:
    def sample(self, logits: Logits, options: SamplingOptions = ...) -> int: ...
    @overload
    def sample_batch(self, logits: Sequence[Logits], options: SamplingOptions = ...) -> list[SampledToken]: ...
    @overload
    def sample_batch(self, logits: Sequence[Logits], options: Sequence[SamplingOptions]) -> list[SampledToken]: ...

class Deployment:
    @property
    def statement(self) -> str: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def public_model(self) -> str: ...
    @property
    def members(self) -> list[str]: ...
    @property
    def rows(self) -> int: ...
    @property
    def budget(self) -> list[Account]: ...
    def sampler(self) -> Sampler: ...
    def close(self) -> None: ...
    def __enter__(self) -> Deployment: ...
    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None: ...

def open(directory: str) -> Deployment: ...

class LogitsSequence(Protocol):
    """What one client has asked and been answered so far."""

    id: int
    tokens: list[int]
    new: int
    state: Any

def serve_logits(
    predict: Callable[[Sequence[LogitsSequence]], Any],
    socket: str,
    *,
    rows: int,
    vocabulary: int,
    context: int,
    digest: str,
    dtype: str = "float32",
    tokenizer: Optional[str] = None,
    prefill: Optional[Callable[[Sequence[LogitsSequence]], None]] = None,
) -> NoReturn: ...

class accounting:
    @staticmethod
    def epsilon(rdp: float, order: float, delta: float, *, classic: bool = False) -> float: ...
    @staticmethod
    def delta(rdp: float, order: float, epsilon: float, *, classic: bool = False) -> float: ...
    @staticmethod
    def rdp(epsilon: float, delta: float, order: float, *, classic: bool = False) -> float: ...
