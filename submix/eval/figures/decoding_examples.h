// What text of DP decoding looks like (Appendix B of its paper): completions of the same words at
// several mixing weights with the uniform pmf. Shows text: only for text that is public.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/measuring/heldout.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

struct DecodingExample {
  std::string prompt = {};
  std::string truth = {};                     // how the text goes on
  std::vector<std::string> completions = {};  // one for each mixing weight
};

// The pure epsilon of one token, nats: log(1 + l V / (1 - l)). Requires: l in [0, 1).
double DpDecodingTokenNats(double mixing_weight, int vocab_size);

// The first `count` blocks that are long enough, 24 tokens each as prompt and as completion. The
// predictor's first member is asked. Errors: kInvalidArgument if no block is; the predictor's.
base::StatusOr<std::vector<DecodingExample>> SampleDecodingExamples(
    ensemble::Predictor& predictor, const tokenizer::Tokenizer& tokenizer,
    const HeldoutBlocks& blocks, const std::vector<double>& mixing_weights, int count,
    std::uint64_t seed);

}  // namespace submix::eval
