#!/usr/bin/env python3
"""Random models of a family, saved by the transformers that runs this: version 5 or, with line4's Python, 4.

    save_models.py FILE

FILE is a JSON list of {"class", "config", "seed", "dtype", "shard", "tokens", "directory"}: transformers' class of the
model, what its configuration is made with, the type and the largest shard of the weights. Each directory gets
reference.json beside the model: what the model, read back, says of tokens[1:] in float32.
"""

import json
import pathlib
import sys

import torch
import transformers


def randomise(model):
    """Weights that make uneven logits: transformers' own say nearly the same of every token."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.5 if "embed" in name or "wte" in name else weight.shape[-1] ** -0.5)
            else:
                weight.add_(torch.randn_like(weight), alpha=0.2)


def save(case):
    torch.manual_seed(case["seed"])
    model_class = getattr(transformers, case["class"])
    model = model_class(model_class.config_class(**case["config"]))
    randomise(model)
    model.to(getattr(torch, case["dtype"])).save_pretrained(case["directory"], max_shard_size=case["shard"])
    # Of transformers' ways to attend, torch's own (sdpa) leaves out Gemma 2's cap of scores.
    read_back, loading = model_class.from_pretrained(case["directory"], torch_dtype=torch.float32, attn_implementation="eager",
                                                     output_loading_info=True)
    assert not loading["missing_keys"] and not loading["unexpected_keys"], loading
    with torch.no_grad():
        logits = read_back.eval()(torch.tensor([case["tokens"]])).logits[0, :-1]
    of_next = torch.log_softmax(logits.double(), -1).gather(1, torch.tensor(case["tokens"][1:])[:, None])
    (pathlib.Path(case["directory"]) / "reference.json").write_text(json.dumps(of_next[:, 0].tolist()))


def main():
    torch.set_num_threads(1)
    for case in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        save(case)


if __name__ == "__main__":
    main()
