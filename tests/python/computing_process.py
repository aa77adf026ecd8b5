"""A process that computes logits for external_predictor_test.py: a law of four tokens that the test knows, and what
nobody should do. Says each call of predict on stdout, before it answers.

    computing_process.py FOLDER_OF_SUBMIX_LOGITS SOCKET DIGEST LAWS FAULT DTYPE
"""

import json
import os
import sys
import time

import numpy

FOLDER, SOCKET, DIGEST, LAWS, FAULT, DTYPE = sys.argv[1:]
sys.path.insert(0, FOLDER)
from submix_logits import serve_logits

VOCABULARY = 8192
FAULTY_CALL = 4  # the first that is

laws = {int(token): probabilities for token, probabilities in json.loads(LAWS).items()}
rows = len(next(iter(laws.values())))
logits = numpy.full((rows, VOCABULARY), -60, numpy.float32)
for token, probabilities in laws.items():
    logits[:, token] = numpy.log(probabilities)
calls = 0


def predict(sequences):
    global calls
    calls += 1
    assert all(sequence.new >= 1 and len(sequence.tokens) >= sequence.new for sequence in sequences)
    answer = numpy.repeat(logits[None], len(sequences), axis=0)
    if calls >= FAULTY_CALL:
        if FAULT == "dies":
            os._exit(9)
        if FAULT == "raises":
            raise RuntimeError("out of memory")
        if FAULT == "shape":
            answer = answer[:, 1:]
        if FAULT == "public_nan":
            answer[:, 0, 5] = numpy.nan
        if FAULT == "member_nan":
            answer[:, 1, :] = numpy.nan
        if FAULT == "late":
            time.sleep(1.5)
    print(len(sequences), *[len(sequence.tokens) for sequence in sequences], flush=True)
    return answer


serve_logits(predict, SOCKET, rows=rows, vocabulary=VOCABULARY, context=256, digest=DIGEST, dtype=DTYPE)
