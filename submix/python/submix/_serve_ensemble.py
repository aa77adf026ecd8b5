"""Another program's logits of an ensemble, at a socket: what submix.serve_transformers and submix.serve_vllm share."""

import hashlib
import pathlib

from submix import Ensemble
from submix_logits import serve_logits


def serve_ensemble(directory, socket, load):
    """Verifies the ensemble, then serves the predictor that the context `load(public model, members)` gives."""
    ensemble = Ensemble(str(directory))
    ensemble.verify()
    with load(ensemble.public_model, ensemble.members) as predictor:
        serve_logits(predictor.predict, socket, rows=predictor.rows, vocabulary=predictor.vocabulary, context=predictor.context,
                     digest=ensemble.digest, tokenizer=_tokenizer_digest(ensemble.public_model), prefill=predictor.prefill)


def _tokenizer_digest(directory):
    """Of tokenizer.json, or of vocab.json where there is none."""
    for name in "tokenizer.json", "vocab.json":
        file = pathlib.Path(directory) / name
        if file.exists():
            return hashlib.sha256(file.read_bytes()).hexdigest()
    raise FileNotFoundError(f"{directory}: no tokenizer.json and no vocab.json")
