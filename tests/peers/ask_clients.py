#!/usr/bin/env python3
"""What LangChain's and LlamaIndex' classes for OpenAI's API get from a server, as one JSON object. For chats_test.py.

    ask_clients.py BASE_URL KEY MODEL SCHEMA
"""

import json
import sys
from importlib.metadata import version

from langchain_openai import ChatOpenAI
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

QUESTION = "Order 7: where does it go, and when?"


def langchain(address, key, model, schema):
    chat = ChatOpenAI(base_url=address, api_key=key, model=model, max_tokens=40, temperature=0.8)
    answer = chat.invoke(QUESTION)
    return {
        "version": version("langchain-openai"),
        "answer": answer.content,
        "tokens": answer.usage_metadata["output_tokens"],
        "streamed": "".join(piece.text for piece in chat.stream(QUESTION)),
        "several": [one.content for one in chat.batch([QUESTION] * 3)],
        "shaped": chat.with_structured_output({"title": "order", **schema}, method="json_schema").invoke(QUESTION),
    }


def llamaindex(address, key, model, schema):
    chat = OpenAILike(api_base=address, api_key=key, model=model, is_chat_model=True, max_tokens=40, temperature=0.8)
    ask = [ChatMessage(role="user", content=QUESTION)]
    return {
        "version": version("llama-index-llms-openai-like"),
        "answer": chat.chat(ask).message.content,
        "streamed": "".join(piece.delta or "" for piece in chat.stream_chat(ask)),
        "completed": OpenAILike(api_base=address, api_key=key, model=model, is_chat_model=False, max_tokens=8).complete(QUESTION).text,
    }


def main():
    address, key, model, schema = sys.argv[1:]
    asked = address, key, model, json.loads(schema)
    print(json.dumps({"langchain": langchain(*asked), "llamaindex": llamaindex(*asked)}))


if __name__ == "__main__":
    main()
