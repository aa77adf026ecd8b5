"""`submix serve`'s logits by other programs: serve_rows.py transformers|vllm ENSEMBLE SOCKET."""

import signal
import sys

import submix

if __name__ == "__main__":
    # Behind a shell's `&` it would be ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kind, ensemble, socket = sys.argv[1:]
    if kind == "vllm":
        submix.serve_vllm(ensemble, socket, sequences=3, dtype="float32", max_model_len=256)
    submix.serve_transformers(ensemble, socket)
