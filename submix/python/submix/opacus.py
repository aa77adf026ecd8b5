"""Private training (DP-SGD) of an adapter, the gradients of many users at once by Opacus.

    import submix.opacus
    trained = submix.opacus.train(texts, "my_training", public="SmolLM2-135M-Instruct", epsilon=8, delta=1e-6, steps=16)
    print(trained.statement)

Opacus computes a gradient for each row; sampling, clipping, noise and the account are submix's own (submix.PrivateSteps):
each step is paid for, durably, before its noise is drawn. `trained.model` is a directory of Hugging Face's with
private_training.json beside the weights, which `submix deploy` counts in whatever is made of it.
Wants torch, transformers, peft and opacus: `pip install submix[opacus]`.
"""

import collections
import dataclasses
import hashlib
import json
import pathlib
import shutil

import numpy
import opacus
import peft
import torch
import transformers
from tqdm.auto import tqdm

import submix
from submix.peft import begin_adapter, corpus_file, load_checkpoint, padded, save_checkpoint

__all__ = ["Trained", "train"]
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt", "special_tokens_map.json", "chat_template.jinja",
              "generation_config.json")
Trained = collections.namedtuple("Trained", ["model", "statement"])


def train(texts, directory, *, public, steps, epsilon=8.0, delta=1e-6, expected_batch=None, public_users=None, clip=0.1,
          learning_rate=0.001, adapter=None, block_tokens=129, tokens_per_user=0, loss="answers", rows=16, device=None,
          precision="f32", progress=True, user_column="user", text_column="text"):
    """Trains, and returns the model's directory and what one user is promised. Interrupted, the same call goes on.

    texts           as submix.peft.train has them
    directory       is made: account/ (keep it), model/ when all is done
    expected_batch  users a step, on average; None: a quarter of them
    public_users    a public number of users; None: as many as there are, which then counts as public
    clip            longest gradient of a user's mean loss, in L2
    adapter         a peft.LoraConfig without dropout; None: rank 16 on all linear layers
    rows            blocks that go through the model together
    precision       "bf16" multiplies in bfloat16

    Every option must be public. ValueError, FileNotFoundError and submix.Error are those of submix.read_users and
    submix.PrivateSteps; submix.Error for weights that are not finite, of which no further step is charged.
    """
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    adapter = adapter or peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")
    if adapter.lora_dropout:
        raise ValueError("adapter: expected lora_dropout 0")
    if precision not in ("bf16", "f32"):
        raise ValueError(f"precision: expected bf16 or f32, found {precision}")
    directory = pathlib.Path(directory)
    with corpus_file(texts, user_column, text_column) as corpus:
        users = submix.read_users(corpus, str(public), block_tokens=block_tokens, tokens_per_user=tokens_per_user, loss=loss)
    model = peft.get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(public, dtype=torch.float32), adapter)
    begin_adapter(model, 0)
    model = gradients_of_rows(model.to(device))
    parameters = [one for one in model.parameters() if one.requires_grad]
    units = len(users) if public_users is None else public_users
    options = {"public": _digest(public), "learning_rate": learning_rate, "block_tokens": block_tokens, "precision": precision,
               "tokens_per_user": tokens_per_user, "loss": loss, "adapter": adapter.to_dict()}
    directory.mkdir(parents=True, exist_ok=True)
    private = submix.PrivateSteps(
        str(directory / "account"), json.dumps(options, sort_keys=True, default=sorted), units=units, steps=steps,
        expected_batch=units / 4 if expected_batch is None else expected_batch, parameters=sum(one.numel() for one in parameters), clip=clip,
        epsilon=epsilon, delta=delta)
    training = _Training(model, parameters, private, users, directory, learning_rate, rows, precision)
    if (directory / "model").exists():
        _check_account(private, json.loads((directory / "model/private_training.json").read_text())["steps"], directory)
    else:
        training.run(steps, progress)
        _save_model(model, public, private.cost, directory / "model")
        training.checkpoint.unlink(missing_ok=True)
    return Trained(str(directory / "model"), private.statement)


def gradients_of_rows(model):
    """The model as Opacus watches it. No dropout: a row's gradient is a function of the row and the weights."""
    model.eval()
    for module in model.modules():
        if any(one.requires_grad for one in module.parameters(recurse=False)):
            module.training = True  # a linear layer does the same in both modes, and Opacus looks at it in this one alone
    return opacus.GradSampleModule(model, loss_reduction="sum", strict=False)


@dataclasses.dataclass
class _Training:
    model: torch.nn.Module
    parameters: list
    private: "submix.PrivateSteps"
    users: list
    directory: pathlib.Path
    learning_rate: float
    rows: int
    precision: str

    def __post_init__(self):
        self.device = self.parameters[0].device
        self.optimiser = torch.optim.AdamW(self.parameters, lr=self.learning_rate, weight_decay=0.0)
        self.checkpoint = self.directory / "checkpoint.pt"

    def run(self, steps, progress):
        done = load_checkpoint(self.checkpoint, self.optimiser, self.parameters)
        _check_account(self.private, done, self.directory)
        self._check()
        planned = min(steps, done + self.private.left)  # steps that were charged and lost are not in the weights
        with tqdm(total=planned, initial=done, unit="step", desc="DP-SGD", disable=not progress) as bar:
            for step in range(done, planned):
                self._step()
                # Also of weights that are not finite: started again, it must not pay for another end.
                save_checkpoint(self.checkpoint, step + 1, self.optimiser, self.parameters)
                self._check()
                bar.set_postfix(epsilon=f"{self.private.epsilon:.3g}")
                bar.update()

    def _step(self):
        for unit in self._gradients(self.private.draw(len(self.users))):
            self.private.add(*unit)
        average = torch.from_numpy(self.private.release()).to(self.device)
        at = 0
        for parameter in self.parameters:
            parameter.grad = average[at : at + parameter.numel()].view_as(parameter)
            at += parameter.numel()
        self.optimiser.step()

    def _check(self):
        if not all(torch.isfinite(one).all() for one in self.parameters):
            raise submix.Error("the weights are not finite; nothing more is charged; train anew with a lower learning rate")

    def _gradients(self, batch):
        """(user, gradient of the user's mean loss) for each of the batch; rows of several users go through the model together."""
        waiting = [(unit, block, 1 / sum(_counted(one) for one in self.users[unit])) for unit in batch for block in self.users[unit]]
        unit, gradient = None, None
        for begin in range(0, len(waiting), self.rows):
            part = waiting[begin : begin + self.rows]
            for (owner, *_), of_row in zip(part, self._gradients_of_rows(part)):
                if owner != unit:
                    if unit is not None:
                        yield unit, gradient
                    unit, gradient = owner, numpy.zeros_like(of_row)
                gradient += of_row
        if unit is not None:
            yield unit, gradient

    def _gradients_of_rows(self, part):
        ids, labels = (one.to(self.device) for one in padded([block for _, block, _ in part]))
        weights = torch.tensor([weight for *_, weight in part], device=self.device)
        self.model.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            logits = self.model(input_ids=ids, use_cache=False).logits
        losses = torch.nn.functional.cross_entropy(logits.float().transpose(1, 2), labels, ignore_index=-100, reduction="none")
        (losses.sum(1) * weights).sum().backward()
        return torch.cat([one.grad_sample.flatten(1) for one in self.parameters], 1).float().cpu().numpy()


def _check_account(private, steps, directory):
    """What is in the weights has been paid for in this account."""
    if steps > private.charged:
        raise submix.Error(f"{directory}/account: knows of fewer steps than the weights; restore the newest account")


def _counted(block):
    return int((block[1:] >= 0).sum())


def _digest(public):
    digest = hashlib.sha256()
    for file in sorted(pathlib.Path(public).glob("*.safetensors")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _save_model(model, public, cost, directory):
    unfinished = directory.with_name(directory.name + ".partial")
    shutil.rmtree(unfinished, ignore_errors=True)
    model._module.merge_and_unload().save_pretrained(unfinished)
    for name in _TOKENIZER:
        if (pathlib.Path(public) / name).exists():
            shutil.copy(pathlib.Path(public) / name, unfinished)
    (unfinished / "private_training.json").write_text(cost)
    unfinished.rename(directory)
