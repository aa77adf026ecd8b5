from submix._core import *
from submix._core import __doc__
from submix_logits import LogitsSequence, serve_logits
