"""Logits of an ensemble by transformers and PEFT: submix.serve_transformers."""

import peft
import torch
import transformers


class TransformersPredictor:
    """All models of a sequence as the rows of one batch, an adapter a row; keys and values stay from token to token.

    Every row does the same work for every token, whatever the text says.
    """

    def __init__(self, public_model, members, device=None, dtype=None):
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        dtype = dtype or (torch.bfloat16 if self.device.type == "cuda" else torch.float32)
        base = transformers.AutoModelForCausalLM.from_pretrained(public_model, dtype=dtype)
        self.context = base.config.max_position_embeddings
        self.vocabulary = base.config.vocab_size
        names = [f"member{m}" for m in range(len(members))]
        model = peft.PeftModel.from_pretrained(base, members[0], adapter_name=names[0])
        for name, directory in zip(names[1:], members[1:]):
            model.load_adapter(directory, adapter_name=name)
        self.model = model.to(self.device).eval()  # no dropout; PEFT mixes adapters in this mode alone
        self.names = ["__base__", *names]

    @property
    def rows(self):
        return len(self.names)

    def prefill(self, sequences):
        for sequence in sequences:
            self._read(sequence)

    def predict(self, sequences):
        going = [sequence for sequence in sequences if self._can_be_padded(sequence)]
        logits = dict(zip(map(id, going), self._read_together(going))) if len(going) > 1 else {}
        return torch.stack([logits[id(one)] if id(one) in logits else self._read(one) for one in sequences]).cpu().numpy()

    @staticmethod
    def _can_be_padded(sequence):
        """One token to read, behind keys and values of all others: a window of them would slide."""
        return (sequence.new == 1 and sequence.state is not None
                and all(type(layer) is transformers.cache_utils.DynamicLayer for layer in sequence.state.layers))

    @torch.inference_mode()
    def _read_together(self, sequences):
        """The next token of several sequences, all their rows in one batch, shorter ones filled up from the left."""
        lengths = [sequence.state.get_seq_length() for sequence in sequences]
        longest, cache = max(lengths), transformers.DynamicCache(config=self.model.config)
        for number in range(len(sequences[0].state.layers)):
            layers = [sequence.state.layers[number] for sequence in sequences]
            cache.update(*(torch.cat([torch.nn.functional.pad(kept, (0, 0, longest - kept.shape[2], 0)) for kept in of_all])
                           for of_all in ([one.keys for one in layers], [one.values for one in layers])), number)

        def of_rows(numbers):
            return torch.tensor(numbers, device=self.device).repeat_interleave(self.rows, 0)

        logits = self.model(
            input_ids=of_rows([[sequence.tokens[-1]] for sequence in sequences]), past_key_values=cache, use_cache=True,
            attention_mask=of_rows([[0] * (longest - length) + [1] * (length + 1) for length in lengths]),
            position_ids=of_rows([[length] for length in lengths]), adapter_names=self.names * len(sequences)).logits[:, -1].float()
        for number, layer in enumerate(cache.layers):
            for sequence, keys, values in zip(sequences, layer.keys.split(self.rows), layer.values.split(self.rows)):
                sequence.state.update(keys[:, :, -1:], values[:, :, -1:], number)
        return logits.split(self.rows)

    @torch.inference_mode()
    def _read(self, sequence):
        """Reads what is new of a sequence, in all rows: float32 logits of the next token [rows, vocabulary]."""
        if sequence.state is None:
            sequence.state = transformers.DynamicCache(config=self.model.config)
        new = torch.tensor(sequence.tokens[-sequence.new :], device=self.device).expand(self.rows, -1)
        return self.model(input_ids=new, past_key_values=sequence.state, use_cache=True, adapter_names=self.names,
                          logits_to_keep=1).logits[:, -1].float()
