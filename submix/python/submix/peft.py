"""Ensembles whose members are trained by PEFT and torch, on a processor or on CUDA.

    import submix, submix.peft
    submix.peft.train(texts, "my_ensemble", public="SmolLM2-135M-Instruct", parts=16)
    print(submix.deploy("my_ensemble", "my_deployment", epsilon=8))
    print(submix.peft.generate("my_deployment", "The delivery"))

What train makes is an ensemble as `submix train` makes it: `submix deploy`, `evaluate` and `forget` take it. The partition of
the users, the tokens, the order and the manifest are submix's own (submix.EnsembleTraining); torch computes.
Wants torch, transformers and peft: `pip install submix[peft]`.
"""

import contextlib
import json
import math
import os
import pathlib
import shutil

import numpy
import peft
import torch
import transformers
from tqdm.auto import tqdm

import submix
from submix import EnsembleTraining, Error
from submix._transformers_predictor import TransformersPredictor

__all__ = ["generate", "train"]
_NOT_COUNTED = -100  # torch's label for what the loss leaves out


def train(texts, ensemble, *, public, device=None, checkpoint_every=200, progress=True, user_column="user",
          text_column="text", **options):
    """Trains an adapter a part and returns the ensemble's directory. Interrupted, the same call goes on.

    texts       a JSONL or CSV file; pairs of a user and a text, or records as JSONL has them ({"user": …, "text": …},
                or "messages", or "prompt" and "completion"); a datasets.Dataset; a pandas DataFrame
    ensemble    the directory that is made
    public      the public model: a directory of Hugging Face's with its tokenizer
    device      torch's; None: CUDA where there is some
    options     those of submix.EnsembleTraining: parts, epochs, learning_rate, rank, top_layers, precision, …

    Nothing reaches a member but its own part's text, its seed, the public model and the options. The same call gives the
    same weights where torch's kernels do. ValueError, FileNotFoundError and submix.Error are those of EnsembleTraining;
    submix.Error for weights that are not finite.
    """
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type == "cuda":
        options.setdefault("precision", "bf16")
    with corpus_file(texts, user_column, text_column) as corpus:
        training = EnsembleTraining(corpus, ensemble, public=str(public), trainer="peft", **options)
    with training:
        if not training.complete:
            _train_members(training, device, checkpoint_every, progress)
            training.finish()
    return ensemble


def generate(deployment, prompt, *, tokens=40, options=None, device=None):
    """Up to so many tokens of text that follow the prompt, each paid for before it was known here.

    deployment  the directory of a deployment whose members are adapters; nobody else may have it open
    options     submix.SamplingOptions
    device      torch's; None: CUDA where there is some

    For one text: the models are read anew each time. Many are the work of submix.serve_transformers. Errors are those of
    submix.open and of Sampler.sample.
    """
    with submix.open(str(deployment)) as opened:
        predictor = TransformersPredictor(opened.public_model, opened.members, device)
        tokenizer = transformers.AutoTokenizer.from_pretrained(opened.public_model)
        sequence, sampler, answer = submix.LogitsSequence(0), opened.sampler(), []
        new = tokenizer(prompt)["input_ids"]
        while len(answer) < tokens:
            sequence.tokens, sequence.new = sequence.tokens + new, len(new)
            token = sampler.sample(predictor.predict([sequence])[0], options or submix.SamplingOptions())
            if token == tokenizer.eos_token_id:
                break
            answer.append(token)
            new = [token]
        return tokenizer.decode(answer)


@contextlib.contextmanager
def corpus_file(texts, user_column="user", text_column="text"):
    """The path of a file that holds these texts, a record a line; what is not a file yet never lies on a disk."""
    if isinstance(texts, (str, os.PathLike)):
        if (user_column, text_column) != ("user", "text"):
            raise ValueError("user_column, text_column: for tables; a file's columns are user and text")
        yield os.fspath(texts)
        return
    with open(os.memfd_create("texts"), "w", encoding="utf-8") as file:
        for record in _records(texts, user_column, text_column):
            file.write(json.dumps(record) + "\n")
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


def _records(texts, user_column, text_column):
    if hasattr(texts, "to_dict") and hasattr(texts, "columns"):  # pandas
        texts = texts.to_dict("records")
    for row in texts:
        if isinstance(row, tuple):
            user, text = row
            row = {user_column: user, text_column: text}
        record = {name: value for name, value in row.items() if name not in (user_column, text_column)}
        for name, column in ("user", user_column), ("text", text_column):
            if column in row:
                record[name] = row[column]
        yield {name: value.item() if isinstance(value, numpy.generic) else value for name, value in record.items()}


def _train_members(training, device, checkpoint_every, progress):
    members = [member for member in training.members if not pathlib.Path(member.directory).exists()]
    model = _model(training, device)
    with tqdm(total=sum(member.steps for member in members), unit="step", desc="members", disable=not progress) as bar:
        for member in members:
            _Member(model, training.recipe, member, device).train(checkpoint_every, bar)


def _model(training, device):
    """The public model with an adapter, of which nothing but its shape is ever kept between members."""
    recipe = training.recipe
    base = transformers.AutoModelForCausalLM.from_pretrained(training.public_model, dtype=torch.float32)
    config = peft.LoraConfig(
        r=recipe["rank"], lora_alpha=recipe["lora_alpha"], lora_dropout=0.0, task_type="CAUSAL_LM",
        target_modules=recipe["targets"], layers_to_transform=recipe["layers"] or None)
    model = peft.get_peft_model(base, config).to(device)
    return model.eval()  # no dropout, which the public model's own configuration may ask for


def begin_adapter(model, seed):
    """As PEFT begins: A by Kaiming's law, B zero; drawn on the processor, so that every device begins alike."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_A" in name:
                begin = torch.empty(parameter.shape)
                torch.nn.init.kaiming_uniform_(begin, a=math.sqrt(5), generator=random)
                parameter.copy_(begin)
            elif "lora_B" in name:
                parameter.zero_()


def save_checkpoint(path, step, optimiser, parameters):
    """What is done so far; whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    torch.save({"step": step, "optimiser": optimiser.state_dict(), "weights": [one.detach().cpu() for one in parameters]}, new)
    os.replace(new, path)


def load_checkpoint(path, optimiser, parameters):
    """Takes it up, if there is one. Returns the steps that are done."""
    if not path.exists():
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    optimiser.load_state_dict(state["optimiser"])  # refuses another number of parameters
    with torch.no_grad():
        for parameter, value in zip(parameters, state["weights"]):
            parameter.copy_(value)
    return state["step"]


class _Member:
    """One member's training: its adapter begins anew, its optimiser too."""

    def __init__(self, model, recipe, member, device):
        self.model, self.recipe, self.member, self.device = model, recipe, member, device
        self.directory = pathlib.Path(member.directory)
        self.unfinished = self.directory.with_name(self.directory.name + ".partial")
        self.parameters = [one for one in model.parameters() if one.requires_grad]
        begin_adapter(model, member.seed)
        self.optimiser = torch.optim.AdamW(self.parameters, lr=0.0, betas=(recipe["beta1"], recipe["beta2"]),
                                           eps=recipe["denominator_floor"], weight_decay=recipe["weight_decay"])
        self.step = 0

    def train(self, checkpoint_every, bar):
        checkpoint = self.unfinished / "checkpoint.pt"
        self.step = load_checkpoint(checkpoint, self.optimiser, self.parameters)
        bar.update(self.step)
        while self.step < self.member.steps:
            self._update()
            bar.update()
            if checkpoint_every and self.step % checkpoint_every == 0 and self.step < self.member.steps:
                save_checkpoint(checkpoint, self.step, self.optimiser, self.parameters)
        self._save()

    def _update(self):
        ids, labels = (part.to(self.device) for part in padded(self.member.batch(self.step)))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe["precision"] == "bf16"):
            logits = self.model(input_ids=ids, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=_NOT_COUNTED)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        limit = self.recipe["gradient_clip"]
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, limit if limit > 0 else math.inf)
        if torch.isfinite(norm):
            self.optimiser.param_groups[0]["lr"] = self.member.learning_rate(self.step)
            self.optimiser.step()
        elif self.step + 1 == self.member.steps:
            raise Error("the loss of a model in training is not finite; train with a lower learning rate")
        self.step += 1

    def _save(self):
        if not all(torch.isfinite(one).all() for one in self.parameters):
            raise Error("the weights of a model in training are not finite; train with a lower learning rate")
        whole = self.directory.with_name(self.directory.name + ".whole")
        shutil.rmtree(whole, ignore_errors=True)
        self.model.save_pretrained(whole)
        (whole / "README.md").unlink(missing_ok=True)  # a form to fill in
        shutil.rmtree(self.unfinished, ignore_errors=True)
        whole.rename(self.directory)


def padded(blocks):
    """What the model reads [blocks, longest - 1] and what it is to say; what does not count, and what pads, is left out."""
    longest = max(len(block) for block in blocks)
    tokens = torch.full((len(blocks), longest), ~0, dtype=torch.int64)
    for row, block in zip(tokens, blocks):
        row[: len(block)] = torch.from_numpy(block)
    counted = torch.where(tokens < 0, _NOT_COUNTED, tokens)
    return torch.where(tokens < 0, ~tokens, tokens)[:, :-1], counted[:, 1:]
