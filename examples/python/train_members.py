"""A training loop of one's own: models of bytes in torch, of which Submix knows their logits and a digest.

    PYTHONPATH=build/release/python python3 examples/python/train_members.py public.txt text.jsonl my_models --parts 8

The public model reads public.txt; member m begins as the public model and reads the users of part m alone, whom a secret
key assigns. That, and that nothing else of private text reaches a member, is what the promise rests on (docs/python.md).
"""

import argparse
import copy
import hashlib
import hmac
import json
import pathlib
import secrets
import subprocess

import torch

import submix

VOCABULARY = 256  # bytes
BEGIN = 10  # texts begin after a line's end


class ByteModel(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, width)
        self.recurrent = torch.nn.GRU(width, width, batch_first=True)
        self.unembedding = torch.nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        """[texts, tokens] -> logits of what follows each: [texts, tokens, 256]."""
        return self.unembedding(self.recurrent(self.embedding(tokens))[0])


def parts_of(users, parts, key):
    """The texts of each part. Whoever has no key cannot tell, or choose, which part a user is in."""
    texts = [[] for _ in range(parts)]
    for user, text in users:
        place = hmac.digest(key, user.encode(), "sha256")
        texts[int.from_bytes(place[:8], "big") % parts].append(text)
    return texts


def train(model, texts, passes, rate, block=64):
    """On blocks of these texts, in an order that nothing decides but their own."""
    tokens = torch.tensor([BEGIN, *b"\n".join(text.encode() for text in texts), BEGIN])
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(passes):
        for start in range(0, len(tokens) - 1, 8 * block):
            batch = tokens[start:start + 8 * block + 1]
            logits = model(batch[None, :-1])[0]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, batch[1:]).backward()
            optimizer.step()
    return model


def train_all(public_text, users, parts, key):
    """The public model, then a member for each part; a part without text stays the public model."""
    public = train(ByteModel(), [public_text], passes=8, rate=0.005)
    return [public, *(train(copy.deepcopy(public), texts, passes=4, rate=0.002) for texts in parts_of(users, parts, key))]


def digest_of(models):
    digest = hashlib.sha256()
    for model in models:
        for name, tensor in model.state_dict().items():
            digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


@torch.no_grad()
def logits(models, tokens):
    """Of the next byte, a row a model: all of them run, whatever the text."""
    return torch.stack([model(torch.tensor([tokens]))[0, -1] for model in models])


def generate(deployment, models, count):
    """Bytes; each has been paid for when it comes."""
    sampler, tokens = deployment.sampler(), [BEGIN]
    for _ in range(count):
        tokens.append(sampler.sample(logits(models, tokens)))
    return bytes(tokens[1:])


def main():
    parser = argparse.ArgumentParser(description="Trains members, declares a budget for them and writes private text.")
    parser.add_argument("public_text")
    parser.add_argument("text", help='a JSON object a line: {"user": …, "text": …}')
    parser.add_argument("directory", help="to make")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=80)
    arguments = parser.parse_args()
    directory = pathlib.Path(arguments.directory)
    directory.mkdir()
    key = secrets.token_bytes(32)
    (directory / "partition.key").write_bytes(key)
    users = [(line["user"], line["text"]) for line in map(json.loads, open(arguments.text, encoding="utf-8"))]
    models = train_all(pathlib.Path(arguments.public_text).read_text(), users, arguments.parts, key)
    torch.save([model.state_dict() for model in models], directory / "models.pt")
    subprocess.run(["submix", "deploy", directory / "ensemble", directory / "deployment", "--external", digest_of(models),
                    "--parts", str(arguments.parts), "--vocabulary", str(VOCABULARY), "--partition",
                    hashlib.sha256(key).hexdigest()[:16]], check=True, stdout=subprocess.DEVNULL)
    with submix.open(str(directory / "deployment")) as deployment:
        print(generate(deployment, models, arguments.tokens).decode(errors="replace"))
        print("\n" + deployment.statement, end="")


if __name__ == "__main__":
    main()
