// What of the non-private improvement in perplexity an ensemble may be expected to keep: experience
// on one corpus with one model, not a promise, and no guarantee depends on it.
//
//     kept = open x (1 - exp(-reach / scale))
//
// `open` is what is kept where nothing is clipped, `reach` how far a member may move a token. The
// constants are fitted by least squares to docs/results: blogs/ and all_blogs/ for one pass,
// passes/ and all_passes/ for three (16 to 256 parts, blogs of 2,400 tokens a user on average, a
// GPT-2 of 6 layers of 256), which/ for their first 400 tokens (64 parts, one pass), real/ for
// SmolLM2 (WikiText-2 in 64 parts that were read three times, the first 400 tokens of blogs in 128
// that were read once). Left out: windows of more than 2 nats under a stretch of 1.5, where `submix
// deploy` declares 1.3. The test holds the errors that are stated here against these files.
#pragma once

#include <optional>
#include <string_view>

#include "submix/eval/measuring/measured_model.h"

namespace submix::eval {

// What an ensemble is trained on. All of it is public.
struct MemberText {
  int parts = 0;
  double tokens_a_user = 0;
  double tokens_a_part = 0;
  int passes = 1;                                                  // of a member over its text
  std::optional<MeasuredModel> model = MeasuredModel::kSmallGpt2;  // that the public one is like
};

// What `submix train` was told where members over this model were trained in so many passes; empty:
// nothing, its own recipe was measured, or none was.
std::string_view MeasuredRecipe(std::optional<MeasuredModel> model, int passes);

struct ShareError {
  double largest = 0;
  double mean = 0;       // of the absolute differences
  double elsewhere = 0;  // the largest on a corpus that it was not fitted to
};

// |expected - measured| over the rows that the law was fitted to, and over those that it never saw:
// of docs/results/which/kept_apart.csv or, over SmolLM2, where the law of each corpus stands for
// the other's. Requires: "dclip" or "filtered-submix".
ShareError ErrorOfExpectedShare(MeasuredModel model, std::string_view mechanism);

// k sqrt(2 beta / a) nats for parts that pay at most beta nats at order a for a token: the C of
// dclip's window as long as it is narrow, and for filtered-submix as good a measure of its weight.
double Reach(int parts, double order, double target_leakage);

// `reach` is dclip's C, or Reach() for filtered-submix. None: outside what was measured; up to
// twice as much text a part is taken for the most that was. Requires: "dclip" or "filtered-submix".
std::optional<double> ExpectedShare(std::string_view mechanism, const MemberText& text,
                                    double reach);

// A training by DP-SGD that was measured, with a promise of (epsilon, 1e-5) or, over SmolLM2,
// (epsilon, 1e-6) to a user.
struct DpSgdExperience {
  MeasuredModel model;
  double users;
  double tokens_a_user;  // on average
  double epsilon;
  int passes;
  double share_of_users;  // in a step's batch
  int rank;               // of the adapters
  double kept;
  std::string_view recipe = "";  // what `submix train` was told beside
};

// That which kept most of those that had no more users and no larger epsilon, though at least half
// of each. None: nothing like it was measured.
std::optional<DpSgdExperience> ExperienceWithDpSgd(std::optional<MeasuredModel> model, double users,
                                                   double tokens_a_user, double epsilon);

// An ensemble over a model of DP-SGD that was measured, with a promise of (epsilon, 1e-5) or, over
// SmolLM2, (epsilon, 1e-6) to a user by both together.
struct BothExperience {
  double epsilon;
  DpSgdExperience dp_sgd;  // the model below, of the same users, with its part of the promise
  std::string_view mechanism;
  int parts;  // that read their text once
  double tokens;
  double kept;
};

// That which kept most of those that had no more users, no larger epsilon and no fewer tokens.
// None: nothing like it was measured.
std::optional<BothExperience> ExperienceWithBoth(std::optional<MeasuredModel> model, double users,
                                                 double tokens_a_user, double epsilon,
                                                 double tokens);

}  // namespace submix::eval
