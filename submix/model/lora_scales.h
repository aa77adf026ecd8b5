// Ranks and scalings of single modules, as an adapter_config.json gives them: PEFT's r, lora_alpha,
// use_rslora, rank_pattern and alpha_pattern. Internal.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "submix/base/json_object.h"
#include "submix/base/status.h"

namespace submix::model {

inline constexpr int kMaxLoraRank = 1 << 16;

struct LoraScale {
  int rank;
  double alpha;  // what makes alpha / rank the scaling

  double scaling() const { return alpha / rank; }
};

class LoraScales {
 public:
  // Errors: kInvalidArgument by the field's name; so is a pattern that is a regular expression
  // beyond a name, or the end of one behind a dot.
  static base::StatusOr<LoraScales> Read(const base::JsonObject& json);

  // Of the module "transformer.h.0.attn.c_attn". The scaling is lora_alpha / rank, with use_rslora
  // lora_alpha / sqrt(rank). Errors: kInvalidArgument where two patterns name it and disagree.
  base::StatusOr<LoraScale> Of(std::string_view full_name) const;

 private:
  struct Pattern {
    std::string field;
    double otherwise;
    std::map<std::string, double> values;  // by name or end

    base::StatusOr<double> Of(std::string_view full_name) const;
  };

  Pattern rank_;
  Pattern alpha_;
  bool is_rank_stabilised_ = false;
};

}  // namespace submix::model
