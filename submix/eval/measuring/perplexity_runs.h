// Perplexity over the runs of an evaluation, and what a mechanism keeps of an improvement.
#pragma once

#include <vector>

namespace submix::eval {

// Perplexities of one model or mechanism, one value a run.
struct PerplexityRuns {
  std::vector<double> runs = {};  // exp of the mean loss of the run's positions
  // The SubMix paper's PP (run_losses.h): the mean over a run's blocks of 512 consecutive positions
  // (the last may be shorter) of exp of the block's mean loss.
  std::vector<double> block_runs = {};
  // The share of positions whose most likely token is the true one. Empty for mechanisms, single
  // members and the ensemble.
  std::vector<double> accuracy_runs = {};

  // exp of the mean loss over all runs. Requires: at least one run, here and below.
  double corpus() const;
  double block_mean() const;
  // The standard deviation of one run; NaN for a lone one.
  double deviation() const;
  // Over all runs. Requires: accuracy_runs is not empty.
  double accuracy() const;
};

// (public − private) / (public − fine_tuned) in corpus perplexity: the part of the gain of
// non-private training that remains, with a bootstrap interval over runs (95 %, percentiles; the
// same for the same runs; unbounded for a single run, or where a resample gains nothing). NaN where
// nothing was gained: fine-tuned is no better than public.
struct KeptShare {
  double value = 0;
  double low = 0;
  double high = 0;
};
KeptShare Kept(const PerplexityRuns& public_model, const PerplexityRuns& private_mechanism,
               const PerplexityRuns& fine_tuned);

}  // namespace submix::eval
