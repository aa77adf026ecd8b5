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
    from submix import _transformers_predictor

    _transformers_predictor.serve_transformers(ensemble, socket, device=device, dtype=dtype)
