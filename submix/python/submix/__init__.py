from submix._core import *
from submix._core import __doc__
from submix_logits import LogitsSequence, serve_logits


def serve_transformers(ensemble, socket, *, device=None, dtype=None):
    """Computes the logits of `submix serve … --predictor external:SOCKET` by transformers and PEFT, until interrupted.

    ensemble    the directory of an ensemble whose members are adapters; its files are verified first
    socket      a path, as serve_logits has it
    device      torch's; None: CUDA where there is some
    dtype       torch's, of the weights; None: bfloat16 on CUDA, else float32

    All models are the rows of one batch. Wants torch, transformers and peft: `pip install submix[peft]`.
    """
    from contextlib import nullcontext

    from submix._serve_ensemble import serve_ensemble
    from submix._transformers_predictor import TransformersPredictor

    serve_ensemble(ensemble, socket,
                   lambda public, members: nullcontext(TransformersPredictor(public, members, device, dtype)))


def serve_vllm(ensemble, socket, *, sequences=64, **engine):
    """Computes the logits of `submix serve … --predictor external:SOCKET` by vLLM, until interrupted.

    ensemble    the directory of an ensemble whose members are adapters; its files are verified first
    socket      a path, as serve_logits has it
    sequences   the most at a time: max_sequences of the server. Each is a request of vLLM for every model; fewer, with a
                warning, where vLLM has no memory for the keys and values of so many
    engine      options of vLLM's engine (AsyncEngineArgs), such as dtype, max_model_len, tensor_parallel_size

    Wants vLLM 0.32 or a later one, and a model and modules for which it has adapters. A script that calls this does so
    under `if __name__ == "__main__":`, for vLLM starts processes that import it.
    """
    from submix._serve_ensemble import serve_ensemble
    from submix._vllm_predictor import VllmPredictor

    serve_ensemble(ensemble, socket, lambda public, members: VllmPredictor(public, members, sequences=sequences, **engine))
