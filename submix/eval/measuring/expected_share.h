// What of the non-private improvement in perplexity an ensemble may be expected to keep: experience
// on one corpus with one model, not a promise, and no guarantee depends on it.
//
//     kept = open x (1 - exp(-reach / scale))
//
// `open` is what is kept where nothing is clipped, `reach` how far a member may move a token. The
// constants are fitted by least squares to docs/results: blogs/ and all_blogs/ for one pass,
// passes/ and all_passes/ for three (16 to 256 parts, blogs of 2,400 tokens a user on average, a
// GPT-2 of 6 layers of 256), which/ for their first 400 tokens (64 parts, one pass). Left out:
// windows of more than 2 nats under a stretch of 1.5, where `submix deploy` declares 1.3. The test
// holds the errors that are stated here against these files.
#pragma once

#include <optional>
#include <string_view>

namespace submix::eval {

// Whether a public model is like the one that all of this was measured with.
inline bool IsLikeTheMeasuredModel(std::string_view family, int layers, int width) {
  return family == "gpt2" && layers == 6 && width == 256;
}

// What an ensemble is trained on. All of it is public.
struct MemberText {
  int parts = 0;
  double tokens_a_user = 0;
  double tokens_a_part = 0;
  int passes = 1;  // of a member over its text
};

struct ShareError {
  double largest = 0;
  double mean = 0;       // of the absolute differences
  double elsewhere = 0;  // the largest on a corpus that it was not fitted to
};

// |expected - measured| over the rows that the law was fitted to, and over those of
// docs/results/which/kept_apart.csv, which it never saw. Requires: "dclip" or "filtered-submix".
ShareError ErrorOfExpectedShare(std::string_view mechanism);

// k sqrt(2 beta / a) nats for parts that pay at most beta nats at order a for a token: the C of
// dclip's window as long as it is narrow, and for filtered-submix as good a measure of its weight.
double Reach(int parts, double order, double target_leakage);

// `reach` is dclip's C, or Reach() for filtered-submix. None: outside what was measured; up to
// twice as much text a part is taken for the most that was. Requires: "dclip" or "filtered-submix".
std::optional<double> ExpectedShare(std::string_view mechanism, const MemberText& text,
                                    double reach);

// A training by DP-SGD that was measured on blogs, with a promise of (epsilon, 1e-5) to a user.
struct DpSgdExperience {
  double users;
  double tokens_a_user;  // on average
  double epsilon;
  int passes;
  double share_of_users;  // in a step's batch
  int rank;               // of the adapters
  double kept;
};

// That which kept most of those that had no more users and no larger epsilon, though at least half
// of each. None: nothing like it was measured.
std::optional<DpSgdExperience> ExperienceWithDpSgd(double users, double tokens_a_user,
                                                   double epsilon);

// An ensemble over a model of DP-SGD that was measured on blogs, with a promise of (epsilon, 1e-5)
// to a user by both together.
struct BothExperience {
  double users;
  double tokens_a_user;  // on average
  double epsilon;
  DpSgdExperience dp_sgd;  // the model below, with its part of the promise
  std::string_view mechanism;
  int parts;  // that read their text once
  double tokens;
  double kept;
};

// That which kept most of those that had no more users, no larger epsilon and no fewer tokens.
// None: nothing like it was measured.
std::optional<BothExperience> ExperienceWithBoth(double users, double tokens_a_user, double epsilon,
                                                 double tokens);

}  // namespace submix::eval
