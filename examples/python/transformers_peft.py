"""Private text from any model of transformers, with one PEFT adapter in each row of a batch.

Not run against these libraries by our tests, which give it a stand-in of the interfaces that it uses. Written after the
documentation of transformers 4.57 (past_key_values) and PEFT 0.18 ("Inference with different LoRA adapters in the same
batch"). Wants `pip install torch transformers peft`.

    python3 examples/python/transformers_peft.py my_deployment "The delivery"
"""

import argparse

import submix


def load(deployment):
    """(model, tokenizer, [an adapter's name for each row]): the public model in row 0, then the members."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(deployment.public_model)
    base = AutoModelForCausalLM.from_pretrained(deployment.public_model, torch_dtype=torch.float32)
    names = [f"member{m}" for m in range(len(deployment.members))]
    model = PeftModel.from_pretrained(base, deployment.members[0], adapter_name=names[0])
    for name, directory in zip(names[1:], deployment.members[1:]):
        model.load_adapter(directory, adapter_name=name)
    model.eval()  # no dropout; PEFT refuses adapter_names in training mode
    return model, tokenizer, ["__base__", *names]


def generate(sampler, model, rows, prompt, count, options, end_of_text=None):
    """Token ids that follow the prompt's; each has been paid for when it comes. `rows` as load() names them."""
    import torch

    device = next(model.parameters()).device
    step, past = torch.tensor([prompt] * len(rows), device=device), None
    with torch.no_grad():
        for _ in range(count):
            output = model(input_ids=step, past_key_values=past, use_cache=True, adapter_names=rows)
            past = output.past_key_values
            # The same work in every row, whatever the text: nothing may be skipped for a row.
            logits = output.logits[:, -1].float().cpu().contiguous()
            token = sampler.sample(logits, options)
            if token == end_of_text:
                return
            yield token
            step = torch.full((len(rows), 1), token, device=device)


def main():
    parser = argparse.ArgumentParser(description="Private text by transformers and PEFT.")
    parser.add_argument("deployment")
    parser.add_argument("prompt")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--temperature", type=float, default=0.8)
    arguments = parser.parse_args()
    with submix.open(arguments.deployment) as deployment:
        model, tokenizer, rows = load(deployment)
        options = submix.SamplingOptions(temperature=arguments.temperature)
        tokens = generate(deployment.sampler(), model, rows, tokenizer(arguments.prompt)["input_ids"],
                          arguments.tokens, options, tokenizer.eos_token_id)
        print(arguments.prompt + tokenizer.decode(list(tokens)))
        print("\n" + deployment.statement, end="")


if __name__ == "__main__":
    main()
