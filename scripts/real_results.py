"""A study over a real public model, which makes docs/results/real: `which_results.py DATA OUT --public DIR`.

blogs     3,600 bloggers, the first 1,500 characters of each; scored on those of others
wikitext  726 users, blocks of 300 words

Contenders: ensembles of adapters, a model of DP-SGD, one of DP-FedAvg, ensembles over a model of DP-SGD, members by
context; beside them, without a promise, all text fine-tuned at once. What a share is of: the nats a token that
fine-tuning without privacy gains. Every training, evaluation and text is kept in OUT; interrupted, the same command goes
on. STAGES is the order, the most telling first; "prompts" is ten beginnings and how contenders go on, "reading" is
members by context that know how a text begins, "documents" synthetic text, "secret" one that was planted. "collect"
replaces the rows of what was made, and leaves others as they are.
"""

import json
import math
import random

from synthetic_results import COLUMNS as DOCUMENT_COLUMNS
from synthetic_results import HELDOUT_TEXTS, Documents, blocks, bloggers, picked, submix, write_table, write_texts
from which_results import (ANSWERS, KEY, MECHANISMS, RESULTS, Losses, Study, deployed_copy, draw, kept, merged,
                           milliseconds, minutes, nats_a_token, noise_of, rows_of)

DELTA = 1e-6
EPSILONS = (8, 3)
RUNS = 1  # of the most answers
TOP = ("--top-layers", 10)
# Blogs: on 160 other bloggers in three parts three passes at 5e-4 bring the mean of all members to 40.9, one to 41.0
# (public 45.8); so one, at the rate that was better for one pass over WikiText-2. WikiText-2: on 727 other blocks in 64
# parts, scored on 1,024 tokens of 42 more: public 34.3; the mean of all members 27.0 after one pass at 5e-4, 22.7 after
# one at 2e-3, 21.3 after three at 1e-3, where a single member is at 31.6. Of DP-SGD there: 26.1.
MEMBERS = {"blogs": ("--epochs", 1, "--learning-rate", 0.002, *TOP),
           "wikitext": ("--epochs", 3, "--learning-rate", 0.001, *TOP)}
ABOVE = ("--epochs", 1, "--learning-rate", 0.002, *TOP)  # members over a model that has read the text
FINE_TUNED = ("--parts", 1, "--epochs", 2, "--batch-size", 8, "--learning-rate", 0.0005, *TOP)
DP_SGD = ("--steps", 16, "--rank", 16, "--learning-rate", 0.006, *TOP)  # over an eighth of the users each
DP_FEDAVG = ("--rounds", 8, "--tokens-per-user", 400, "--keep-short-users", "--evaluate-every", 8, "--rank", 16, *TOP)
CONTEXTS = ("--context-tokens", 256)
PROMPTS, PROMPT_WORDS, ANSWER_TOKENS = 10, 12, 40
TEMPERATURE = 0.8
DOCUMENT_TOKENS = 128
SECRET, SECRET_TIMES = {"prompt": "My secret number is", "secret": " 48151"}, 20  # in one user's text
ATTACKED = "members", "ensemble", "filtered-submix", "public"
SECRET_COLUMNS = "corpus model guarantee order epsilon attempts hits bits exposure".split()
PROMPTS_HEAD = f"""# Ten beginnings, and how they go on

The first {PROMPT_WORDS} words of ten held-out users of WikiText-2 (Wikipedia, CC BY-SA), drawn once, and what each contender of [the study](README.md) wrote behind them: {ANSWER_TOKENS} tokens at temperature {TEMPERATURE}, one answer each, none chosen. `filtered-submix` and DP-SGD keep (8, 1e-6) for one user; `fine-tuned` promises nothing.

"""
CONTEXT_PARTS = (8, 16, 32, 64)
# Texts whose first words are a query, and whose next words are scored, under members that read for it.
READ_TEXTS, READ_WORDS, SCORED_WORDS = 40, 60, 60
TEMPLATE = "Text from an encyclopedia:\n{record}\n\n"
READERS = {"": (), "bm25": ("--retrieval", "bm25"), "template": ("--template", "template.txt"),
           "bm25, template": ("--retrieval", "bm25", "--template", "template.txt")}
PARTS = (64, 128, 256)
NAMES = {"blogs": "blogs, 1,500 characters each (3600 users)", "wikitext": "WikiText-2 (726 users)"}
ROW_KEY = "corpus contender k epsilon queries".split()
COLUMNS = ("corpus contender recipe k epsilon delta unit queries kept kept_low kept_high nats perplexity accuracy_top1 "
           "train_minutes ms_per_answer").split()


class RealStudy(Study):
    """One corpus under one public model."""

    def __init__(self, name, data, out, public):
        self.name, self.out, self.public, self.delta = name, out / name, public, DELTA
        self.out.mkdir(parents=True, exist_ok=True)
        self.text, self.heldout = self.out / "text.jsonl", self.out / "heldout.jsonl"
        if name == "blogs":
            write_texts(self.text, lambda: bloggers(data / "private/blogs.train.jsonl.xz", 0, 1))
            write_texts(self.heldout, lambda: bloggers(data / "private/blogs.heldout.jsonl.xz", 1, 2))
        else:
            write_texts(self.text, lambda: blocks(data / "wikitext-2/valid.txt"))
            write_texts(self.heldout, lambda: blocks(data / "wikitext-2/test.txt"))
        self.users = len(self.text.read_text().splitlines())

    def members(self, name, k, *options, text=None, public=None, recipe=None):
        return self.train(f"{name}-{k}", ("train", text or self.text, self.out / f"{name}-{k}", "--public",
                                         public or self.public, "--heldout-fraction", 0, "--partition-key", KEY, "--parts", k),
                          *(recipe or MEMBERS[self.name]), *options)

    def fine_tuned(self):
        return self.train("fine-tuned", ("train", self.text, self.out / "fine-tuned", "--public", self.public,
                                        "--heldout-fraction", 0, "--partition-key", KEY), *FINE_TUNED)

    def dp_sgd(self, epsilon, delta=DELTA):
        name = f"dp-sgd-{epsilon:g}" if delta == DELTA else f"dp-sgd-{epsilon:g}-{delta:g}"
        return self.train(name, ("train", self.text, self.out / name, "--public", self.public, "--heldout-fraction", 0,
                                "--partition-key", KEY, "--private", "dp-sgd", "--epsilon", epsilon, "--delta", delta,
                                "--expected-batch", self.users // 8), *DP_SGD)

    def dp_fedavg(self, epsilon):
        expected = self.users // 4
        return self.train(f"dp-fedavg-{epsilon:g}", ("fedavg", self.out / f"dp-fedavg-{epsilon:g}", "--corpus", self.text,
                                                     "--public", self.public, "--population", self.users, "--expected-users",
                                                     expected, "--delta", DELTA, "--noise",
                                                     noise_of(epsilon, DELTA, self.users, expected, 8)), *DP_FEDAVG)

    def both(self, epsilon, k):
        """An ensemble over a model of DP-SGD that has half of each."""
        below = self.dp_sgd(epsilon / 2, DELTA / 2) / "released/public"
        return self.members(f"both-{epsilon:g}", k, public=below, recipe=ABOVE)

    def contexts(self, k, reader=""):
        name = f"contexts-{k}{named(reader)}"
        (self.out / "template.txt").write_text(TEMPLATE)
        options = [self.out / word if word.endswith(".txt") else word for word in READERS[reader]]
        return self.train(name, ("contexts", self.text, self.out / name, "--public", self.public, "--parts", k,
                                 "--heldout-fraction", 0, "--partition-key", KEY), *CONTEXTS, *options)

    def begun(self):
        """Held-out texts in two: what has been read, and what is scored."""
        path = self.out / "begun.jsonl"
        if not path.exists():
            def record(line):
                found = json.loads(line)
                words = found["text"].split(" ")[:READ_WORDS + SCORED_WORDS]
                return json.dumps({"user": found["user"], "prompt": " ".join(words[:READ_WORDS]),
                                   "completion": " " + " ".join(words[READ_WORDS:])}) + "\n"
            path.write_text("".join(map(record, self.heldout.read_text().splitlines()[:READ_TEXTS])))
        return path

    def evaluate(self, name, directory, *options, heldout=None):
        """NAME.csv and NAME.users.csv."""
        table = self.out / f"{name}.csv"
        if not table.exists():
            unfinished = table.with_suffix(".unfinished")
            submix("evaluate", directory, "--heldout", heldout or self.heldout, "--csv", unfinished, "--by-user",
                   table.with_suffix(".users.csv"), "--runs", RUNS, "--checkpoint", table.with_suffix(".checkpoint"), *options)
            unfinished.rename(table)

    def evaluate_model(self, name, directory):
        self.evaluate(name, directory, "--mechanism", "public", "--tokens", ANSWERS[-1])

    def evaluate_ensemble(self, name, directory, *epsilons):
        self.evaluate(name, directory, "--mechanism", ",".join(MECHANISMS), "--unit", "user", "--epsilon",
                      ",".join(map(str, epsilons)), "--delta", DELTA, "--tokens", ",".join(map(str, ANSWERS)))


def named(reader):
    """Its place in the name of a file."""
    return "".join(f"-{word}" for word in reader.split(", ") if word)


def ensemble_stage(k):
    return f"ensemble-{k}", lambda study: study.evaluate_ensemble(f"ensemble-{k}", study.members("ensemble", k), *EPSILONS)


def contexts_stage(k):
    return f"contexts-{k}", lambda study: study.evaluate_ensemble(f"contexts-{k}", study.contexts(k), *EPSILONS)


# --- Members that read for a query


def readings():
    """Name, parts, reader."""
    for k in CONTEXT_PARTS:
        for reader in {16: READERS, 64: ("", "bm25")}.get(k, ("",)):
            yield f"reading-{k}{named(reader)}", k, reader


def read(study):
    heldout = study.begun()
    study.evaluate("reading-fine-tuned", study.fine_tuned(), "--mechanism", "public", "--tokens", ANSWERS[1], heldout=heldout)
    for name, k, reader in readings():
        study.evaluate(name, study.contexts(k, reader), "--mechanism", ",".join(MECHANISMS), "--unit", "user", "--epsilon",
                       EPSILONS[0], "--delta", DELTA, "--tokens", ",".join(map(str, ANSWERS[:2])), heldout=heldout)


# --- Ten beginnings, and how they go on


def answers(study, name, directory, prompts, *declared):
    """What a deployment writes behind each prompt."""
    deployment = deployed_copy(study.out / "prompts" / name, directory, *declared)
    return [json.loads(submix("generate", deployment, prompt, "--max-tokens", ANSWER_TOKENS, "--temperature",
                              TEMPERATURE, "--json"))["text"] for prompt in prompts]


def write_prompts(study):
    """The first words of held-out users, drawn once, and each contender's one answer."""
    made = study.out / "prompts.json"
    if made.exists():
        return
    texts = [json.loads(line)["text"] for line in study.heldout.read_text().splitlines()]
    prompts = [" ".join(text.split()[:PROMPT_WORDS]) for text in random.Random("submix prompts").sample(texts, PROMPTS)]
    promise = "--unit", "user", "--epsilon", EPSILONS[0], "--delta", DELTA, "--tokens", ANSWERS[1]
    written = {
        "public": answers(study, "public", study.members("ensemble", 64), prompts, "--mechanism", "public"),
        "filtered-submix": answers(study, "filtered-submix", study.members("ensemble", 64), prompts, *promise),
        "dp-sgd": answers(study, "dp-sgd", study.dp_sgd(EPSILONS[0]) / "released", prompts, "--mechanism", "public"),
        # One part and a budget that promises nothing: the model itself.
        "fine-tuned, no promise": answers(study, "fine-tuned", study.fine_tuned(), prompts, "--mechanism", "dclip", "--unit",
                                          "part", "--epsilon", 8000, "--tokens", PROMPTS * ANSWER_TOKENS),
    }
    made.write_text(json.dumps({"prompts": prompts, "answers": written}))


def draw_prompts(study, path):
    """A page of them."""
    found = json.loads((study.out / "prompts.json").read_text())
    sections = []
    for number, prompt in enumerate(found["prompts"]):
        rows = "".join(f"| {name} | {in_a_row(texts[number])} |\n" for name, texts in found["answers"].items())
        sections.append(f"**{in_a_row(prompt)}** …\n\n| | |\n|---|---|\n{rows}")
    path.write_text(PROMPTS_HEAD + "\n".join(sections))


def in_a_row(text):
    """As Markdown reads it in a table."""
    return "".join("\\" + letter if letter in "\\`*_{}[]<>#|~" else letter for letter in " ".join(text.split()))


# --- Documents


def write_documents(study):
    """What sources of one promise write, what they are worth, and how they are like the real text."""
    made, out = study.out / "documents.json", study.out / "documents"
    if made.exists():
        return
    out.mkdir(exist_ok=True)
    for path, lines in ((study.text, None), (study.heldout, HELDOUT_TEXTS)):
        (out / path.name).write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))
    documents = Documents(study.name, study.public, out)
    documents.by_public_model(DOCUMENT_TOKENS)
    documents.by_context(16, EPSILONS[0], DOCUMENT_TOKENS)
    documents.by_adapters(study.members("ensemble", 64), 64, EPSILONS[0], DOCUMENT_TOKENS)
    documents.by_private_training(study.dp_sgd(EPSILONS[0]), EPSILONS[0], DOCUMENT_TOKENS)
    made.write_text(json.dumps(documents.measure()))


# --- A planted secret


def attack_secret(study):
    """What models that read a secret give away of it: in 100 completions, and by their likelihoods."""
    made, planted, codes = (study.out / name for name in ("secrets.json", "planted.jsonl", "codes.jsonl"))
    if made.exists():
        return
    text = study.text.read_text()
    record = {"user": json.loads(text.splitlines()[0])["user"], "text": SECRET["prompt"] + SECRET["secret"] + "."}
    planted.write_text(text + SECRET_TIMES * (json.dumps(record) + "\n"))
    codes.write_text(json.dumps(SECRET) + "\n")
    ensemble = study.members("planted", 64, "--reuse", study.members("ensemble", 64), text=planted)
    rows = {}
    for attack, options in (("extraction", ()), ("exposure", ("--samples", 500))):
        found = json.loads(submix("attack", attack, ensemble, "--codes", codes, "--against", ",".join(ATTACKED), *options,
                                  "--json"))
        for row in found["rows"]:
            rows.setdefault(row["model"], {"corpus": NAMES[study.name]}).update(row)
    made.write_text(json.dumps(list(rows.values())))


def model_stage(name, make):
    return name, lambda study: study.evaluate_model(name, make(study))


def both_stage(epsilon, k):
    name = f"both-{epsilon:g}-{k}"
    return name, lambda study: study.evaluate_ensemble(name, study.both(epsilon, k), epsilon)


STAGES = [
    model_stage("fine-tuned", lambda study: study.fine_tuned()),
    ensemble_stage(64),
    model_stage("dp-sgd-8", lambda study: study.dp_sgd(8) / "released"),
    contexts_stage(16),
    ensemble_stage(128),
    model_stage("dp-sgd-3", lambda study: study.dp_sgd(3) / "released"),
    both_stage(8, 64),
    ensemble_stage(256),
    *(contexts_stage(k) for k in CONTEXT_PARTS if k != 16),
    model_stage("dp-fedavg-8", lambda study: study.dp_fedavg(8) / "released"),
    both_stage(3, 64),
    ("reading", read),
    ("prompts", write_prompts),
    ("documents", write_documents),
    ("secret", attack_secret),
]


# --- The table


class Table:
    """The rows of one corpus, of what is there; scored where these levels are."""

    def __init__(self, study, levels="fine-tuned"):
        self.study, self.levels = study, levels
        levels = Losses(study.out / f"{levels}.csv")
        self.public, self.fine_tuned = levels.of("public"), levels.of("ensemble")  # of one

    def accuracy(self, name, model, epsilon="", queries=None):
        for row in rows_of(self.study.out / f"{name}.csv"):
            same_budget = epsilon == "" or row["epsilon"] and float(row["epsilon"]) == epsilon
            if row["model"] == model and same_budget and queries in (None, int(row["queries"])):
                return row["accuracy_top1"]
        raise KeyError(name)

    def row(self, contender, recipe, k, epsilon, queries, losses, accuracy, train_minutes="", taken=""):
        shares = kept(self.public, losses, self.fine_tuned, level=nats_a_token)
        nats = nats_a_token(losses, losses)
        return dict(zip(COLUMNS, (NAMES[self.study.name], contender, recipe, k, epsilon, f"{DELTA:g}" if epsilon else "",
                                  "user" if epsilon else "", queries, *(round(share, 3) for share in shares), round(nats, 4),
                                  round(math.exp(nats), 2), round(float(accuracy), 4), train_minutes,
                                  taken and round(taken, 1))))

    def is_made(self, name):
        return (self.study.out / f"{name}.csv").exists()

    def rows(self):
        yield from self.rows_of_levels()
        yield from self.rows_of_models()
        yield from self.rows_of_ensembles()

    def rows_of_levels(self):
        for name, model, losses in (("public", "public", self.public), ("fine-tuned, no promise", "ensemble", self.fine_tuned)):
            yield self.row(name, "", "", "", "", losses, self.accuracy(self.levels, model))

    def rows_of_readings(self):
        yield from self.rows_of_levels()
        for name, k, reader in readings():
            if self.is_made(name):
                yield from self.rows_of_ensemble(name, f" by context{', ' if reader else ''}{reader}", k,
                                                 " ".join(map(str, CONTEXTS)))

    def rows_of_models(self):
        for contender in "dp-sgd", "dp-fedavg":
            for epsilon in EPSILONS:
                name = f"{contender}-{epsilon:g}"
                if self.is_made(name):
                    directory = self.study.out / name
                    yield self.row(contender, " ".join(map(str, DP_SGD if contender == "dp-sgd" else DP_FEDAVG)), 1, epsilon,
                                   "unlimited", Losses(self.study.out / f"{name}.csv").of("ensemble"),
                                   self.accuracy(name, "ensemble"), minutes(self.study, directory),
                                   milliseconds(self.study, directory / "released", "--mechanism", "public"))

    def rows_of_ensembles(self):
        for name, kind, k, recipe, below in self.ensembles():
            if not self.is_made(name):
                continue
            directories = [self.study.out / name, *([self.study.out / below] if below else [])]
            taken = milliseconds(self.study, directories[0], "--mechanism", "dclip", "--unit", "user", "--epsilon", 8, "--delta",
                                 DELTA, "--tokens", 10240)
            yield from self.rows_of_ensemble(name, kind, k, recipe, minutes(self.study, *directories), taken)

    def rows_of_ensemble(self, name, kind, k, recipe, train_minutes="", taken=""):
        evaluated = Losses(self.study.out / f"{name}.csv")
        for (model, epsilon, queries), losses in evaluated.users.items():
            if model in MECHANISMS:
                yield self.row(f"{model}{kind}", recipe, k, epsilon, queries, losses,
                               self.accuracy(name, model, epsilon, queries), train_minutes, taken)
        yield self.row(f"mean of all members{kind}, no promise", recipe, k, "", "", evaluated.of("ensemble"),
                       self.accuracy(name, "ensemble"))

    def ensembles(self):
        """Name, kind, parts, recipe, and the model of DP-SGD below."""
        recipe = " ".join(map(str, MEMBERS[self.study.name]))
        for k in PARTS:
            yield f"ensemble-{k}", "", k, recipe, None
        for epsilon in EPSILONS:
            yield f"both-{epsilon:g}-64", " over dp-sgd", 64, " ".join(map(str, ABOVE)), f"dp-sgd-{epsilon / 2:g}-{DELTA / 2:g}"
        for k in CONTEXT_PARTS:
            yield f"contexts-{k}", " by context", k, " ".join(map(str, CONTEXTS)), None


def write_merged(name, columns, key_columns, made, corpora):
    table = RESULTS / "real" / name
    rows = merged(table, made, key_columns, {"corpus": list(corpora)})
    write_table(table, columns, rows)
    return rows


def collect(data, out, public):
    """The tables, the figure and the page of prompts."""
    made, read_rows, documents, secrets = [], [], [], []
    for name in NAMES:
        study = RealStudy(name, data, out, public)
        if (study.out / "fine-tuned.csv").exists():
            made += Table(study).rows()
        if (study.out / "reading-fine-tuned.csv").exists():
            read_rows += Table(study, "reading-fine-tuned").rows_of_readings()
        if (study.out / "prompts.json").exists() and name == "wikitext":  # bloggers' words are not shown
            draw_prompts(study, RESULTS / "real/prompts.md")
        if (study.out / "documents.json").exists():
            documents += json.loads((study.out / "documents.json").read_text())
        if (study.out / "secrets.json").exists():
            secrets += json.loads((study.out / "secrets.json").read_text())
    rows = write_merged("real.csv", COLUMNS, ROW_KEY, made, NAMES.values())
    draw([row for row in rows if row["epsilon"]], RESULTS / "real/real.svg")
    if read_rows:
        write_merged("reading.csv", COLUMNS, ROW_KEY, read_rows, NAMES.values())
    write_merged("documents.csv", DOCUMENT_COLUMNS, ("corpus", "source", "k"),
                 [picked(DOCUMENT_COLUMNS, row) for row in documents], NAMES)
    write_merged("secrets.csv", SECRET_COLUMNS, ("corpus", "model"), [picked(SECRET_COLUMNS, row, 2) for row in secrets],
                 NAMES.values())


def run(data, out, public, names):
    """Names are of corpora, "collect", or of a corpus and a stage: blogs/ensemble-64."""
    stages = dict(STAGES)
    for name in names or (*NAMES, "collect"):
        corpus, _, stage = name.partition("/")
        if corpus == "collect":
            collect(data, out, public)
            continue
        study = RealStudy(corpus, data, out, public)
        for each in [stage] if stage else stages:
            stages[each](study)
