"""Logits of an ensemble by vLLM: submix.serve_vllm.

Every model of every sequence is a request of its own in vLLM's batch, kept open from token to token (a streaming
input), with its adapter. What vLLM draws is not looked at: a logits processor writes the logits, as the model gives
them, into a file that both processes map.
"""

import asyncio
import gc
import json
import os
import pathlib
import shutil
import tempfile
import uuid
import warnings

import numpy
import safetensors.torch
import torch

# The interface of logits processors below is that of vLLM's first model runner.
os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "0")
# Nothing about what runs here is sent to vLLM's makers, unless somebody asked for it.
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
from vllm import SamplingParams, TokensPrompt
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.engine.protocol import StreamingInput
from vllm.lora.request import LoRARequest
from vllm.sampling_params import RequestOutputKind
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.sample.logits_processor import LogitsProcessor, MoveDirectionality

# The ranks that vLLM makes room for.
_RANKS = 8, 16, 32, 64, 128, 256, 320, 512
# Tokens of a step of vLLM where nobody says more: on processors; GPUs have more.
_LEAST_STEP = 2048
_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
# How a request's SamplingParams name its place in the file: [file, slots, vocabulary, slot].
_PLACE = "submix_place"


class LogitsToFile(LogitsProcessor):
    """In vLLM's process: after each step, the logits of every request of ours are in the request's slot."""

    def __init__(self, vllm_config, device, is_pin_memory):
        self.slots = {}  # batch index -> float32 [vocabulary]
        self.files = {}

    def is_argmax_invariant(self):
        return False  # so that it sees the logits before anything else changes them

    def update_state(self, batch_update):
        if batch_update is None:
            return
        for index in batch_update.removed:
            self.slots.pop(index, None)
        for index, parameters, _, _ in batch_update.added:
            self.slots.pop(index, None)
            if place := (parameters.extra_args or {}).get(_PLACE):
                self.slots[index] = self._slot(*place)
        for one, other, direction in batch_update.moved:
            moving, replaced = self.slots.pop(one, None), self.slots.pop(other, None)
            if moving is not None:
                self.slots[other] = moving
            if direction == MoveDirectionality.SWAP and replaced is not None:
                self.slots[one] = replaced

    def _slot(self, file, slots, vocabulary, slot):
        if file not in self.files:
            self.files[file] = torch.from_numpy(_map(file, slots, vocabulary))
        return self.files[file][slot]

    def apply(self, logits):
        rows = logits.cpu()
        for index, slot in self.slots.items():
            slot.copy_(rows[index])
        return logits


def _map(file, slots, vocabulary):
    return numpy.memmap(file, numpy.float32, "r+", shape=(slots, vocabulary))


def _nothing_learnt(member, directory):
    """The public model's adapter, in `directory`: a member's with zeros for weights.

    A request without an adapter must not stand beside others: vLLM 0.32 on processors gives it the last adapter that it
    holds, a member's, and the public row would be private.
    """
    shutil.copy(pathlib.Path(member) / _CONFIG, directory)
    weights = safetensors.torch.load_file(pathlib.Path(member) / _WEIGHTS)
    safetensors.torch.save_file({name: torch.zeros_like(tensor) for name, tensor in weights.items()},
                                pathlib.Path(directory) / _WEIGHTS)
    return directory


class VllmPredictor:
    """All models of up to `sequences` sequences in one vLLM, whose event loop runs while predict does. Fewer, with a
    warning, where vLLM's memory for keys and values is too small for so many of full length."""

    prefill = None  # vLLM cuts long prompts itself

    def __init__(self, public_model, members, *, sequences=64, **engine):
        self.folder = tempfile.TemporaryDirectory(prefix="submix_vllm_")
        self.adapters = [LoRARequest(f"row{row}", 1 + row, str(path))
                         for row, path in enumerate([_nothing_learnt(members[0], self.folder.name), *members])]
        rank = max(json.loads((pathlib.Path(member) / _CONFIG).read_text())["r"] for member in members)
        requests = sequences * self.rows
        # A step of vLLM must hold a token of every request.
        batch = {"max_num_batched_tokens": requests} if requests > _LEAST_STEP else {}
        self.runner = asyncio.Runner()
        self.engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**{
            "model": str(public_model), "enable_lora": True, "max_loras": self.rows, "max_cpu_loras": self.rows,
            "max_lora_rank": min(size for size in _RANKS if size >= rank), "max_num_seqs": requests, **batch,
            # Sequences keep their own keys and values; what others have asked must not tell in the time of an answer.
            "enable_prefix_caching": False, "async_scheduling": False,
            "logits_processors": [f"{__name__}:{LogitsToFile.__name__}"], **engine}))
        self.vocabulary = self.engine.model_config.get_vocab_size()
        self.context = self.engine.model_config.max_model_len - 1  # vLLM ends a request that fills it
        sequences = self._fitting(sequences)
        self.memory = os.memfd_create("submix_logits")  # nothing is left of it when this process has ended
        self.slots = sequences * self.rows
        os.truncate(self.memory, 4 * self.slots * self.vocabulary)
        self.file = f"/proc/{os.getpid()}/fd/{self.memory}"
        self.logits = _map(self.file, self.slots, self.vocabulary).reshape(sequences, self.rows, -1)
        self.free = list(range(sequences))
        self.ended = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.engine.shutdown()
        self.runner.close()
        os.close(self.memory)
        self.folder.cleanup()

    def _fitting(self, sequences):
        """So many, or fewer: a request that stays open keeps its keys and values, and one without room would wait for ever."""
        cache = self.engine.vllm_config.cache_config
        each = -(-self.engine.model_config.max_model_len // cache.block_size) * self.rows
        room = (cache.num_gpu_blocks - 1) // each  # vLLM keeps one block to itself
        length = f"of {self.engine.model_config.max_model_len} tokens for each of {self.rows} models"
        more = "take a smaller max_model_len, or give it more (gpu_memory_utilization; VLLM_CPU_KVCACHE_SPACE)"
        if room < 1:
            raise RuntimeError(f"serve_vllm: vLLM has no room for a sequence {length}: {more}")
        if room < sequences:
            warnings.warn(f"serve_vllm: of {sequences} sequences at a time, {length}, {room} fit into vLLM's memory: {more}")
        return min(room, sequences)

    @property
    def rows(self):
        return len(self.adapters)

    def predict(self, sequences):
        """float32 [sequences, rows, vocabulary]."""
        for sequence in sequences:
            if sequence.state is None:
                sequence.state = self._open()
        self.runner.run(self._step(sequences))
        return self.logits[[sequence.state.number for sequence in sequences]]

    def _open(self):
        if not self.free:
            gc.collect()  # a step that failed keeps its sequences in the exception's frames
        if not self.free:
            raise RuntimeError(f"more than serve_vllm's {len(self.logits)} sequences at a time: the server's max_sequences is larger")
        return _Open(self)

    async def _step(self, sequences):
        while self.ended:
            await self.ended.pop().end()
        async with asyncio.TaskGroup() as tasks:
            for sequence in sequences:
                for model in sequence.state.models:
                    tasks.create_task(model.read(sequence.tokens[-sequence.new :]))


class _Open:
    """A sequence's number, and a request for each model; both go back when the sequence ends."""

    def __init__(self, predictor):
        self.predictor, self.number = predictor, predictor.free.pop()
        first = self.number * predictor.rows
        self.models = [_Reader(predictor.engine, adapter, [predictor.file, predictor.slots, predictor.vocabulary, first + row])
                       for row, adapter in enumerate(predictor.adapters)]

    def __del__(self):
        self.predictor.ended += self.models
        self.predictor.free.append(self.number)


class _Reader:
    """One model's request: tokens go in, and after each piece its logits are in their place."""

    def __init__(self, engine, adapter, place):
        self.pieces = asyncio.Queue()
        parameters = SamplingParams(max_tokens=1, temperature=0, ignore_eos=True, detokenize=False,
                                    output_kind=RequestOutputKind.DELTA, extra_args={_PLACE: place})
        self.steps = engine.generate(self._inputs(), parameters, uuid.uuid4().hex, lora_request=adapter)

    async def _inputs(self):
        while True:
            yield StreamingInput(TokensPrompt(prompt_token_ids=await self.pieces.get()))

    async def read(self, tokens):
        self.pieces.put_nowait(tokens)
        await anext(self.steps)

    async def end(self):
        await self.steps.aclose()
