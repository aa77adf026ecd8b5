"""Private text from vLLM: one request for each member and token, all log-probabilities back.

Not run against vLLM by our tests, which give it a stand-in of the interfaces that it uses. Written after the
documentation of vLLM 0.11 (LLM, LoRARequest, SamplingParams; logprobs=-1 is the whole vocabulary). Wants `pip install vllm`.

    python3 examples/python/vllm_multi_lora.py my_deployment "The delivery"

It shows that nothing but logits is needed, and is slow: vLLM hands each log-probability over as an object. Its prefix
cache spares the prompt's work from token to token, in every row alike.
"""

import argparse

import numpy

import submix


def load(deployment, rank):
    """(vLLM's LLM, [an adapter for each row]): None is the public model in row 0."""
    from vllm import LLM
    from vllm.lora.request import LoRARequest

    rows = [None] + [LoRARequest(f"member{m}", m, path) for m, path in enumerate(deployment.members, start=1)]
    # raw_logprobs: before any temperature, so that submix alone applies the options.
    llm = LLM(model=deployment.public_model, enable_lora=True, max_loras=len(deployment.members), max_lora_rank=rank,
              max_logprobs=-1, logprobs_mode="raw_logprobs", enable_prefix_caching=True)
    return llm, rows


def log_probabilities(llm, rows, tokens, parameters, vocabulary):
    """Of the token after `tokens`: float32 [rows, vocabulary]. Up to a constant of each row they are the logits."""
    outputs = llm.generate([{"prompt_token_ids": tokens}] * len(rows), parameters, lora_request=rows, use_tqdm=False)
    logits = numpy.empty((len(rows), vocabulary), numpy.float32)
    for row, output in zip(logits, outputs, strict=True):
        of_token = output.outputs[0].logprobs[0]
        if len(of_token) != vocabulary:  # a part of them would be another law
            raise ValueError(f"{len(of_token)} log-probabilities, expected {vocabulary}: is max_logprobs -1?")
        row[list(of_token.keys())] = [entry.logprob for entry in of_token.values()]
    return logits


def generate(sampler, llm, rows, parameters, prompt, count, options, vocabulary, end_of_text=None):
    """Token ids that follow the prompt's; each has been paid for when it comes. `parameters`: one token, all logprobs."""
    tokens = list(prompt)
    for _ in range(count):
        # What vLLM itself drew is not looked at.
        token = sampler.sample(log_probabilities(llm, rows, tokens, parameters, vocabulary), options)
        if token == end_of_text:
            return
        tokens.append(token)
        yield token


def main():
    from vllm import SamplingParams

    parser = argparse.ArgumentParser(description="Private text by vLLM.")
    parser.add_argument("deployment")
    parser.add_argument("prompt")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--rank", type=int, default=16, help="the adapters' rank, or more")
    arguments = parser.parse_args()
    with submix.open(arguments.deployment) as deployment:
        llm, rows = load(deployment, arguments.rank)
        tokenizer = llm.get_tokenizer()
        parameters = SamplingParams(max_tokens=1, logprobs=-1, detokenize=False)
        options = submix.SamplingOptions(temperature=arguments.temperature)
        vocabulary = llm.llm_engine.model_config.get_vocab_size()
        tokens = generate(deployment.sampler(), llm, rows, parameters, tokenizer.encode(arguments.prompt),
                          arguments.tokens, options, vocabulary, tokenizer.eos_token_id)
        print(arguments.prompt + tokenizer.decode(list(tokens)))
        print("\n" + deployment.statement, end="")


if __name__ == "__main__":
    main()
