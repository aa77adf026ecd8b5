// The kinds of release that planners count many of: what one of them is to the accountants, for the
// unit that its statement names and for one user key, what must be said with every number, and the
// table that command lines and Python loop over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "submix/accounting/calculators/privacy_event.h"
#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"

namespace submix::accounting {

struct CountedRelease {
  MechanismRun run;
  std::optional<MechanismRun> user_run;  // empty: nothing is said about users
  PrivacyStatement statement;            // of `run`: unit, neighbours, proof; no numbers
};

// Parameters out of range give runs that cost infinity.

// A step: each example is in its batch with this probability, independently; noise in units of the
// clipping norm.
CountedRelease DpSgdRelease(double sampling_probability, double noise_multiplier);
// The mean pmf of the parts with Laplace noise of scale b.
CountedRelease LaplaceRelease(double parts, double noise_scale);
// The token with most votes after Gaussian noise on each count.
CountedRelease GnmaxRelease(double noise_scale);
// Of a number of DClip tokens that is fixed beforehand. The clip C is of a part's log ratios to
// the public model; the temperature is 1 unless the clip is in logits before one.
CountedRelease DclipRelease(double parts, double clip, double temperature);
// A token of the model mixed with the uniform law.
CountedRelease DpDecodingRelease(double mixing_weight, std::int64_t vocab_size);
// A token that every part can surely back: at most `target_leakage` nats at the order.
CountedRelease FilteredSubmixRelease(double order, double target_leakage);

// What `submix account` and Python ask of them, each said once.

struct ReleaseParameter {
  struct Range {
    const char* text;  // "a number above 0"
    bool (*has)(double value);
  };

  const char* name;  // "noise_scale"
  Range range;
  double usual;  // where a command line does not say it
  const char* help;
  bool is_optional = false;  // Python's is the usual one, too; behind the others
};

struct CountedKind {
  const char* name;     // "dp-sgd"
  const char* summary;  // "Steps of DP-SGD"
  const char* title;
  const char* counted;  // what there is a number of
  const char* example;  // its parameters on a command line
  std::span<const ReleaseParameter> parameters;
  // Requires: a value for each parameter.
  CountedRelease (*make)(std::span<const double> values);
  bool has_exact = false;        // exact composition
  bool is_only_planned = false;  // a number alone says nothing yet
};

// Thread-safe: constant.
std::span<const CountedKind> CountedKinds();

// The statement of user_run. Requires: there is one.
PrivacyStatement UserStatement(const CountedRelease& release);

// `answers` GNMax tokens if all have these votes: private, as the votes are (gnmax_rdp.h); and
// what must be said of it. Requires: votes not empty.
std::vector<RdpBound> GnmaxVotesRdp(std::span<const double> votes, double noise_scale,
                                    double answers);
PrivacyStatement GnmaxVotesStatement();

// Of FedAvgEpsilon or FedAvgBestEpsilon (dp_fedavg.h), and of PmixedTarget (pmixed_target.h).
PrivacyStatement FedAvgStatement(ConversionKind kind);
PrivacyStatement PmixedStatement();

}  // namespace submix::accounting
