// Curves of an experiment at the size that was asked for: the papers' or a smaller one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "submix/eval/figures/experiment.h"
#include "submix/eval/measuring/evaluation.h"

namespace submix::eval {

// How much of a figure is made. The papers' is the default.
struct ExperimentSize {
  int runs = 0;                                       // 0: the paper's, or 4
  std::int64_t divide_queries = 1;                    // every number of answers is divided by this
  std::int64_t most_queries = std::int64_t{1} << 40;  // more become these
  int most_parts = 1 << 20;                           // larger ensembles become this large
  int every_nth = 1;                                  // of the values on an axis
  std::vector<int> private_epochs = {1, 10};          // of DP-SGD; none: without its curves
  // A text's tokens, for DP decoding: its paper takes the mean, a guarantee the most.
  double mean_text_tokens = 512;
  double most_text_tokens = 512;
  int vocab_size = 0;  // of the public model; for DP decoding
};

// A mechanism that is asked `queries` times under `epsilon` nats at `order`, each answer at most
// its share (the papers' beta = epsilon / B), with the largest weight and the clip that keep most.
EvaluationSetting Asked(const std::string& mechanism, double order, double epsilon,
                        std::int64_t queries);

// Immutable.
class CurveMaker {
 public:
  explicit CurveMaker(const ExperimentSize& size) : size_(size) {}

  std::int64_t Queries(std::int64_t queries) const;
  EnsembleShape Shape(int parts, int halves) const;
  // False for an ensemble that a smaller version leaves out.
  bool Has(int parts) const { return parts <= size_.most_parts; }
  int Runs(int runs) const { return size_.runs > 0 ? size_.runs : runs; }
  const std::vector<int>& PrivateEpochs() const { return size_.private_epochs; }
  // `values` thinned; the first always stays.
  std::vector<double> Values(const std::vector<double>& values) const;

  // A point for each value.
  ExperimentCurve Over(const std::vector<double>& values, const std::string& name,
                       EnsembleShape shape,
                       const std::function<EvaluationSetting(double)>& setting) const;
  // Over numbers of answers, those that were asked for.
  ExperimentCurve OverQueries(const std::vector<double>& values, const std::string& name,
                              EnsembleShape shape,
                              const std::function<EvaluationSetting(std::int64_t)>& setting) const;

 private:
  const ExperimentSize size_;
};

}  // namespace submix::eval
