"""Private text from a GPT-2 and its adapters, by torch and submix alone.

    submix train text.jsonl my_ensemble --public data/public_model --parts 8
    submix deploy my_ensemble my_deployment
    PYTHONPATH=build/release/python python3 examples/python/gpt2.py my_deployment --tokens 40

All models run as one batch: row 0 is the public model, row 1 + m is member m. A row reads its own adapter and what all
share, nothing of another row; that is what makes the promise true (docs/python.md).
"""

import argparse
import json
import math
import pathlib

import numpy
import torch
from torch.nn.functional import layer_norm

import submix


def read_safetensors(path):
    """Tensors by their names, as float32."""
    content = pathlib.Path(path).read_bytes()
    header_size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + header_size])
    header.pop("__metadata__", None)
    types = {"F16": numpy.float16, "F32": numpy.float32}

    def tensor(entry):
        start, end = (8 + header_size + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(content[start:end], types[entry["dtype"]]).reshape(entry["shape"])
        return torch.from_numpy(array.astype(numpy.float32))

    return {name: tensor(entry) for name, entry in header.items()}


class Ensemble:
    """GPT-2 with one LoRA adapter in each row but row 0. float32, on the processor."""

    def __init__(self, public_model, members):
        directory = pathlib.Path(public_model)
        config = json.loads((directory / "config.json").read_text())
        self.layers, self.heads = config["n_layer"], config["n_head"]
        self.context, self.vocabulary = config["n_positions"], config["vocab_size"]
        self.end_of_text, self.epsilon = config["eos_token_id"], config["layer_norm_epsilon"]
        weights = read_safetensors(directory / "model.safetensors")
        self.weights = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
        self.adapters = [self.read_adapter(pathlib.Path(member)) for member in members]
        self.rows = 1 + len(members)

    @staticmethod
    def read_adapter(directory):
        """{layer's name: what it adds to the layer's weight}."""
        config = json.loads((directory / "adapter_config.json").read_text())
        tensors = read_safetensors(directory / "adapter_model.safetensors")
        prefix, down, up = "base_model.model.transformer.", ".lora_A.weight", ".lora_B.weight"
        names = [name.removeprefix(prefix).removesuffix(down) for name in tensors if name.endswith(down)]
        scaling = config["lora_alpha"] / config["r"]
        return {name: scaling * (tensors[prefix + name + up] @ tensors[prefix + name + down]).T for name in names}

    def dense(self, name, x):
        """x: [rows, tokens, in]. Returns [rows, tokens, out]."""
        y = x @ self.weights[name + ".weight"] + self.weights[name + ".bias"]
        for row, adapter in enumerate(self.adapters, start=1):
            if name in adapter:
                y[row] += x[row] @ adapter[name]
        return y

    def norm(self, name, x):
        return layer_norm(x, x.shape[-1:], self.weights[name + ".weight"], self.weights[name + ".bias"], self.epsilon)

    def attend(self, name, x):
        rows, tokens, width = x.shape
        query, key, value = (part.view(rows, tokens, self.heads, -1).transpose(1, 2)
                             for part in self.dense(name + ".c_attn", x).split(width, dim=-1))
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // self.heads)
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(future, -math.inf).softmax(-1) @ value
        return self.dense(name + ".c_proj", mixed.transpose(1, 2).reshape(rows, tokens, width))

    @torch.no_grad()
    def logits(self, tokens):
        """Of what follows each of the tokens: float32 [rows, len(tokens), vocabulary]."""
        embedded = self.weights["wte.weight"][tokens] + self.weights["wpe.weight"][:len(tokens)]
        x = embedded.repeat(self.rows, 1, 1)
        for layer in range(self.layers):
            name = f"h.{layer}"
            x = x + self.attend(name + ".attn", self.norm(name + ".ln_1", x))
            hidden = gelu_new(self.dense(name + ".mlp.c_fc", self.norm(name + ".ln_2", x)))
            x = x + self.dense(name + ".mlp.c_proj", hidden)
        return self.norm("ln_f", x) @ self.weights["wte.weight"].T


def gelu_new(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def read_vocabulary(public_model):
    """The bytes of each token. GPT-2 writes a byte that is no visible character as one from U+0100 on."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    byte_of = {chr(byte): byte for byte in visible} | {chr(256 + n): byte for n, byte in enumerate(hidden)}
    entries = json.loads((pathlib.Path(public_model) / "vocab.json").read_text())
    return {token: bytes(byte_of[c] for c in text) for text, token in entries.items()}


def generate(deployment, ensemble, count, options):
    """Token ids; each has been paid for when it comes."""
    sampler = deployment.sampler()
    tokens = [ensemble.end_of_text]  # where texts begin
    while len(tokens) <= min(count, ensemble.context - 1):
        token = sampler.sample(ensemble.logits(tokens)[:, -1].contiguous(), options)
        if token == ensemble.end_of_text:
            return
        tokens.append(token)
        yield token


def main():
    parser = argparse.ArgumentParser(description="Private text from the beginning of a document.")
    parser.add_argument("deployment")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--temperature", type=float, default=0.8)
    arguments = parser.parse_args()
    with submix.open(arguments.deployment) as deployment:
        ensemble = Ensemble(deployment.public_model, deployment.members)
        vocabulary = read_vocabulary(deployment.public_model)
        options = submix.SamplingOptions(temperature=arguments.temperature)
        tokens = generate(deployment, ensemble, arguments.tokens, options)
        print(b"".join(vocabulary[token] for token in tokens).decode(errors="replace"))
        print("\n" + deployment.statement, end="")


if __name__ == "__main__":
    main()
