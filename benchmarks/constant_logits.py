"""A process that answers `submix serve --predictor external:SOCKET` with the same random logits at once, or after a
wait that stands for a processor elsewhere, for scaling.py.

    constant_logits.py FOLDER_OF_SUBMIX_LOGITS SOCKET DIGEST ROWS VOCABULARY DTYPE WAIT_MS
"""

import sys
import time

import numpy

FOLDER, SOCKET, DIGEST = sys.argv[1:4]
ROWS, VOCABULARY, DTYPE, WAIT_MS = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6], float(sys.argv[7])
MOST_SEQUENCES = 64  # a server's max_live
CONTEXT = 1024
sys.path.insert(0, FOLDER)
from submix_logits import serve_logits

one = numpy.random.default_rng(1).normal(size=(ROWS, VOCABULARY)).astype(DTYPE)
logits = numpy.repeat(one[None], MOST_SEQUENCES, axis=0)


def predict(sequences):
    time.sleep(1e-3 * WAIT_MS)
    return logits[:len(sequences)]


serve_logits(predict, SOCKET, rows=ROWS, vocabulary=VOCABULARY, context=CONTEXT, digest=DIGEST, dtype=DTYPE)
