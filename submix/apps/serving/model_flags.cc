#include "submix/apps/serving/model_flags.h"

#include <string>

namespace submix::apps {

const CLI::Validator kPredictor(
    [](const std::string& text) {
      return workbench::IsPredictor(text) ? ""
                                          : std::string("expected ") + workbench::kPredictorNames;
    },
    "");

void AddModelFlags(Flags flags, workbench::ModelOptions& models) {
  flags.Add("--predictor", models.predictor, kPredictor,
            "What runs the models: cpu; torch: libtorch's (the oracle, and a GPU's way), in "
            "submix-train; external:SOCKET: the process that listens there");
  flags.Add("--precision", models.precision, OneOf({"f32", "bf16", "int8", "int4"}),
            "Of the weights: f32; bf16 (half the memory); int8 (a quarter, less exact); int4 (a "
            "seventh, least exact)");
  flags.Add("--kv-cache", models.kv_cache, OneOf({"auto", "int8"}),
            "Keys and values of contexts: int8 takes half the memory of bf16 (--predictor cpu)");
  flags.Add("--threads", models.threads, Between(0, 1024), "0: all processors");
}

}  // namespace submix::apps
