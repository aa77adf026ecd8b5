"""Private next-token prediction under whatever computes the logits."""

import enum
from types import TracebackType
from typing import Any, Callable, NoReturn, Optional, Protocol, Sequence, TypeVar, Union, overload

import numpy

class _DLPack(Protocol):
    def __dlpack__(self, **options: Any) -> Any: ...

Logits = Union["numpy.ndarray[Any, numpy.dtype[numpy.float32]]", _DLPack]
"""float32 [1 + members, vocabulary]: the public model's row, then the members'."""

class Error(RuntimeError):
    """The ledger cannot charge, the tokens are used up, or another process has the deployment."""

class SamplingOptions:
    def __init__(
        self, *, temperature: float = 1.0, top_k: int = 0, top_k_plus: int = 0, top_p: float = 1.0
    ) -> None: ...
    @property
    def temperature(self) -> float: ...
    @property
    def top_k(self) -> int: ...
    @property
    def top_k_plus(self) -> int: ...
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
    def sample(
        self, logits: Logits, options: SamplingOptions = ..., support: Optional[Sequence[int]] = None
    ) -> int: ...
    @overload
    def sample_batch(self, logits: Sequence[Logits], options: SamplingOptions = ...) -> list[SampledToken]: ...
    @overload
    def sample_batch(self, logits: Sequence[Logits], options: Sequence[SamplingOptions]) -> list[SampledToken]: ...

class ShapedAnswer:
    @property
    def support(self) -> list[int]: ...
    def accept(self, token: int) -> None: ...
    @property
    def ended(self) -> bool: ...
    @property
    def complete(self) -> bool: ...

class Shape:
    def __init__(
        self,
        tokens: Sequence[bytes],
        *,
        choice: Optional[Sequence[str]] = None,
        regex: Optional[str] = None,
        json_schema: Optional[str] = None,
        json_object: bool = False,
    ) -> None: ...
    def answer(self, max_tokens: int, end_tokens: Sequence[int]) -> ShapedAnswer: ...

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
def deploy(
    ensemble: str,
    deployment: str,
    *,
    epsilon: float = 2.0,
    mechanism: str = "filtered-submix",
    unit: str = "part",
    delta: float = 1e-6,
    queries: int = 1024,
    when_exhausted: str = "public",
    ledger: str = "",
    after: Sequence[str] = [],
    **options: Union[float, str, None],
) -> str: ...

class EpsilonAudit:
    """Lower bounds, each wrong with probability `error` at most."""

    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def rdp(self) -> float: ...
    @property
    def order(self) -> float: ...
    @property
    def error(self) -> float: ...

_World = TypeVar("_World")

def audit_epsilon(
    sampler: Callable[[_World], float],
    with_text: _World,
    without_text: _World,
    *,
    transcripts: int = 1000,
    order: float = 2.0,
    delta: float = 1e-6,
    error: float = 0.05,
) -> EpsilonAudit: ...

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
    class Cost:
        """What `count` releases cost: epsilon, in nats, at delta; and for whom that holds."""

        @property
        def count(self) -> int: ...
        @property
        def epsilon(self) -> float: ...
        @property
        def delta(self) -> float: ...
        @property
        def order(self) -> Optional[float]: ...
        @property
        def statement(self) -> str: ...

    class Release:
        """A kind of release of which a number that is fixed beforehand is counted."""

        @property
        def statement(self) -> str: ...
        def rdp(self, order: float, count: int = 1) -> float: ...
        def epsilon(self, count: int, delta: float = 1e-6) -> accounting.Cost: ...
        def user_epsilon(self, count: int, delta: float = 1e-6) -> accounting.Cost: ...
        def most(self, epsilon: float, delta: float = 1e-6) -> accounting.Cost: ...
        def user_most(self, epsilon: float, delta: float = 1e-6) -> accounting.Cost: ...
        def exact_epsilon(self, count: int, delta: float = 1e-6) -> tuple[float, float]: ...

    class Extraction:
        @property
        def success(self) -> float: ...
        @property
        def success_fano(self) -> float: ...

    class PmixedTargets:
        """Research: not proven."""

        @property
        def rdp_per_answer(self) -> float: ...
        @property
        def beta(self) -> list[float]: ...
        @property
        def statement(self) -> str: ...

    @staticmethod
    def epsilon(rdp: float, order: float, delta: float, *, classic: bool = False) -> float: ...
    @staticmethod
    def delta(rdp: float, order: float, epsilon: float, *, classic: bool = False) -> float: ...
    @staticmethod
    def rdp(epsilon: float, delta: float, order: float, *, classic: bool = False) -> float: ...
    @staticmethod
    def zcdp_epsilon(rho: float, delta: float = 1e-6) -> float: ...
    @staticmethod
    def user_level(rdp: float, order: float) -> tuple[float, float]: ...
    @staticmethod
    def part_order(user_order: float) -> float: ...
    @staticmethod
    def extraction(rdp: float, order: float, candidates: float, *, holders: float = 1.0) -> accounting.Extraction: ...
    @staticmethod
    def dp_sgd(sampling_probability: float, noise_multiplier: float) -> accounting.Release: ...
    @staticmethod
    def laplace(parts: int, noise_scale: float) -> accounting.Release: ...
    @staticmethod
    def gnmax(noise_scale: float) -> accounting.Release: ...
    @staticmethod
    def dclip(parts: int, clip: float, *, temperature: float = 1.0) -> accounting.Release: ...
    @staticmethod
    def dp_decoding(mixing_weight: float, vocabulary: int) -> accounting.Release: ...
    @staticmethod
    def filtered_submix(order: float, target_leakage: float) -> accounting.Release: ...
    @staticmethod
    def gnmax_votes(
        votes: Sequence[float], noise_scale: float, answers: int, delta: float = 1e-6
    ) -> accounting.Cost: ...
    @staticmethod
    def fedavg(
        users: float,
        users_per_round: float,
        noise_multiplier: float,
        rounds: int,
        delta: float,
        *,
        classic: bool = False,
    ) -> accounting.Cost: ...
    @staticmethod
    def pmixed(
        epsilon: float, delta: float, answers: int, sampling_probability: float, parts: int, order: int
    ) -> accounting.PmixedTargets: ...
